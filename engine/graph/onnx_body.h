/* The graph inside a node's attribute (GraphProto): what it reads from outside, and its parts read into the graph that
 * holds the node. Source: onnx.proto; onnx/docs/IR.md, "Names Within a Graph" (a branch sees the names around it). */
#ifndef WEIR_ENGINE_GRAPH_ONNX_BODY_H
#define WEIR_ENGINE_GRAPH_ONNX_BODY_H

#include "engine/graph/graph.h"
#include "engine/graph/wire.h"

/* Field numbers of GraphProto. */
enum {
    ONNX_BODY_NODE = 1,
    ONNX_BODY_INITIALIZER = 5,
    ONNX_BODY_INPUT = 11,
    ONNX_BODY_OUTPUT = 12,
    ONNX_BODY_SPARSE = 15
};

struct onnx_body_parts {
    size_t nodes, inputs, outputs;
};

/* Counts the parts. Errors: INVALID (broken), UNSUPPORTED (sparse initializers), TOO_LARGE (more than a graph may
 * have). */
enum weir_status onnx_body_measure(const struct graph *graph, struct wire body, struct onnx_body_parts *parts,
                                   struct weir_error *err) WEIR_CHECKED;

/* Puts the outer values that the graphs in the node's attributes read behind the node's own inputs: of the names that
 * occur in them, those that are defined where the node stands. Errors: INVALID, UNSUPPORTED (graphs too deep within
 * each other), NO_MEMORY. */
enum weir_status onnx_body_capture(struct graph *graph, struct graph_node *node, struct weir_error *err) WEIR_CHECKED;

/* Reads the body of an attribute into the graph: initializers become values, nodes (zeroed, as many as were counted)
 * are filled and show index as their place in the file, and outputs gets the values that its outputs name. Names of its
 * own get the scope's prefix. Errors: those of onnx_node_read and onnx_tensor_read. */
struct onnx_body_target {
    const struct graph_scope *scope;
    int index;
    struct graph_node *nodes;
    int *outputs;
};
enum weir_status onnx_body_read(struct graph *graph, struct wire body, const struct onnx_body_target *target,
                                struct weir_error *err) WEIR_CHECKED;

/* Reads one initializer into the value of its name in scope. Errors: INVALID (twice, or without a name), those of
 * onnx_tensor_read. */
enum weir_status onnx_body_read_initializer(struct graph *graph, struct wire message, const struct graph_scope *scope,
                                            struct weir_error *err) WEIR_CHECKED;

#endif
