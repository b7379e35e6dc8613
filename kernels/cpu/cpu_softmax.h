/* Softmax and log-softmax, float32. */
#ifndef WEIR_KERNELS_CPU_CPU_SOFTMAX_H
#define WEIR_KERNELS_CPU_CPU_SOFTMAX_H

#include <stdbool.h>
#include <stddef.h>

/* The normalized axis has `length` elements that lie `inner` apart; `outer` groups of length * inner elements follow
 * one another. */
struct softmax_shape {
    size_t outer;
    size_t length;
    size_t inner;
    bool log; /* the logarithm of the softmax */
};

/* Subtracts the maximum first, so that large values do not overflow; a NaN or +inf in a group makes NaNs of it. y may
 * be x. */
void cpu_softmax_run(const struct softmax_shape *shape, const float *x, float *y);

#endif
