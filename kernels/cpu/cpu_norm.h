/* Fast softmax, layer, batch and instance normalization. Sums are taken in float, in an order that depends on the
 * length alone. */
#ifndef WEIR_KERNELS_CPU_CPU_NORM_H
#define WEIR_KERNELS_CPU_CPU_NORM_H

#include "kernels/operation.h"

/* The kernel for this operation on these shapes and elements; NULL: there is none. Softmax may work in place. */
operation_function cpu_norm_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs);

#endif
