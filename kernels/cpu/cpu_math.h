/* exp, log and their kin of one float32, without branches or calls, so that loops over them become vector code. Errors
 * are a few units in the last place; infinities, zeros and subnormals come out right, NaN stays NaN. The polynomials
 * are minimax fits made for this file, by weighted least squares. */
#ifndef WEIR_KERNELS_CPU_CPU_MATH_H
#define WEIR_KERNELS_CPU_CPU_MATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/cpu_target.h"

/* log 2 in two parts: the product of the first with a whole number below 2^15 is exact. */
#define CPU_MATH_LN2_HIGH 0.693359375f
#define CPU_MATH_LN2_LOW  -2.12194440e-4f

CPU_TARGET_INLINE uint32_t cpu_math_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

CPU_TARGET_INLINE float cpu_math_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

CPU_TARGET_INLINE float cpu_math_with_sign(float magnitude, float sign) {
    return cpu_math_float((cpu_math_bits(magnitude) & 0x7fffffff) | (cpu_math_bits(sign) & 0x80000000));
}

/* x = n * log 2 + r; returns e^r - 1. x is at most about 126 in size. */
CPU_TARGET_INLINE float cpu_math_reduce(float x, float rest, int32_t *n) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: beside it the last bit is 1 */
    float shifted = x * 1.44269504f + magic;
    float k = shifted - magic;
    float r = ((x - k * CPU_MATH_LN2_HIGH) - k * CPU_MATH_LN2_LOW) + rest;
    float q = 1.381453519e-03f;
    q = q * r + 8.368745581e-03f;
    q = q * r + 4.166839089e-02f;
    q = q * r + 1.666652039e-01f;
    q = q * r + 4.999999343e-01f;
    *n = (int32_t)(cpu_math_bits(shifted) - cpu_math_bits(magic));
    return r + r * r * q;
}

CPU_TARGET_INLINE float cpu_math_power_of_two(int32_t n) {
    return cpu_math_float(((uint32_t)n + 127) << 23);
}

/* x, or the limit of its sign where it is larger in size; a NaN becomes a number. Comparisons of floats with numbers
 * known to the compiler would become branches. */
CPU_TARGET_INLINE float cpu_math_limit(float x, float limit) {
    uint32_t bits = cpu_math_bits(x), size = bits & 0x7fffffff, most = cpu_math_bits(limit);
    return cpu_math_float((bits & 0x80000000) | (size < most ? size : most));
}

/* All bits set where x is NaN, else none. */
CPU_TARGET_INLINE uint32_t cpu_math_nan_mask(float x) {
    return (uint32_t)((int32_t)(0x7f800000 - (cpu_math_bits(x) & 0x7fffffff)) >> 31);
}

/* e^(x + rest), rest being small beside 1. */
CPU_TARGET_INLINE float cpu_math_exp_of_sum(float x, float rest) {
    int32_t n;
    float p = 1.0f + cpu_math_reduce(cpu_math_limit(x, 104.0f), rest, &n);
    float y = p * cpu_math_power_of_two(n >> 1) * cpu_math_power_of_two(n - (n >> 1));
    return cpu_math_float(cpu_math_bits(y) | cpu_math_nan_mask(x));
}

CPU_TARGET_INLINE float cpu_math_exp(float x) {
    return cpu_math_exp_of_sum(x, 0.0f);
}

/* e^x - 1 for x up to 80 (above, that of 80); not for NaN. */
CPU_TARGET_INLINE float cpu_math_expm1(float x) {
    int32_t n;
    float p = cpu_math_reduce(cpu_math_limit(x, 80.0f), 0.0f, &n);
    float scale = cpu_math_power_of_two(n);
    return scale * p + (scale - 1.0f);
}

/* log(x) + shift * log 2 for a positive number that is not subnormal. */
CPU_TARGET_INLINE float cpu_math_log_of_normal(float x, float shift) {
    const uint32_t root = 0x3f3504f3; /* sqrt(1/2): the mantissa is taken from there to its double */
    uint32_t bits = cpu_math_bits(x) - root;
    float k = (float)((int32_t)bits >> 23) + shift;
    float f = cpu_math_float((bits & 0x7fffff) + root) - 1.0f;
    float p = -7.634344129e-02f;
    p = p * f + 1.276151592e-01f;
    p = p * f + -1.316021132e-01f;
    p = p * f + 1.420176823e-01f;
    p = p * f + -1.662335537e-01f;
    p = p * f + 2.000122640e-01f;
    p = p * f + -2.500082108e-01f;
    p = p * f + 3.333333171e-01f;
    float square = f * f;
    float y = f * square * p + k * CPU_MATH_LN2_LOW;
    return (f + (y - 0.5f * square)) + k * CPU_MATH_LN2_HIGH;
}

/* What is not an ordinary number is told by its bits: comparisons of floats would become branches. */
CPU_TARGET_INLINE float cpu_math_log(float x) {
    float larger = x * 0x1p23f;
    float y = cpu_math_log_of_normal(x < FLT_MIN ? larger : x, x < FLT_MIN ? -23.0f : 0.0f);
    uint32_t given = cpu_math_bits(x), result = cpu_math_bits(y);
    result = given >= 0x7f800000 ? given : result;             /* infinite, NaN, */
    result = given > 0x80000000 ? given | 0x7fc00000 : result; /* or negative: NaN */
    result = (given & 0x7fffffff) == 0 ? 0xff800000 : result;  /* zero: -infinite */
    return cpu_math_float(result);
}

/* log(1 + x) for 0 <= x <= 1. */
CPU_TARGET_INLINE float cpu_math_log1p(float x) {
    float sum = 1.0f + x;
    return cpu_math_log_of_normal(sum, 0.0f) + (x - (sum - 1.0f)) / sum;
}

CPU_TARGET_INLINE float cpu_math_sigmoid(float x) {
    float e = cpu_math_exp(-fabsf(x));
    float y = 1.0f / (1.0f + e);
    float other = e * y;
    return x < 0.0f ? other : y;
}

CPU_TARGET_INLINE float cpu_math_tanh(float x) {
    float square = x * x;
    float p = -5.717025792e-03f;
    p = p * square + 2.065056846e-02f;
    p = p * square + -5.374349167e-02f;
    p = p * square + 1.333149120e-01f;
    p = p * square + -3.333328392e-01f;
    float small = x + x * square * p;
    float large = 1.0f - 2.0f / (cpu_math_exp(2.0f * fabsf(x)) + 1.0f);
    return cpu_math_with_sign(fabsf(x) < 0.625f ? small : large, x);
}

#endif
