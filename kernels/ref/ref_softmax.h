/* The oracle of softmax, in double. */
#ifndef WEIR_KERNELS_REF_REF_SOFTMAX_H
#define WEIR_KERNELS_REF_REF_SOFTMAX_H

#include <stdbool.h>
#include <stddef.h>

/* y[i] = exp(x[i]) / sum of exp(x[j]), or its logarithm, over `length` elements. */
void ref_softmax_run(const float *x, float *y, size_t length, bool log);

#endif
