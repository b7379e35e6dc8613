#include "kernels/ref/ref_elementwise.h"

#include <math.h>

static double activate(const struct activation *activation, double x) {
    if (isnan(x))
        return x;
    switch (activation->kind) {
    case ACTIVATION_NONE:
        return x;
    case ACTIVATION_RELU:
        return fmax(x, 0.0);
    case ACTIVATION_LEAKY_RELU:
        return x < 0 ? (double)activation->low * x : x;
    case ACTIVATION_CLIP:
        return fmin(fmax(x, activation->low), activation->high);
    case ACTIVATION_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case ACTIVATION_TANH:
        return tanh(x);
    }
    return x;
}

void ref_elementwise_activate(const struct activation *activation, const float *x, float *y, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] = (float)activate(activation, x[i]);
}

static double combine(enum combination op, double a, double b) {
    switch (op) {
    case COMBINATION_ADD:
        return a + b;
    case COMBINATION_SUBTRACT:
        return a - b;
    case COMBINATION_MULTIPLY:
        return a * b;
    case COMBINATION_DIVIDE:
        return a / b;
    }
    return 0.0;
}

void ref_elementwise_combine(enum combination op, const float *a, const float *b, size_t period, float *y,
                             size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] = (float)combine(op, a[i], b[i % period]);
}
