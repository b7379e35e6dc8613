/* Runs a loop over tiles of tensors that broadcast, on several threads where there is enough to do. */
#ifndef WEIR_KERNELS_CPU_CPU_BROADCAST_H
#define WEIR_KERNELS_CPU_CPU_BROADCAST_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/broadcast.h"

/* rows * cols elements: a piece of the two innermost dimensions. Row r of the result begins at element to + r *
 * to_stride; that of input k at starts[k] + r * strides[k], and it goes on with the next element, or, if it is
 * repeated, that one element serves the row. */
struct cpu_broadcast_tile {
    size_t starts[BROADCAST_MAX_INPUTS], strides[BROADCAST_MAX_INPUTS];
    bool repeated[BROADCAST_MAX_INPUTS];
    size_t to, to_stride;
    size_t rows, cols;
};

typedef void (*cpu_broadcast_function)(const void *context, const struct cpu_broadcast_tile *tile);

/* Calls function for tiles that make up the whole result. */
void cpu_broadcast_run(const struct broadcast *broadcast, cpu_broadcast_function function, const void *context);

#endif
