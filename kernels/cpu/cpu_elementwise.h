/* Elementwise operations, vectorised. A number's result does not depend on its place or on how many there are. */
#ifndef WEIR_KERNELS_CPU_CPU_ELEMENTWISE_H
#define WEIR_KERNELS_CPU_CPU_ELEMENTWISE_H

#include "kernels/operation.h"

/* The kernel for COPY, UNARY, BINARY, WHERE and CAST of these shapes and elements; NULL: the oracle's is to be taken.
 * The views' data need not be set. */
operation_function cpu_elementwise_find(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs);

/* y[i] = unary(x[i]), i < count, on the calling thread. y may be x; else they do not overlap. IS_NAN, IS_INF and NOT
 * give 0 or 1. */
void cpu_elementwise_unary(const struct unary *unary, const float *x, float *y, size_t count);

#endif
