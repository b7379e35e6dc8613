/* Small steps that all kernels of quantized numbers share, so that fast ones and the oracle give the same bits. A scale
 * or zero point is one number for the whole tensor, or a list along one dimension. */
#ifndef WEIR_KERNELS_QUANTIZED_H
#define WEIR_KERNELS_QUANTIZED_H

#include <math.h>
#include <stdint.h>

#include "kernels/view.h"

/* Range of U8 or I8. */
static inline float quantized_low(enum element element) {
    return element == ELEMENT_U8 ? 0.0f : -128.0f;
}

static inline float quantized_high(enum element element) {
    return element == ELEMENT_U8 ? 255.0f : 127.0f;
}

/* An integer element; missing zero points (data NULL) are 0. */
static inline int32_t quantized_element(const struct view *view, size_t at) {
    if (!view->data)
        return 0;
    switch (view->element) {
    case ELEMENT_U8:
        return ((const uint8_t *)view->data)[at];
    case ELEMENT_I8:
        return ((const int8_t *)view->data)[at];
    default:
        return ((const int32_t *)view->data)[at];
    }
}

/* value to the nearest integer (halves to the even one) plus zero, within the element's range; NaN gives its low end.
 */
static inline int32_t quantized_round(float value, int32_t zero, enum element element) {
    float low = quantized_low(element) - (float)zero, high = quantized_high(element) - (float)zero;
    float clipped = value > low ? value : low;
    clipped = clipped < high ? clipped : high;
    return (int32_t)nearbyintf(clipped) + zero;
}

static inline void quantized_put(const struct view *y, size_t at, int32_t value) {
    if (y->element == ELEMENT_U8)
        ((uint8_t *)y->data)[at] = (uint8_t)value;
    else
        ((int8_t *)y->data)[at] = (int8_t)value;
}

/* What one unit of an integer sum is worth in the output. */
static inline float quantized_factor(float x_scale, float w_scale, float y_scale) {
    return x_scale * w_scale / y_scale;
}

/* 0 for one number, else `at`. */
static inline size_t quantized_at(const struct view *view, size_t at) {
    return view_count(view) == 1 ? 0 : at;
}

static inline float quantized_scale(const struct view *view, size_t at) {
    return ((const float *)view->data)[quantized_at(view, at)];
}

static inline int32_t quantized_zero(const struct view *view, size_t at) {
    return view->data ? quantized_element(view, quantized_at(view, at)) : 0;
}

#endif
