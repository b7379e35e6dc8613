/* Einsum: as a matrix product or a product of elements where it is one, else as it is. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_EINSUM_H
#define WEIR_ENGINE_GRAPH_LOWER_EINSUM_H

#include "engine/graph/lower.h"

/* Errors: as lower_function says. */
enum weir_status lower_einsum(struct lowering *lowering, const struct graph_node *node, struct weir_error *err);

#endif
