/* Single elements of a tensor's bytes, which need not be aligned. */
#ifndef WEIR_ENGINE_TENSOR_ELEMENT_H
#define WEIR_ENGINE_TENSOR_ELEMENT_H

#include <string.h>

#include "engine/tensor.h"

static inline bool tensor_is_float(enum tensor_dtype dtype) {
    return dtype == TENSOR_F32 || dtype == TENSOR_F64 || dtype == TENSOR_F16 || dtype == TENSOR_BF16;
}

/* Element `index` of a floating-point tensor, exactly. */
static inline double tensor_float_at(enum tensor_dtype dtype, const void *data, size_t index) {
    const unsigned char *bytes = data;
    double wide;
    float single;
    uint16_t half;
    switch (dtype) {
    case TENSOR_F64:
        memcpy(&wide, bytes + index * sizeof wide, sizeof wide);
        return wide;
    case TENSOR_F32:
        memcpy(&single, bytes + index * sizeof single, sizeof single);
        return (double)single;
    default:
        memcpy(&half, bytes + index * sizeof half, sizeof half);
        return (double)(dtype == TENSOR_F16 ? tensor_f16_to_f32(half) : tensor_bf16_to_f32(half));
    }
}

/* Element `index` of any other tensor; of a bool, its byte. */
static inline int64_t tensor_integer_at(enum tensor_dtype dtype, const void *data, size_t index) {
    const unsigned char *bytes = data;
    int64_t wide;
    int32_t word;
    switch (dtype) {
    case TENSOR_I64:
        memcpy(&wide, bytes + index * sizeof wide, sizeof wide);
        return wide;
    case TENSOR_I32:
        memcpy(&word, bytes + index * sizeof word, sizeof word);
        return word;
    case TENSOR_I8:
        return (signed char)bytes[index];
    default: /* U8, BOOL */
        return bytes[index];
    }
}

#endif
