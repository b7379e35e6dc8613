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

#define IN_PLACE(expression)                                                                                           \
    do {                                                                                                               \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= count; i += BLOCK)                                                                         \
            for (size_t at = i; at < i + BLOCK; at++)                                                                  \
                y[at] = (expression);                                                                                  \
        for (size_t at = i; at < count; at++)                                                                          \
            y[at] = (expression);                                                                                      \
    } while (0)

/* The activations that are comparisons. They are written so that a NaN, which is neither above nor below anything,
 * comes through. */
static inline __attribute__((always_inline)) void compare(const struct activation *activation, float *y, size_t count) {
    float low = activation->low, high = activation->high;
    if (activation->kind == ACTIVATION_RELU)
        IN_PLACE(0.0f > y[at] ? 0.0f : y[at]);
    else if (activation->kind == ACTIVATION_LEAKY_RELU)
        IN_PLACE(y[at] < 0.0f ? low * y[at] : y[at]);
    else
        IN_PLACE(high < (low > y[at] ? low : y[at]) ? high : (low > y[at] ? low : y[at]));
}

#if defined(__x86_64__)
/* The same code for wider registers; the results are the same bits. */
__attribute__((target("avx2"))) static void compare_avx2(const struct activation *activation, float *y, size_t count) {
    compare(activation, y, count);
}
#endif

static void compare_best(const struct activation *activation, float *y, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        compare_avx2(activation, y, count);
        return;
    }
#endif
    compare(activation, y, count);
}

void cpu_elementwise_activate(const struct activation *activation, const float *x, float *y, size_t count) {
    switch (activation->kind) {
    case ACTIVATION_NONE:
    case ACTIVATION_RELU:
    case ACTIVATION_LEAKY_RELU:
    case ACTIVATION_CLIP:
        if (y != x)
            memcpy(y, x, count * sizeof *y);
        if (activation->kind != ACTIVATION_NONE)
            compare_best(activation, y, count);
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
