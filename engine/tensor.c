#include "engine/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t tensor_dtype_bytes(enum tensor_dtype dtype) {
    static const size_t bytes[] = {
#define DTYPE_BYTES(name, onnx, size, text) size,
        TENSOR_DTYPE_LIST(DTYPE_BYTES)
#undef DTYPE_BYTES
    };
    return (unsigned)dtype < TENSOR_DTYPE_COUNT ? bytes[dtype] : 0;
}

const char *tensor_dtype_text(enum tensor_dtype dtype) {
    static const char *const texts[] = {
#define DTYPE_TEXT(name, onnx, size, text) text,
        TENSOR_DTYPE_LIST(DTYPE_TEXT)
#undef DTYPE_TEXT
    };
    return (unsigned)dtype < TENSOR_DTYPE_COUNT ? texts[dtype] : "unknown";
}

bool tensor_dtype_from_onnx(int32_t number, enum tensor_dtype *out) {
    switch (number) {
#define DTYPE_FROM_ONNX(name, onnx, size, text)                                                                        \
    case onnx:                                                                                                         \
        *out = TENSOR_##name;                                                                                          \
        return true;
        TENSOR_DTYPE_LIST(DTYPE_FROM_ONNX)
#undef DTYPE_FROM_ONNX
    default:
        return false;
    }
}

bool tensor_shape_equal(const struct tensor_shape *a, const struct tensor_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

const char *tensor_shape_text(const struct tensor_shape *shape, char *text, size_t size) {
    size_t used = 0;
    if (size == 0)
        return text;
    text[0] = 0;
    for (int i = 0; i < shape->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "[" : ",",
                                 shape->dims[i] < 0 ? -1LL : (long long)shape->dims[i]);
    if (used < size)
        snprintf(text + used, size - used, "%s]", shape->rank == 0 ? "[" : "");
    return text;
}

bool tensor_shape_elements(const struct tensor_shape *shape, int from, size_t *out) {
    size_t product = 1;
    for (int i = from; i < shape->rank; i++)
        if (shape->dims[i] < 0 || __builtin_mul_overflow(product, (size_t)shape->dims[i], &product))
            return false;
    *out = product;
    return true;
}

bool tensor_spec_measure(struct tensor_spec *spec) {
    struct tensor_shape row = {.rank = 0};
    spec->batch_axis = -1;
    spec->is_fixed = true;
    spec->row_elements = spec->row_bytes = 0;
    for (int i = 0; i < spec->shape.rank; i++) {
        int64_t dim = spec->shape.dims[i];
        if (dim == TENSOR_BATCH && spec->batch_axis >= 0)
            return false;
        if (dim == TENSOR_BATCH)
            spec->batch_axis = i;
        else
            row.dims[row.rank++] = dim;
        spec->is_fixed = spec->is_fixed && dim >= TENSOR_BATCH;
    }
    return !spec->is_fixed ||
           (tensor_shape_elements(&row, 0, &spec->row_elements) &&
            !__builtin_mul_overflow(spec->row_elements, tensor_dtype_bytes(spec->dtype), &spec->row_bytes));
}

static int64_t size_of(int64_t dim, const struct tensor_dims *dims) {
    int free_index = (int)(TENSOR_FREE(0) - dim);
    return dim <= TENSOR_FREE(0) && free_index < dims->free_count ? dims->free[free_index] : dim;
}

bool tensor_spec_row(const struct tensor_spec *spec, const struct tensor_dims *dims, struct tensor_shape *row,
                     size_t *elements) {
    row->rank = 0;
    for (int i = 0; i < spec->shape.rank; i++)
        if (i != spec->batch_axis)
            row->dims[row->rank++] = size_of(spec->shape.dims[i], dims);
    return tensor_shape_elements(row, 0, elements);
}

struct tensor_shape tensor_spec_whole(const struct tensor_spec *spec, const struct tensor_dims *dims) {
    struct tensor_shape whole = spec->shape;
    for (int i = 0; i < whole.rank; i++)
        whole.dims[i] = i == spec->batch_axis ? (int64_t)dims->rows : size_of(whole.dims[i], dims);
    return whole;
}

bool tensor_dims_share(const struct tensor_dims *a, const struct tensor_dims *b) {
    return a->free_count == b->free_count && memcmp(a->free, b->free, (size_t)a->free_count * sizeof a->free[0]) == 0;
}

void signature_release(struct signature *signature) {
    for (int i = 0; i < signature->input_count; i++)
        free(signature->inputs[i].name);
    for (int i = 0; i < signature->output_count; i++)
        free(signature->outputs[i].name);
    for (int i = 0; i < signature->free_count; i++)
        free(signature->free_names[i]);
    free(signature->inputs);
    free(signature->outputs);
    memset(signature, 0, sizeof *signature);
}

static float bits_to_f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float tensor_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 0x1F;
    uint32_t fraction = bits & 0x3FF;
    if (exponent == 0x1F)
        return bits_to_f32(sign | 0x7F800000 | fraction << 13);
    if (exponent != 0)
        return bits_to_f32(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* subnormal, exact */
    return sign ? -magnitude : magnitude;
}

float tensor_bf16_to_f32(uint16_t bits) {
    return bits_to_f32((uint32_t)bits << 16);
}
