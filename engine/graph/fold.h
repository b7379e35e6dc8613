/* Passes over the graph before it is lowered: what is constant is computed, what nobody needs is dropped. */
#ifndef WEIR_ENGINE_GRAPH_FOLD_H
#define WEIR_ENGINE_GRAPH_FOLD_H

#include "engine/graph/graph.h"

/* Computes Constant nodes and the rearranging operators (Identity, Cast, Reshape, Flatten, Squeeze, Unsqueeze,
 * Transpose, Dropout) of constants; their nodes become dead. Errors: INVALID, UNSUPPORTED, NO_MEMORY. */
enum weir_status fold_constants(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

/* Marks dead every node that no output of the graph depends on. Errors: NO_MEMORY. */
enum weir_status fold_dead_code(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

#endif
