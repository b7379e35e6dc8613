/* The equation of an Einsum: "bij,bjk->bik", with ellipses and without an output side too. */
#ifndef WEIR_ENGINE_GRAPH_EINSUM_EQUATION_H
#define WEIR_ENGINE_GRAPH_EINSUM_EQUATION_H

#include "engine/status.h"
#include "kernels/operation.h"

/* Reads an equation over `count` inputs (at most OPERATION_MAX_TERMS) of those ranks. Each dimension of an ellipsis
 * gets a label of its own, counted from the last one. *fault says why it fails. Source: ONNX operator Einsum, NumPy's
 * einsum. Errors: INVALID, UNSUPPORTED. */
enum weir_status einsum_equation_read(const char *text, const int *ranks, int count, struct einsum *einsum,
                                      int *output_rank, const char **fault) WEIR_CHECKED;

#endif
