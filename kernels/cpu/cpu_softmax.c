#include "kernels/cpu/cpu_softmax.h"

#include <math.h>

static void normalize(const float *x, float *y, size_t length, size_t stride, bool log) {
    float greatest = -INFINITY, sum = 0.0f;
    size_t end = length * stride;
    for (size_t i = 0; i < end; i += stride)
        greatest = x[i] > greatest ? x[i] : greatest;
    for (size_t i = 0; i < end; i += stride) {
        float shifted = x[i] - greatest;
        float power = expf(shifted);
        y[i] = log ? shifted : power;
        sum += power;
    }
    if (log) {
        float log_sum = logf(sum);
        for (size_t i = 0; i < end; i += stride)
            y[i] -= log_sum;
    } else {
        for (size_t i = 0; i < end; i += stride)
            y[i] /= sum;
    }
}

void cpu_softmax_run(const struct softmax_shape *shape, const float *x, float *y) {
    for (size_t outer = 0; outer < shape->outer; outer++)
        for (size_t inner = 0; inner < shape->inner; inner++) {
            size_t at = outer * shape->length * shape->inner + inner;
            normalize(x + at, y + at, shape->length, shape->inner, shape->log);
        }
}
