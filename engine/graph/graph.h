/* The model as a graph, close to the file: named values, and nodes in topological order. */
#ifndef WEIR_ENGINE_GRAPH_GRAPH_H
#define WEIR_ENGINE_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/graph/region.h"
#include "engine/status.h"
#include "engine/tensor.h"

enum {
    GRAPH_MIN_OPSET = 1,  /* before 7 only operators that have stayed the same: operators.c */
    GRAPH_MAX_OPSET = 21, /* the last one whose definitions were checked */
    GRAPH_MAX_NODES = 16384,
    GRAPH_MAX_VALUES = 65536,
    GRAPH_MAX_NODE_VALUES = 1024,
    GRAPH_MAX_ATTRIBUTES = 64,
    GRAPH_MAX_ATTRIBUTE_ITEMS = 65536,
    GRAPH_MAX_NAME_BYTES = 4096,
    GRAPH_MAX_IMPORTS = 64,
    GRAPH_MAX_PORTS = 64,
    GRAPH_MAX_ELEMENTS = 1 << 28, /* of one tensor between two steps */
    GRAPH_MAX_DEPTH = 16,         /* of graphs within graphs */
    GRAPH_NONE = -1
};

/* A tensor whose elements are known: little-endian, densely packed, in any alignment. bytes lie in the file's memory or
 * in the region; NULL: a backend has packed them, and they were let go. */
struct graph_constant {
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    size_t elements;
    const unsigned char *bytes;
};

/* Numbers of AttributeProto.AttributeType. */
enum graph_attribute_type {
    GRAPH_ATTRIBUTE_FLOAT = 1,
    GRAPH_ATTRIBUTE_INT = 2,
    GRAPH_ATTRIBUTE_STRING = 3,
    GRAPH_ATTRIBUTE_TENSOR = 4,
    GRAPH_ATTRIBUTE_GRAPH = 5,
    GRAPH_ATTRIBUTE_FLOATS = 6,
    GRAPH_ATTRIBUTE_INTS = 7,
    GRAPH_ATTRIBUTE_STRINGS = 8
};

struct graph_attribute {
    const char *name;
    int type; /* graph_attribute_type, or another number of the format that no supported operator has */
    float number;
    int64_t integer;
    const char *text;                    /* NUL-terminated; owner: the region */
    const struct graph_constant *tensor; /* NULL: it has no elements that can be used */
    int32_t unsupported_type;            /* of such a tensor: ONNX's number; 0: its type is known */
    const unsigned char *body;           /* GRAPH: the message, in the file's memory */
    size_t body_size;
    const float *floats;
    const int64_t *ints;
    const char *const *texts; /* STRINGS; as text */
    size_t item_count;
};

/* The names of a branch that was taken into the graph: each lies in the graph's table with prefix in front of it. */
struct graph_scope {
    const struct graph_scope *outer; /* NULL: the graph */
    const char *prefix;
    int depth;
};

/* inputs and outputs are value indices, GRAPH_NONE is an omitted one. Behind the inputs of a node that holds graphs
 * stand the values that these read. */
struct graph_node {
    const char *op;
    const char *name;   /* "" if unnamed */
    const char *domain; /* "" is ai.onnx */
    int index;          /* place in the file */
    bool dead;
    int *inputs, *outputs;
    int input_count, output_count;
    struct graph_attribute *attributes;
    int attribute_count;
    const struct graph_scope *scope; /* where its names are; NULL: the graph */
};

struct graph_value {
    const char *name;
    const struct graph_constant *constant; /* NULL: computed from the input */
    int producer;                          /* node index; GRAPH_NONE: input, initializer or undefined */
    int32_t unsupported_type; /* an initializer whose type cannot be used: ONNX's number, and constant is NULL */
    bool is_input;
};

/* A graph input or output as the file declares it. */
struct graph_port {
    int value;
    int32_t onnx_type; /* 0: not a tensor, or not said */
    bool has_shape;
    struct tensor_shape shape;          /* -1: a free dimension */
    const char *names[TENSOR_MAX_RANK]; /* of the free dimensions, "" for those without */
};

struct graph_import {
    const char *domain;
    int64_t version;
};

struct graph {
    struct region region;
    struct graph_value *values;
    int value_count, value_capacity;
    int *slots, slot_count;   /* hash table of value indices + 1 */
    struct graph_node *nodes; /* in the region */
    int node_count, node_capacity;
    struct graph_port *inputs, *outputs;
    int input_count, output_count;
    struct graph_import imports[GRAPH_MAX_IMPORTS];
    int import_count;
    int64_t ir_version, opset; /* the latter of ai.onnx */
    const char *producer;
    uint32_t fixed_batch; /* 0: free */
    int directory;        /* of external data while the model is loaded; -1: none */
    size_t external_bytes;
    int branches, rounds;       /* of inlining so far */
    const unsigned char *start; /* of the model's bytes, for error texts */
    /* The file's memory, if pieces of it may be let go once they are copied; else NULL. Owner: the plan. */
    const unsigned char *file;
    size_t file_size;
};

/* thread: loader, for all of them. Errors of the functions below: INVALID, NO_MEMORY. */
struct graph *graph_create(void);
void graph_destroy(struct graph *graph);
/* Finds the value of that name, or adds it. Returns GRAPH_NONE when out of memory or beyond GRAPH_MAX_VALUES. */
int graph_intern(struct graph *graph, const void *name, size_t size);

/* Finds the value of that name. Returns GRAPH_NONE if there is none. */
int graph_find(const struct graph *graph, const void *name, size_t size);

/* Adds a value under a new name, stem with a number behind it. Returns GRAPH_NONE as graph_intern does. */
int graph_add(struct graph *graph, const char *stem);

/* Is the value an input, an initializer, a constant or the output of a node? */
bool graph_defined(const struct graph_value *value);

/* NULL if the node has no attribute of that name. */
const struct graph_attribute *graph_attribute(const struct graph_node *node, const char *name);

#endif
