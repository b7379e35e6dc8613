/* The table of supported operators. To add one: write its lowering in a lower_*.c file and give it a line here. */
#ifndef WEIR_ENGINE_GRAPH_OPERATORS_H
#define WEIR_ENGINE_GRAPH_OPERATORS_H

#include "engine/graph/lower.h"

/* Checks domain, name, number of inputs and names of attributes, so that nothing a file says is passed over in silence.
 * Errors: UNSUPPORTED (with the nearest operator where there is one), INVALID. */
enum weir_status operators_check(const struct graph *graph, const struct graph_node *node,
                                 struct weir_error *err) WEIR_CHECKED;

/* Lowers a node that has passed operators_check. */
enum weir_status operators_lower(struct lowering *lowering, const struct graph_node *node,
                                 struct weir_error *err) WEIR_CHECKED;

#endif
