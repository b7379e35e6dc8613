/* Products and convolutions of quantized numbers: QLinearMatMul, QLinearConv, MatMulInteger, ConvInteger. Errors: as
 * lower_function says. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_INTEGER_H
#define WEIR_ENGINE_GRAPH_LOWER_INTEGER_H

#include "engine/graph/lower.h"

enum weir_status lower_integer_qlinear_matmul(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err);
enum weir_status lower_integer_qlinear_conv(struct lowering *lowering, const struct graph_node *node,
                                            struct weir_error *err);
enum weir_status lower_integer_matmul_integer(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err);
enum weir_status lower_integer_conv_integer(struct lowering *lowering, const struct graph_node *node,
                                            struct weir_error *err);

#endif
