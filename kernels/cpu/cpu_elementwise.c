#include "kernels/cpu/cpu_elementwise.h"

#include <string.h>

#include "kernels/cpu/cpu_binary.h"
#include "kernels/cpu/cpu_cast.h"
#include "kernels/cpu/cpu_erf.h"
#include "kernels/cpu/cpu_math.h"
#include "kernels/cpu/cpu_parallel.h"
#include "kernels/cpu/cpu_where.h"
#include "kernels/ref/ref_elementwise.h"

/* A loop over a whole block has a fixed length, which compilers make vector code of without asking; PIECE is what one
 * thread takes at a time. */
enum { BLOCK = 32, PIECE = 8192 };

CPU_TARGET_INLINE float clip(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

CPU_TARGET_INLINE float elu(float x, float a) {
    float below = a * cpu_math_expm1(x);
    return x < 0.0f ? below : x;
}

CPU_TARGET_INLINE float celu(float x, float a) { /* a > 0 */
    float below = a * cpu_math_expm1(x / a);
    return x < 0.0f ? below : x;
}

CPU_TARGET_INLINE float shrink(float x, float lambd, float bias) {
    float up = x + bias, down = x - bias;
    float y = x > lambd ? down : 0.0f;
    y = x < -lambd ? up : y;
    return x != x ? x : y;
}

CPU_TARGET_INLINE float threshold(float x, float a) {
    float y = x > a ? x : 0.0f;
    return x != x ? x : y;
}

CPU_TARGET_INLINE float softplus(float x) {
    uint32_t bits = cpu_math_bits(x);
    float above = cpu_math_float(bits & ((bits >> 31) - 1)); /* 0 where the sign is set */
    return above + cpu_math_log1p(cpu_math_exp(-fabsf(x)));
}

/* tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2); from x = 20 on it is 1. */
CPU_TARGET_INLINE float mish(float x) {
    float e = cpu_math_exp(x);
    float n = e * (e + 2.0f);
    float ratio = n / (n + 2.0f);
    return x * (x > 20.0f ? 1.0f : ratio);
}

CPU_TARGET_INLINE float gelu_tanh(float x) {
    return x * cpu_math_sigmoid(1.59576912f * (x * (1.0f + 0.044715f * (x * x))));
}

CPU_TARGET_INLINE float sign(float x) {
    float y = (x > 0.0f ? 1.0f : 0.0f) - (x < 0.0f ? 1.0f : 0.0f);
    return x != x ? x : y;
}

/* X(kind, expression of x, a and b). */
#define SIMPLE_LIST(X)                                                                                                 \
    X(RELU, x < 0.0f ? 0.0f : x)                                                                                       \
    X(LEAKY_RELU, leaky_relu(x, a))                                                                                    \
    X(CLIP, clip(x, a, b))                                                                                             \
    X(HARD_SIGMOID, clip(a *x + b, 0.0f, 1.0f))                                                                        \
    X(HARD_SWISH, x *clip((x + 3.0f) * (1.0f / 6.0f), 0.0f, 1.0f))                                                     \
    X(SOFTSIGN, x / (1.0f + fabsf(x)))                                                                                 \
    X(THRESHOLDED_RELU, threshold(x, a))                                                                               \
    X(SHRINK, shrink(x, a, b))                                                                                         \
    X(SQRT, sqrtf(x))                                                                                                  \
    X(RECIPROCAL, 1.0f / x)                                                                                            \
    X(NEGATE, -x)                                                                                                      \
    X(ABSOLUTE, fabsf(x))                                                                                              \
    X(SIGN, sign(x))                                                                                                   \
    X(FLOOR, floorf(x))                                                                                                \
    X(CEIL, ceilf(x))                                                                                                  \
    X(ROUND, rintf(x))                                                                                                 \
    X(SCALE, a *x + b)

#define CURVED_LIST(X)                                                                                                 \
    X(SIGMOID, cpu_math_sigmoid(x))                                                                                    \
    X(TANH, cpu_math_tanh(x))                                                                                          \
    X(ELU, elu(x, a))                                                                                                  \
    X(SELU, b *elu(x, a))                                                                                              \
    X(CELU, celu(x, a))                                                                                                \
    X(SOFTPLUS, softplus(x))                                                                                           \
    X(GELU_ERF, cpu_erf_gelu(x))                                                                                       \
    X(GELU_TANH, gelu_tanh(x))                                                                                         \
    X(SILU, x *cpu_math_sigmoid(a *x))                                                                                 \
    X(MISH, mish(x))                                                                                                   \
    X(ERF, cpu_erf(x))                                                                                                 \
    X(EXP, cpu_math_exp(x))                                                                                            \
    X(LOG, cpu_math_log(x))

CPU_TARGET_INLINE float leaky_relu(float x, float a) {
    float below = a * x;
    return x < 0.0f ? below : x;
}

#define BLOCK_CASE(name, expression)                                                                                   \
    case UNARY_##name:                                                                                                 \
        CPU_TARGET_INDEPENDENT                                                                                         \
        for (size_t i = 0; i < BLOCK; i++) {                                                                           \
            float x = from[i];                                                                                         \
            to[i] = (expression);                                                                                      \
        }                                                                                                              \
        break;

CPU_TARGET_INLINE void compute_block(const struct unary *unary, const float *from, float *to) {
    float a = unary->a, b = unary->b;
    switch (unary->kind) {
        SIMPLE_LIST(BLOCK_CASE)
        CURVED_LIST(BLOCK_CASE)
    default:
        break;
    }
}

CPU_TARGET_INLINE void compute_blocks(const struct unary *unary, const float *x, float *y, size_t count) {
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        compute_block(unary, x + i, y + i);
    if (i < count) {
        float rest[BLOCK] = {0};
        memcpy(rest, x + i, (count - i) * sizeof *x);
        compute_block(unary, rest, rest);
        memcpy(y + i, rest, (count - i) * sizeof *y);
    }
}

CPU_TARGET_VARIANTS(compute, compute_blocks, (const struct unary *unary, const float *x, float *y, size_t count),
                    (unary, x, y, count));

static bool is_vectorised(const struct unary *unary) {
#define LISTED_CASE(name, expression) case UNARY_##name:
    switch (unary->kind) {
        SIMPLE_LIST(LISTED_CASE)
        CURVED_LIST(LISTED_CASE)
        return unary->kind != UNARY_CELU || unary->a > 0.0f;
    default:
        return false;
    }
#undef LISTED_CASE
}

void cpu_elementwise_unary(const struct unary *unary, const float *x, float *y, size_t count) {
    if (is_vectorised(unary)) {
        compute(unary, x, y, count);
    } else if (unary->kind == UNARY_NONE) {
        if (y != x && count > 0)
            memcpy(y, x, count * sizeof *y);
    } else {
        for (size_t i = 0; i < count; i++)
            y[i] = ref_unary_value(unary, x[i]);
    }
}

struct unary_job {
    const struct unary *unary;
    const float *x;
    float *y;
    size_t count;
};

static void run_pieces(const void *context, size_t from, size_t to) {
    const struct unary_job *job = context;
    size_t start = from * PIECE, end = to * PIECE < job->count ? to * PIECE : job->count;
    if (end > start)
        cpu_elementwise_unary(job->unary, job->x + start, job->y + start, end - start);
}

static void run_unary(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                      void *scratch) {
    size_t count = view_count(outputs), pieces = (count + PIECE - 1) / PIECE;
    struct unary_job job = {&operation->unary, inputs->data, outputs->data, count};
    (void)scratch;
    cpu_parallel_run(run_pieces, &job, pieces, count);
}

static void run_copy(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                     void *scratch) {
    size_t bytes = view_count(outputs) * view_element_bytes(outputs->element);
    (void)operation;
    (void)scratch;
    if (bytes > 0 && inputs->data != outputs->data)
        memcpy(outputs->data, inputs->data, bytes);
}

operation_function cpu_elementwise_find(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs) {
    switch (operation->kind) {
    case OPERATION_COPY:
        return run_copy;
    case OPERATION_UNARY:
        return inputs->element == ELEMENT_F32 && outputs->element == ELEMENT_F32 ? run_unary : NULL;
    case OPERATION_BINARY:
        return cpu_binary_find(operation, inputs, outputs);
    case OPERATION_WHERE:
        return cpu_where_find(operation, inputs, outputs);
    case OPERATION_CAST:
        return cpu_cast_find(operation, inputs, outputs);
    default:
        return NULL;
    }
}
