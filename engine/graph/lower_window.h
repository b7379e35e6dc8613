/* Operators that slide a window: Conv, ConvTranspose, MaxPool, AveragePool, LpPool. Their table is
 * lower_window_family (engine/graph/operators.h). */
#ifndef WEIR_ENGINE_GRAPH_LOWER_WINDOW_H
#define WEIR_ENGINE_GRAPH_LOWER_WINDOW_H

#include "engine/graph/lower.h"
#include "engine/graph/window_shapes.h"

/* Reads and checks the attributes of a convolution of x by w; the whole of out->y is set. Errors: INVALID, UNSUPPORTED,
 * TOO_LARGE. */
enum weir_status lower_window_conv_shape(const struct lowering *lowering, const struct graph_node *node,
                                         const struct tensor_shape *x, const struct tensor_shape *w,
                                         struct window_shape *out, struct weir_error *err) WEIR_CHECKED;

/* Is the fact, which may be NULL, a list of `count` numbers? Errors: INVALID. */
enum weir_status lower_window_check_bias(const struct lowering *lowering, const struct graph_node *node,
                                         const struct fact *bias, int64_t count, struct weir_error *err) WEIR_CHECKED;

#endif
