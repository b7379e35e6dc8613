/* Does the graph hang together? */
#ifndef WEIR_ENGINE_GRAPH_GRAPH_CHECK_H
#define WEIR_ENGINE_GRAPH_GRAPH_CHECK_H

#include "engine/graph/graph.h"

/* Checks that every name is defined once and before its use, that every output of the graph is defined, and that no
 * output is listed twice; records each value's producer. Errors: INVALID, naming the place. */
enum weir_status graph_check(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

/* The same for one node, those before it having been checked; adds what the graphs in its attributes read to its
 * inputs. Errors: INVALID, UNSUPPORTED, NO_MEMORY. */
enum weir_status graph_check_node(struct graph *graph, int index, struct weir_error *err) WEIR_CHECKED;

/* Checks the opset of ai.onnx against GRAPH_MIN_OPSET..GRAPH_MAX_OPSET. Errors: UNSUPPORTED, INVALID. */
enum weir_status graph_check_opset(const struct graph *graph, struct weir_error *err) WEIR_CHECKED;

#endif
