/* Gemm and MatMul with constant weights become dense steps. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_DENSE_H
#define WEIR_ENGINE_GRAPH_LOWER_DENSE_H

#include "engine/graph/lower.h"

/* Y = alpha A B' + beta C: A computed and not transposed, B constant; alpha goes into the weights, beta into the bias.
 * C is a constant of any form that broadcasts over the batch, or a computed value of the same shape. */
enum weir_status lower_dense_gemm(struct lowering *lowering, const struct graph_node *node,
                                  struct weir_error *err) WEIR_CHECKED;

/* A computed, [batch, ..., K]; B constant, [K], [K, N] or with leading ones. */
enum weir_status lower_dense_matmul(struct lowering *lowering, const struct graph_node *node,
                                    struct weir_error *err) WEIR_CHECKED;

#endif
