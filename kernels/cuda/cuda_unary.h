/* Functions of one float32 on the device; NaN stays NaN. Formulas: kernels/operation.h. */
#ifndef WEIR_KERNELS_CUDA_CUDA_UNARY_H
#define WEIR_KERNELS_CUDA_CUDA_UNARY_H

#include "kernels/cuda/cuda_device.h"

static __device__ __forceinline__ float cuda_unary_clip(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

static __device__ __forceinline__ float cuda_unary_sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

static __device__ __forceinline__ float cuda_unary_softplus(float x) {
    return (x < 0.0f ? 0.0f : x) + log1pf(expf(-fabsf(x)));
}

/* tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2); from x = 20 on it is 1. */
static __device__ __forceinline__ float cuda_unary_mish(float x) {
    float e = expf(x), n = e * (e + 2.0f);
    return x > 20.0f ? x : x * (n / (n + 2.0f));
}

static __device__ __forceinline__ float cuda_unary_celu(float x, float a) {
    float below = a * expm1f(x / a);
    return (x < 0.0f ? 0.0f : x) + (below > 0.0f ? 0.0f : below);
}

static __device__ __forceinline__ float cuda_unary_shrink(float x, float lambd, float bias) {
    if (x < -lambd)
        return x + bias;
    return x > lambd ? x - bias : x != x ? x : 0.0f;
}

static __device__ __forceinline__ float cuda_unary_sign(float x) {
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x != x ? x : 0.0f;
}

/* X(name, expression of x, a and b): those that follow products often, and the others, which are kept out of line. */
#define CUDA_UNARY_COMMON_LIST(X)                                                                                      \
    X(RELU, x < 0.0f ? 0.0f : x)                                                                                       \
    X(LEAKY_RELU, x < 0.0f ? a * x : x)                                                                                \
    X(CLIP, cuda_unary_clip(x, a, b))                                                                                  \
    X(SIGMOID, cuda_unary_sigmoid(x))                                                                                  \
    X(TANH, tanhf(x))                                                                                                  \
    X(HARD_SIGMOID, cuda_unary_clip(a *x + b, 0.0f, 1.0f))                                                             \
    X(HARD_SWISH, x *cuda_unary_clip((x + 3.0f) * (1.0f / 6.0f), 0.0f, 1.0f))                                          \
    X(GELU_ERF, 0.5f * x * (1.0f + erff(x * 0.707106781f)))                                                            \
    X(GELU_TANH, x *cuda_unary_sigmoid(1.59576912f * (x * (1.0f + 0.044715f * (x * x)))))                              \
    X(SILU, x *cuda_unary_sigmoid(a *x))                                                                               \
    X(SCALE, a *x + b)

#define CUDA_UNARY_RARE_LIST(X)                                                                                        \
    X(ELU, x < 0.0f ? a * expm1f(x) : x)                                                                               \
    X(SELU, b *(x <= 0.0f ? a * expm1f(x) : x))                                                                        \
    X(CELU, cuda_unary_celu(x, a))                                                                                     \
    X(SOFTPLUS, cuda_unary_softplus(x))                                                                                \
    X(SOFTSIGN, x / (1.0f + fabsf(x)))                                                                                 \
    X(THRESHOLDED_RELU, x > a || x != x ? x : 0.0f)                                                                    \
    X(SHRINK, cuda_unary_shrink(x, a, b))                                                                              \
    X(MISH, cuda_unary_mish(x))                                                                                        \
    X(ERF, erff(x))                                                                                                    \
    X(SQRT, sqrtf(x))                                                                                                  \
    X(RECIPROCAL, 1.0f / x)                                                                                            \
    X(EXP, expf(x))                                                                                                    \
    X(LOG, logf(x))                                                                                                    \
    X(NEGATE, -x)                                                                                                      \
    X(ABSOLUTE, fabsf(x))                                                                                              \
    X(SIGN, cuda_unary_sign(x))                                                                                        \
    X(FLOOR, floorf(x))                                                                                                \
    X(CEIL, ceilf(x))                                                                                                  \
    X(ROUND, rintf(x))                                                                                                 \
    X(SIN, sinf(x))                                                                                                    \
    X(COS, cosf(x))                                                                                                    \
    X(TAN, tanf(x))                                                                                                    \
    X(ASIN, asinf(x))                                                                                                  \
    X(ACOS, acosf(x))                                                                                                  \
    X(ATAN, atanf(x))                                                                                                  \
    X(SINH, sinhf(x))                                                                                                  \
    X(COSH, coshf(x))                                                                                                  \
    X(ASINH, asinhf(x))                                                                                                \
    X(ACOSH, acoshf(x))                                                                                                \
    X(ATANH, atanhf(x))                                                                                                \
    X(NOT, x == 0.0f)                                                                                                  \
    X(IS_NAN, x != x)                                                                                                  \
    X(IS_INF, fabsf(x) == INFINITY && (x < 0.0f ? a : b) != 0.0f)

#define CUDA_UNARY_CASE(name, expression)                                                                              \
    case UNARY_##name:                                                                                                 \
        return expression;

CUDA_DEVICE_RARE float cuda_unary_rare(enum unary_kind kind, float a, float b, float x) {
    switch (kind) {
        CUDA_UNARY_RARE_LIST(CUDA_UNARY_CASE)
    default:
        return x;
    }
}

static __device__ __forceinline__ float cuda_unary_value(const struct unary *unary, float x) {
    float a = unary->a, b = unary->b;
    switch (unary->kind) {
        CUDA_UNARY_COMMON_LIST(CUDA_UNARY_CASE)
    case UNARY_NONE:
        return x;
    default:
        return cuda_unary_rare(unary->kind, a, b, x);
    }
}

#undef CUDA_UNARY_CASE

#endif
