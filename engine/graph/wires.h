/* Steps whose operation has optional inputs or outputs: kernels look at all of them, so a step names all, -1 for those
 * that the node does without. */
#ifndef WEIR_ENGINE_GRAPH_WIRES_H
#define WEIR_ENGINE_GRAPH_WIRES_H

#include "engine/graph/lower.h"

enum { WIRES_MAX = 16 };

/* Appends a step from the node's first inputs to its first outputs, exactly so many (at most WIRES_MAX). The outputs
 * are defined before. Errors: NO_MEMORY. */
enum weir_status wires_step(struct lowering *lowering, const struct graph_node *node, const struct operation *operation,
                            int input_count, int output_count, struct weir_error *err) WEIR_CHECKED;

#endif
