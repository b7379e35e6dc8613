/* Which nodes anything depends on. */
#ifndef WEIR_ENGINE_GRAPH_LIVENESS_H
#define WEIR_ENGINE_GRAPH_LIVENESS_H

#include "engine/graph/graph.h"

/* Marks the nodes dead that no output of the graph needs. Errors: NO_MEMORY. thread: loader. */
enum weir_status liveness_mark(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

#endif
