/* Sixteen floats at once, in the compiler's vector extension: one source, from which the compiler makes SSE2, AVX2 and
 * AVX-512 code (and that of other machines). LANES_VARIANTS makes them, and chooses at run time.
 *
 * The functions are inlined always: vectors are passed differently in each variant. */
#ifndef WEIR_KERNELS_CPU_CPU_LANES_H
#define WEIR_KERNELS_CPU_CPU_LANES_H

#include <stddef.h>
#include <string.h>

#include "kernels/cpu/cpu_parallel.h"
#include "kernels/cpu/cpu_target.h"

enum { LANE_COUNT = 16 };
#define LANES __attribute__((vector_size(64))) /* float LANES: 16 floats; int LANES: 16 masks, 0 or -1 */

#pragma GCC diagnostic ignored "-Wpsabi" /* on how vectors are passed: they are not */

/* Makes name##_best, a function for cpu_parallel_run, from the inlined function `name`. */
#define LANES_VARIANTS(name)                                                                                           \
    CPU_TARGET_VARIANTS(name##_best, name, (const void *job, size_t from, size_t to), (job, from, to))

CPU_TARGET_INLINE float LANES lanes_load(const float *from) {
    float LANES v;
    memcpy(&v, from, sizeof v);
    return v;
}

CPU_TARGET_INLINE void lanes_store(float *to, float LANES v) {
    memcpy(to, &v, sizeof v);
}

CPU_TARGET_INLINE float LANES lanes_of(float v) {
    return (float LANES){v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v};
}

/* Copies `count` floats, below 16, without a call. */
CPU_TARGET_INLINE void lanes_copy_part(float *to, const float *from, size_t count) {
    if (count & 8) {
        memcpy(to, from, 8 * sizeof *to);
        to += 8;
        from += 8;
    }
    if (count & 4) {
        memcpy(to, from, 4 * sizeof *to);
        to += 4;
        from += 4;
    }
    if (count & 2) {
        memcpy(to, from, 2 * sizeof *to);
        to += 2;
        from += 2;
    }
    if (count & 1)
        *to = *from;
}

/* The first `count` floats, below 16; the other lanes are `rest`. */
CPU_TARGET_INLINE float LANES lanes_load_part(const float *from, size_t count, float rest) {
    float part[LANE_COUNT];
    lanes_store(part, lanes_of(rest));
    lanes_copy_part(part, from, count);
    return lanes_load(part);
}

CPU_TARGET_INLINE void lanes_store_part(float *to, float LANES v, size_t count) {
    float part[LANE_COUNT];
    lanes_store(part, v);
    lanes_copy_part(to, part, count);
}

CPU_TARGET_INLINE float LANES lanes_pick(int LANES mask, float LANES a, float LANES b) {
    return (float LANES)(((int LANES)a & mask) | ((int LANES)b & ~mask));
}

CPU_TARGET_INLINE int LANES lanes_is_nan(float LANES v) {
    return ((int LANES)v & 0x7fffffff) > 0x7f800000;
}

/* The greater one; a NaN in b is passed over, one in a stays. */
CPU_TARGET_INLINE float LANES lanes_greater(float LANES a, float LANES b) {
    return lanes_pick(b > a, b, a);
}

/* Always in the same order. */
CPU_TARGET_INLINE float lanes_sum(float LANES v) {
    float __attribute__((vector_size(16))) part[4];
    memcpy(part, &v, sizeof v);
    part[0] = (part[0] + part[2]) + (part[1] + part[3]);
    return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}

/* Of NaN any outcome. */
CPU_TARGET_INLINE float lanes_greatest(float LANES v) {
    float part[LANE_COUNT];
    lanes_store(part, v);
    for (size_t i = 0; i < LANE_COUNT / 2; i++)
        part[i] = part[i + 8] > part[i] ? part[i + 8] : part[i];
    for (size_t i = 0; i < LANE_COUNT / 4; i++)
        part[i] = part[i + 4] > part[i] ? part[i + 4] : part[i];
    part[0] = part[2] > part[0] ? part[2] : part[0];
    part[1] = part[3] > part[1] ? part[3] : part[1];
    return part[1] > part[0] ? part[1] : part[0];
}

/* e^x: 2^n * e^r with n whole and r at most ln(2) / 2; e^r by a polynomial of degree 6, whose own relative error is
 * 1e-8. Results below 2^-126 are 0, x above 88 counts as 88. */
CPU_TARGET_INLINE float LANES lanes_exp(float LANES x) {
    const float LANES magic = lanes_of(12582912.0f); /* 1.5 * 2^23: adding it rounds to a whole number */
    float LANES clamped = lanes_pick(x > 88.0f, lanes_of(88.0f), x);
    float LANES shifted = clamped * 1.44269504f + magic;
    float LANES n = shifted - magic;
    float LANES r = clamped - n * 0.693359375f; /* ln(2) in two parts: the first has few bits, so n times it is exact */
    r = r - n * -2.12194440e-4f;
    float LANES p = lanes_of(0.0013926184f);
    p = p * r + 0.0083631791f;
    p = p * r + 0.0416665546f;
    p = p * r + 0.1666657700f;
    p = p * r + 0.5f;
    p = p * (r * r) + (r + 1.0f);
    unsigned LANES power = ((unsigned LANES)shifted << 23) + (127u << 23); /* 2^n; NaN is in p */
    float LANES y = p * (float LANES)power;
    return lanes_pick(x < -87.3f, lanes_of(0.0f), y);
}

CPU_TARGET_INLINE float LANES lanes_sigmoid(float LANES x) {
    return 1.0f / (1.0f + lanes_exp(-x));
}

/* Near 0 by a polynomial of degree 11, whose own relative error is 2e-8. */
CPU_TARGET_INLINE float LANES lanes_tanh(float LANES x) {
    float LANES z = x * x;
    float LANES p = lanes_of(-0.0060451651f);
    p = p * z + 0.0209613291f;
    p = p * z + -0.0538432632f;
    p = p * z + 0.1333271885f;
    p = p * z + -0.3333332843f;
    float LANES small = x + x * (z * p);
    return lanes_pick(z < 0.4f, small, 1.0f - 2.0f / (1.0f + lanes_exp(x + x)));
}

#endif
