/* The model as a graph, close to the file: named values, and nodes in topological order. */
#ifndef WEIR_ENGINE_GRAPH_GRAPH_H
#define WEIR_ENGINE_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/graph/region.h"
#include "engine/status.h"
#include "engine/tensor.h"

enum {
    GRAPH_MIN_OPSET = 7,  /* before it, Add and Gemm broadcast by attributes */
    GRAPH_MAX_OPSET = 21, /* the last one whose definitions were checked */
    GRAPH_MAX_NODES = 16384,
    GRAPH_MAX_VALUES = 65536,
    GRAPH_MAX_NODE_VALUES = 1024,
    GRAPH_MAX_ATTRIBUTES = 64,
    GRAPH_MAX_ATTRIBUTE_ITEMS = 65536,
    GRAPH_MAX_NAME_BYTES = 4096,
    GRAPH_MAX_IMPORTS = 64,
    GRAPH_MAX_ROW_ELEMENTS = 1 << 26,
    GRAPH_NONE = -1
};

/* A tensor whose elements are known: little-endian, densely packed, in any alignment. bytes lie in the file's memory or
 * in the region. */
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
    GRAPH_ATTRIBUTE_FLOATS = 6,
    GRAPH_ATTRIBUTE_INTS = 7
};

struct graph_attribute {
    const char *name;
    int type; /* graph_attribute_type, or another number of the format that no supported operator has */
    float number;
    int64_t integer;
    const char *text;
    const struct graph_constant *tensor;
    const float *floats;
    const int64_t *ints;
    size_t item_count;
};

/* inputs and outputs are value indices; GRAPH_NONE is an omitted one. */
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
};

struct graph_value {
    const char *name;
    const struct graph_constant *constant; /* NULL: computed from the input */
    int producer;                          /* node index; GRAPH_NONE: input, initializer or undefined */
    bool is_input;
    /* Filled by the lowering: the shape (dims[0] is the batch, -1) and the buffer of a computed value. */
    struct tensor_shape shape;
    int buffer;
};

/* A graph input or output as the file declares it. */
struct graph_port {
    int value;
    int32_t onnx_type; /* 0: not a tensor, or not said */
    bool has_shape;
    struct tensor_shape shape; /* -1: a free dimension */
};

struct graph_import {
    const char *domain;
    int64_t version;
};

struct graph {
    struct region region;
    struct graph_value *values;
    int value_count, value_capacity;
    int *slots; /* hash table of value indices + 1 */
    int slot_count;
    struct graph_node *nodes;
    int node_count;
    struct graph_port *inputs, *outputs;
    int input_count, output_count;
    struct graph_import imports[GRAPH_MAX_IMPORTS];
    int import_count;
    int64_t ir_version;
    int64_t opset; /* of ai.onnx */
    const char *producer;
    uint32_t fixed_batch; /* 0: free */
};

/* thread: loader, for all of them. Errors of the functions below: INVALID, NO_MEMORY. */
struct graph *graph_create(void);
void graph_destroy(struct graph *graph);

/* Finds the value of that name, or adds it. Returns GRAPH_NONE when out of memory or beyond GRAPH_MAX_VALUES. */
int graph_intern(struct graph *graph, const void *name, size_t size);

/* NULL if the node has no attribute of that name. */
const struct graph_attribute *graph_attribute(const struct graph_node *node, const char *name);

#endif
