/* NodeProto and AttributeProto. Source: onnx.proto. */
#ifndef WEIR_ENGINE_GRAPH_ONNX_NODE_H
#define WEIR_ENGINE_GRAPH_ONNX_NODE_H

#include "engine/graph/onnx_tensor.h"

/* Reads one NodeProto into node, whose index is already set. Subgraphs are noted by their type and not descended into.
 * Errors, naming the node's index: INVALID, UNSUPPORTED, TOO_LARGE, NO_MEMORY, IO. */
enum weir_status onnx_node_read(struct graph *graph, struct onnx_source *source, struct wire message,
                                struct graph_node *node, struct weir_error *err) WEIR_CHECKED;

#endif
