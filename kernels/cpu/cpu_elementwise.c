#include "kernels/cpu/cpu_elementwise.h"

#include <math.h>
#include <string.h>

/* Loops run over blocks of a fixed length through a local array, which the compiler turns into vector code however y
 * and x lie to each other. */
enum { BLOCK = 16 };

#define FOR_EACH(count, expression)                                                                                    \
    do {                                                                                                               \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= (count); i += BLOCK) {                                                                     \
            float block[BLOCK];                                                                                        \
            for (size_t j = 0; j < BLOCK; j++) {                                                                       \
                size_t at = i + j;                                                                                     \
                block[j] = (expression);                                                                               \
            }                                                                                                          \
            memcpy(y + i, block, sizeof block);                                                                        \
        }                                                                                                              \
        for (; i < (count); i++) {                                                                                     \
            size_t at = i;                                                                                             \
            y[i] = (expression);                                                                                       \
        }                                                                                                              \
    } while (0)

/* The comparisons are written so that a NaN, which is neither above nor below anything, comes through. */
void cpu_elementwise_activate(const struct activation *activation, const float *x, float *y, size_t count) {
    float low = activation->low, high = activation->high;
    switch (activation->kind) {
    case ACTIVATION_NONE:
        if (y != x)
            memcpy(y, x, count * sizeof *y);
        break;
    case ACTIVATION_RELU:
        FOR_EACH(count, 0.0f > x[at] ? 0.0f : x[at]);
        break;
    case ACTIVATION_LEAKY_RELU:
        FOR_EACH(count, x[at] < 0.0f ? low * x[at] : x[at]);
        break;
    case ACTIVATION_CLIP:
        FOR_EACH(count, high < (low > x[at] ? low : x[at]) ? high : (low > x[at] ? low : x[at]));
        break;
    case ACTIVATION_SIGMOID:
        for (size_t i = 0; i < count; i++)
            y[i] = 1.0f / (1.0f + expf(-x[i]));
        break;
    case ACTIVATION_TANH:
        for (size_t i = 0; i < count; i++)
            y[i] = tanhf(x[i]);
        break;
    }
}

void cpu_elementwise_combine(enum combination op, const float *a, const float *b, float *y, size_t count) {
    switch (op) {
    case COMBINATION_ADD:
        FOR_EACH(count, a[at] + b[at]);
        break;
    case COMBINATION_SUBTRACT:
        FOR_EACH(count, a[at] - b[at]);
        break;
    case COMBINATION_MULTIPLY:
        FOR_EACH(count, a[at] * b[at]);
        break;
    case COMBINATION_DIVIDE:
        FOR_EACH(count, a[at] / b[at]);
        break;
    }
}

static void combine_number(enum combination op, bool on_left, float c, const float *x, float *y, size_t count) {
    switch (op) {
    case COMBINATION_ADD:
        FOR_EACH(count, x[at] + c);
        break;
    case COMBINATION_SUBTRACT:
        if (on_left)
            FOR_EACH(count, c - x[at]);
        else
            FOR_EACH(count, x[at] - c);
        break;
    case COMBINATION_MULTIPLY:
        FOR_EACH(count, x[at] * c);
        break;
    case COMBINATION_DIVIDE:
        if (on_left)
            FOR_EACH(count, c / x[at]);
        else
            FOR_EACH(count, x[at] / c);
        break;
    }
}

void cpu_elementwise_combine_constant(const struct constant_operand *constant, const float *x, float *y, size_t count) {
    size_t period = constant->period;
    if (period == 1) {
        combine_number(constant->op, constant->on_left, constant->values[0], x, y, count);
        return;
    }
    for (size_t i = 0; i + period <= count; i += period) {
        if (constant->on_left)
            cpu_elementwise_combine(constant->op, constant->values, x + i, y + i, period);
        else
            cpu_elementwise_combine(constant->op, x + i, constant->values, y + i, period);
    }
}
