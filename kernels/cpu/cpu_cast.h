/* Casts, vectorised where the compiler can. */
#ifndef WEIR_KERNELS_CPU_CPU_CAST_H
#define WEIR_KERNELS_CPU_CPU_CAST_H

#include "kernels/operation.h"

/* The kernel for a CAST between F32 and any other element, or between I32, I64 and BOOL; NULL: there is none. */
operation_function cpu_cast_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs);

#endif
