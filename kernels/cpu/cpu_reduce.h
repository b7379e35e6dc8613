/* Fast reductions of float32 over neighbouring dimensions, and ArgMax over the last. Sums are taken in float, in an
 * order that depends on the shape alone. */
#ifndef WEIR_KERNELS_CPU_CPU_REDUCE_H
#define WEIR_KERNELS_CPU_CPU_REDUCE_H

#include "kernels/operation.h"

/* The kernel for this operation on these shapes and elements; NULL: there is none. */
operation_function cpu_reduce_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

#endif
