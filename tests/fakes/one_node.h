/* One node, lowered by itself and run by the oracle's kernels: for the tests of operators. */
#ifndef WEIR_TESTS_FAKES_ONE_NODE_H
#define WEIR_TESTS_FAKES_ONE_NODE_H

#include "engine/graph/operators.h"

enum { ONE_NODE_MOST = 8 };

/* All zero before one_node_begin. */
struct one_node {
    struct graph *graph;
    struct program program;
    struct fact facts[2 * ONE_NODE_MOST];
    struct lowering lowering;
    struct graph_node node;
    int inputs[ONE_NODE_MOST], outputs[ONE_NODE_MOST];
    struct graph_attribute attributes[ONE_NODE_MOST];
    struct graph_constant constants[ONE_NODE_MOST];
    void *memory[ONE_NODE_MOST * 8]; /* by buffer */
};

/* Forgets what was, and begins a node of that operator in a graph of that opset, for one row. */
void one_node_begin(struct one_node *one, const char *op, int opset);
void one_node_end(struct one_node *one);

/* The next input. known: its elements are known as the program is made, as an initializer's are; else only when it
 * runs. Owner of the elements: the caller. */
void one_node_input(struct one_node *one, enum tensor_dtype dtype, struct tensor_shape shape, const void *elements,
                    bool known);
void one_node_omit(struct one_node *one);
void one_node_integers(struct one_node *one, const int64_t *items, int count); /* a known list */

/* Attributes. */
void one_node_int(struct one_node *one, const char *name, int64_t value);
void one_node_ints(struct one_node *one, const char *name, const int64_t *items, size_t count);
void one_node_float(struct one_node *one, const char *name, float value);
void one_node_text(struct one_node *one, const char *name, const char *value);

/* Lowers the node, whose operator is of that family, with that many outputs. */
enum weir_status one_node_lower(struct one_node *one, const struct operator_family *family, int output_count,
                                struct weir_error *err);

/* Elements of an output: known ones, or what the steps compute. Owner: one. */
const void *one_node_output(struct one_node *one, int output);
const struct fact *one_node_fact(const struct one_node *one, int output);

#endif
