/* Choosing between two tensors, vectorised. */
#ifndef WEIR_KERNELS_CPU_CPU_WHERE_H
#define WEIR_KERNELS_CPU_CPU_WHERE_H

#include "kernels/operation.h"

/* The kernel for a WHERE of elements of 1, 4 or 8 bytes; NULL: there is none. */
operation_function cpu_where_find(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs);

#endif
