/* Reads an ONNX model's bytes into a graph and checks that it hangs together. Source: onnx.proto (field numbers) and
 * onnx/docs/IR.md (names are assigned once, nodes are in topological order). */
#ifndef WEIR_ENGINE_GRAPH_ONNX_READER_H
#define WEIR_ENGINE_GRAPH_ONNX_READER_H

#include "engine/graph/graph.h"

/* Reads the model in bytes into an empty graph. Weights stay in bytes, which must outlive the graph. directory is where
 * external data may lie (-1: none). Nothing recurses, nothing is taken for bytes that are not there, unknown fields are
 * skipped. Errors: INVALID (broken, or it names what hangs in the air), UNSUPPORTED, TOO_LARGE, NO_MEMORY, IO. */
enum weir_status onnx_reader_read(struct graph *graph, const void *bytes, size_t size, int directory,
                                  struct weir_error *err) WEIR_CHECKED;

#endif
