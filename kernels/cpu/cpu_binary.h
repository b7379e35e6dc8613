/* Arithmetic and comparisons of two tensors that broadcast, vectorised. */
#ifndef WEIR_KERNELS_CPU_CPU_BINARY_H
#define WEIR_KERNELS_CPU_CPU_BINARY_H

#include "kernels/operation.h"

/* The kernel for a BINARY of two F32 (not MODULO and REMAINDER), a comparison of two I32 or two I64, or AND, OR, XOR
 * and EQUAL of bool; NULL: there is none. */
operation_function cpu_binary_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

/* y[i] = a[i] op b[i], i < count, on the calling thread, for a kind that gives F32 and cpu_binary_find has. y may be a
 * or b. */
void cpu_binary_compute(enum binary_kind kind, const float *a, const float *b, float *y, size_t count);

#endif
