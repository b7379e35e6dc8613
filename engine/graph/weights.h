/* Weights that nobody needs any more give their memory back. */
#ifndef WEIR_ENGINE_GRAPH_WEIGHTS_H
#define WEIR_ENGINE_GRAPH_WEIGHTS_H

#include "engine/graph/graph.h"

/* Lets go of every constant that no live node reads, and no output is. Does nothing unless the graph owns its file's
 * memory. Errors: NO_MEMORY. thread: loader. */
enum weir_status weights_sweep(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

/* Lets go of one constant's bytes, unless another one that a live node reads shares them; bytes becomes NULL. Does
 * nothing for what is no constant of the graph, or unless the graph owns its file's memory. */
void weights_drop(struct graph *graph, const struct graph_constant *constant);

#endif
