/* Elementwise float32 kernels. y may be x; otherwise the two do not overlap. Denormals are kept. */
#ifndef WEIR_KERNELS_CPU_CPU_ELEMENTWISE_H
#define WEIR_KERNELS_CPU_CPU_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/operation.h"

/* y[i] = activation(x[i]), i < count. */
void cpu_elementwise_activate(const struct activation *activation, const float *x, float *y, size_t count);

/* y[i] = a[i] op b[i], i < count. y may be a or b. */
void cpu_elementwise_combine(enum combination op, const float *a, const float *b, float *y, size_t count);

/* The second operand of cpu_elementwise_combine_constant: `period` values, repeated over x. */
struct constant_operand {
    enum combination op;
    bool on_left; /* c op x instead of x op c */
    const float *values;
    size_t period;
};

/* y[i] = x[i] op values[i % period], i < count; count is a multiple of period. */
void cpu_elementwise_combine_constant(const struct constant_operand *constant, const float *x, float *y, size_t count);

#endif
