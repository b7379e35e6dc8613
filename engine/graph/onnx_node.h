/* NodeProto and AttributeProto. Source: onnx.proto. */
#ifndef WEIR_ENGINE_GRAPH_ONNX_NODE_H
#define WEIR_ENGINE_GRAPH_ONNX_NODE_H

#include "engine/graph/onnx_tensor.h"

/* Reads one NodeProto into node, whose index and scope are already set. Subgraphs stay messages and are not descended
 * into. Errors, naming the node's index: INVALID, UNSUPPORTED, TOO_LARGE, NO_MEMORY, IO. */
enum weir_status onnx_node_read(struct graph *graph, struct wire message, struct graph_node *node,
                                struct weir_error *err) WEIR_CHECKED;

/* Finds the value that a name means in a scope: that of the innermost branch that defines it, else the graph's, which
 * is added if it is not there. Returns GRAPH_NONE as graph_intern does, or where the name with its prefix is too long.
 */
int onnx_node_resolve(struct graph *graph, const struct graph_scope *scope, struct wire name);

/* The same without adding anything; GRAPH_NONE: there is none. */
int onnx_node_find(const struct graph *graph, const struct graph_scope *scope, struct wire name);

/* Adds the value that a branch itself defines under that name. Returns GRAPH_NONE likewise. */
int onnx_node_define(struct graph *graph, const struct graph_scope *scope, struct wire name);

#endif
