/* Operators that compute nothing: most of them only give a buffer another shape. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_LAYOUT_H
#define WEIR_ENGINE_GRAPH_LOWER_LAYOUT_H

#include "engine/graph/lower.h"

enum weir_status lower_layout_identity(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) WEIR_CHECKED;

/* Between float types: nothing happens, everything is computed in float32. */
enum weir_status lower_layout_cast(struct lowering *lowering, const struct graph_node *node,
                                   struct weir_error *err) WEIR_CHECKED;

/* Inference only: nothing happens. */
enum weir_status lower_layout_dropout(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) WEIR_CHECKED;

/* Reshape, Flatten, Squeeze, Unsqueeze, and Transpose where no element moves. */
enum weir_status lower_layout_reshape(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) WEIR_CHECKED;

/* Of computed values, along any axis but the batch's: one copy step each. */
enum weir_status lower_layout_concat(struct lowering *lowering, const struct graph_node *node,
                                     struct weir_error *err) WEIR_CHECKED;

#endif
