/* Conversions of the 16-bit floats. From float32 or float64 they round to the nearest, halves to the even number; too
 * large becomes infinite, NaN stays NaN. Source of the formats: IEEE 754-2019 (binary16); bfloat16 is the upper half of
 * a binary32. */
#ifndef WEIR_KERNELS_HALF_H
#define WEIR_KERNELS_HALF_H

#include <stdint.h>

float half_to_float(uint16_t bits);
uint16_t half_from_float(float number);
uint16_t half_from_double(double number);

float half_bfloat16_to_float(uint16_t bits);
uint16_t half_bfloat16_from_float(float number);
uint16_t half_bfloat16_from_double(double number);

#endif
