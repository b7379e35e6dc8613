/* The oracle of the elementwise operations, in double. */
#ifndef WEIR_KERNELS_REF_REF_ELEMENTWISE_H
#define WEIR_KERNELS_REF_REF_ELEMENTWISE_H

#include <stddef.h>

#include "kernels/operation.h"

/* y[i] = activation(x[i]), i < count. y may be x. */
void ref_elementwise_activate(const struct activation *activation, const float *x, float *y, size_t count);

/* y[i] = a[i] op b[i % period], i < count. */
void ref_elementwise_combine(enum combination op, const float *a, const float *b, size_t period, float *y,
                             size_t count);

#endif
