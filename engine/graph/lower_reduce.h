/* Reductions, global pools, ArgMax and ArgMin, TopK and CumSum. Their table is lower_reduce_family
 * (engine/graph/operators.h). */
#ifndef WEIR_ENGINE_GRAPH_LOWER_REDUCE_H
#define WEIR_ENGINE_GRAPH_LOWER_REDUCE_H

#include "engine/graph/lower.h"

/* Reads the attribute axis, whose default is `wanted`, as a dimension of x. Errors: INVALID. */
enum weir_status lower_reduce_read_axis(const struct lowering *lowering, const struct graph_node *node,
                                        const struct fact *x, int64_t wanted, int *axis,
                                        struct weir_error *err) WEIR_CHECKED;

#endif
