/* What the patterns are matched and rewritten with. */
#ifndef WEIR_ENGINE_GRAPH_PATTERN_H
#define WEIR_ENGINE_GRAPH_PATTERN_H

#include "engine/graph/graph.h"

struct patterns {
    struct graph *graph;
    int *readers; /* by value; being an output of the graph counts as one */
    int most_values;
    bool failed; /* memory ran out */
};

/* A product written as any tree of Mul, Div by a number and Pow by 2 or 3: scale times the factors. */
enum { PATTERN_MAX_FACTORS = 6 };
struct pattern_product {
    double scale;
    int factors[PATTERN_MAX_FACTORS];
    int count; /* above PATTERN_MAX_FACTORS: there are more */
};

/* The new form of a node. attributes lie in the graph's region, or are those of another node. */
enum { PATTERN_MAX_INPUTS = 4 };
struct pattern_node {
    const char *op;
    int inputs[PATTERN_MAX_INPUTS];
    int input_count;
    struct graph_attribute *attributes;
    int attribute_count;
};

/* The live node of ai.onnx with that operator that computes the value; NULL: another one does, or none. */
struct graph_node *pattern_producer(const struct patterns *patterns, int value, const char *op);

/* The value of an input, GRAPH_NONE if it is omitted. */
int pattern_input(const struct graph_node *node, int input);

/* Is the value read once, and no output of the graph? */
bool pattern_is_alone(const struct patterns *patterns, int value);

/* The float constant that a value is; NULL: it is none, or its elements are gone. */
const struct graph_constant *pattern_constant(const struct patterns *patterns, int value);

/* The one number of a constant of floats or integers. */
bool pattern_number(const struct patterns *patterns, int value, double *number);

/* Is a number what the text of an exporter would have rounded `wanted` to? */
bool pattern_is_near(double number, double wanted);

/* A node of two inputs, one of them such a number: *other is the other one, and *at its place. */
bool pattern_split(const struct patterns *patterns, const struct graph_node *node, double *number, int *other, int *at);

/* Takes the value apart as such a product, following nodes whose results nothing else reads. */
struct pattern_product pattern_multiply(const struct patterns *patterns, int value);

/* Are its factors just `count` times that value? */
bool pattern_is_power(const struct pattern_product *product, int value, int count);

/* A float32 constant of the graph, zeroed, to be filled through *elements. GRAPH_NONE: out of memory. */
int pattern_add_constant(struct patterns *patterns, const struct tensor_shape *shape, float **elements);

/* Room for attributes. NULL: out of memory. */
struct graph_attribute *pattern_take_attributes(struct patterns *patterns, int count);

/* Gives the node another form; what then nobody reads is dead. Returns false when out of memory, the node as it was. */
bool pattern_replace(struct patterns *patterns, struct graph_node *node, const struct pattern_node *form);

/* Each looks for what ends in the node, and rewrites it. Returns whether it did. */
bool pattern_gelu_apply(struct patterns *patterns, struct graph_node *node);
bool pattern_norm_apply(struct patterns *patterns, struct graph_node *node);
bool pattern_affine_apply(struct patterns *patterns, struct graph_node *node);

#endif
