/* The oracle of the elementwise operations: functions of one number, Where, casts, copies. Those of two numbers are in
 * ref_binary.h. Each computes in double, or in int64 for integers. */
#ifndef WEIR_KERNELS_REF_REF_ELEMENTWISE_H
#define WEIR_KERNELS_REF_REF_ELEMENTWISE_H

#include "kernels/operation.h"
#include "kernels/ref/ref_binary.h"

/* The function of one number, rounded to float32; for IS_NAN, IS_INF and NOT 0 or 1. */
float ref_unary_value(const struct unary *unary, float x);

/* F32; NEGATE, ABSOLUTE, SIGN, CLIP and RELU of integers as well; NOT of bool; IS_NAN and IS_INF give bool. */
void ref_unary(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

void ref_where(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

/* Integers to narrower ones wrap around. */
void ref_cast(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

void ref_copy(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

#endif
