/* Matrix products: MatMul, Gemm; Einsum is in lower_einsum. Their table is lower_matrix_family
 * (engine/graph/operators.h). */
#ifndef WEIR_ENGINE_GRAPH_LOWER_MATRIX_H
#define WEIR_ENGINE_GRAPH_LOWER_MATRIX_H

#include "engine/graph/lower.h"

/* The shape of NumPy's matmul of a and b. Errors: INVALID, saying which dimensions do not fit. */
enum weir_status lower_matrix_shape(const struct lowering *lowering, const struct graph_node *node,
                                    const struct tensor_shape *a, const struct tensor_shape *b, struct tensor_shape *y,
                                    struct weir_error *err) WEIR_CHECKED;

#endif
