/* Arithmetic and comparisons of two tensors that broadcast, vectorised. */
#ifndef WEIR_KERNELS_CPU_CPU_BINARY_H
#define WEIR_KERNELS_CPU_CPU_BINARY_H

#include "kernels/operation.h"

/* The kernel for a BINARY of two F32 (not MODULO and REMAINDER), a comparison of two I32 or two I64, or AND, OR, XOR
 * and EQUAL of bool; NULL: there is none. */
operation_function cpu_binary_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

#endif
