#include "kernels/half.h"

#include <math.h>
#include <string.h>

enum { F32_MANTISSA = 23, F16_MANTISSA = 10, SHIFT = F32_MANTISSA - F16_MANTISSA };

static uint32_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

float half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) /* infinite or NaN */
        return float_of(sign | 0x7f800000 | (rest & 0x3ff) << SHIFT);
    if (rest < 0x400) { /* subnormal: a multiple of 2^-24 */
        float number = (float)rest * 0x1p-24f;
        return sign ? -number : number;
    }
    return float_of(sign | ((rest << SHIFT) + (uint32_t)((127 - 15) << F32_MANTISSA)));
}

uint16_t half_from_float(float number) {
    uint32_t bits = bits_of(number), rest = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (rest >> SHIFT & 0x3ff));
    if (rest >= bits_of(65520.0f)) /* half way from the largest number to the next power of two */
        return sign | 0x7c00;
    if (rest < bits_of(0x1p-14f)) /* beside 0.5 the last bit of a float is 2^-24, as that of a subnormal */
        return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5f) - bits_of(0.5f)));
    uint32_t odd = rest >> SHIFT & 1;
    rest += ((1u << (SHIFT - 1)) - 1) + odd - ((127u - 15u) << F32_MANTISSA);
    return (uint16_t)(sign | rest >> SHIFT);
}

/* The float32 beside the number whose last bit is 1 where the number does not fit: rounding that again gives what
 * rounding the number would have. */
static float round_to_odd(double number) {
    float near = (float)number;
    if (isnan(number) || near == number)
        return near;
    uint32_t bits = bits_of(near);
    if (fabs((double)near) > fabs(number))
        bits--;
    return float_of(bits | 1);
}

uint16_t half_from_double(double number) {
    return half_from_float(round_to_odd(number));
}

float half_bfloat16_to_float(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

uint16_t half_bfloat16_from_float(float number) {
    uint32_t bits = bits_of(number);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t half_bfloat16_from_double(double number) {
    return half_bfloat16_from_float(round_to_odd(number));
}
