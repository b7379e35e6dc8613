/* Operators of two tensors or more that broadcast to one shape. Both operands of an operation have one type. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_ARITHMETIC_H
#define WEIR_ENGINE_GRAPH_LOWER_ARITHMETIC_H

#include "engine/graph/lower.h"

/* Add, Sub, Mul, Div, PRelu of numbers; And, Or, Xor of bool; Equal of either; Less, LessOrEqual, Greater,
 * GreaterOrEqual of numbers. */
enum weir_status lower_arithmetic_binary(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) WEIR_CHECKED;

/* Min, Max, Sum, Mean of one tensor or more: a chain of steps. */
enum weir_status lower_arithmetic_list(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) WEIR_CHECKED;

/* Mod: the sign of the divisor, or with fmod=1 (which floats must have) that of the dividend. */
enum weir_status lower_arithmetic_modulo(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) WEIR_CHECKED;

/* Pow: since opset 12 the exponent may have another type than the base. */
enum weir_status lower_arithmetic_power(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) WEIR_CHECKED;

/* BitShift of uint8: of the types that it takes we have no other. */
enum weir_status lower_arithmetic_shift(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) WEIR_CHECKED;

enum weir_status lower_arithmetic_where(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) WEIR_CHECKED;

#endif
