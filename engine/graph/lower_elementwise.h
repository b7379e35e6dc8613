/* Functions of one number. The table of the family also has arithmetic (lower_arithmetic.h) and casts
 * (lower_convert.h); it is declared in operators.h. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_ELEMENTWISE_H
#define WEIR_ENGINE_GRAPH_LOWER_ELEMENTWISE_H

#include "engine/graph/lower.h"

/* Activations, Sqrt, Floor, Sin and so on: one number in, one out. Neg, Abs, Sign and Relu take integers too, Not takes
 * bool. */
enum weir_status lower_elementwise_unary(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) WEIR_CHECKED;

/* Bounds are attributes before opset 11, inputs since: those that are computed become steps of their own. */
enum weir_status lower_elementwise_clip(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) WEIR_CHECKED;

#endif
