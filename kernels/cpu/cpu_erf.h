/* The error function and Gelu, as cpu_math.h. */
#ifndef WEIR_KERNELS_CPU_CPU_ERF_H
#define WEIR_KERNELS_CPU_CPU_ERF_H

#include "kernels/cpu/cpu_math.h"

/* e^(t^2) * erfc(t) for t >= 0: a polynomial in (t - 2.5) / (t + 2.5), which brings all t below 1 in size, over 1 + 2t.
 * Source of this form: M. Shepherd and J. Laframboise, Mathematics of Computation 36 (1981). */
CPU_TARGET_INLINE float cpu_erf_scaled_complement(float t) {
    t = cpu_math_limit(t, 10.5f);
    float sum = t + 2.5f, slope = 1.0f + 2.0f * t;
    float inverse = 1.0f / (sum * slope);
    float u = (t - 2.5f) * (slope * inverse);
    float p = 4.498240930e-04f;
    p = p * u + 3.192059955e-04f;
    p = p * u + -4.288878091e-03f;
    p = p * u + 1.032751065e-03f;
    p = p * u + 3.274214891e-02f;
    p = p * u + -1.029895912e-01f;
    p = p * u + 1.576314384e-01f;
    p = p * u + -9.902281893e-02f;
    p = p * u + -1.223568062e-01f;
    p = p * u + 1.264838164e+00f;
    return p * (sum * inverse);
}

/* e^(-factor * t^2) for t >= 0 and a factor that is a power of two: the square is taken in two parts, so that its
 * rounding does not grow with it. */
CPU_TARGET_INLINE float cpu_erf_bell(float t, float factor) {
    t = cpu_math_limit(t, 16.0f);
    float high = cpu_math_float(cpu_math_bits(t) & 0xfffff000); /* its square is exact */
    return cpu_math_exp_of_sum(-factor * (high * high), -factor * ((t - high) * (t + high)));
}

CPU_TARGET_INLINE float cpu_erf(float x) {
    float t = fabsf(x), square = x * x;
    float p = -6.111288947e-04f;
    p = p * square + 5.016227742e-03f;
    p = p * square + -2.678195646e-02f;
    p = p * square + 1.128222995e-01f;
    p = p * square + -3.761253244e-01f;
    p = p * square + 1.283791553e-01f;
    float small = x + x * p;
    float large = cpu_math_with_sign(1.0f - cpu_erf_bell(t, 1.0f) * cpu_erf_scaled_complement(t), x);
    return t >= 0.9f ? large : small; /* NaN is in the small one */
}

/* x / 2 * (1 + erf(x / sqrt 2)), by way of erfc, which loses nothing far below 0. */
CPU_TARGET_INLINE float cpu_erf_gelu(float x) {
    float t = fabsf(x);
    float complement = 0.5f * (cpu_erf_bell(t, 0.5f) * cpu_erf_scaled_complement(t * 0.707106781f));
    float rest = 1.0f - complement;
    return x * (x < 0.0f ? complement : rest);
}

#endif
