#include "engine/graph/constant.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "constants are used as the file stores them: little-endian");

struct graph_constant *constant_make(struct region *region, enum tensor_dtype dtype, const struct tensor_shape *shape,
                                     unsigned char **bytes) {
    size_t elements;
    if (!tensor_shape_elements(shape, 0, &elements))
        return NULL;
    struct graph_constant *constant = region_take(region, 1, sizeof *constant);
    unsigned char *memory = region_take(region, elements, tensor_dtype_bytes(dtype));
    if (!constant || !memory)
        return NULL;
    *constant = (struct graph_constant){dtype, *shape, elements, memory};
    *bytes = memory;
    return constant;
}

bool constant_is_float(const struct graph_constant *constant) {
    return constant->dtype == TENSOR_F32 || constant->dtype == TENSOR_F16 || constant->dtype == TENSOR_BF16 ||
           constant->dtype == TENSOR_F64;
}

static int64_t integer_element(const struct graph_constant *constant, size_t at) {
    int32_t word;
    int64_t wide;
    switch (constant->dtype) {
    case TENSOR_I8:
        return (int8_t)constant->bytes[at];
    case TENSOR_I32:
        memcpy(&word, constant->bytes + at * sizeof word, sizeof word);
        return word;
    case TENSOR_I64:
        memcpy(&wide, constant->bytes + at * sizeof wide, sizeof wide);
        return wide;
    default:
        return constant->bytes[at]; /* U8, BOOL */
    }
}

float constant_element(const struct graph_constant *constant, size_t at) {
    float single;
    double wide;
    uint16_t half;
    switch (constant->dtype) {
    case TENSOR_F32:
        memcpy(&single, constant->bytes + at * sizeof single, sizeof single);
        return single;
    case TENSOR_F64:
        memcpy(&wide, constant->bytes + at * sizeof wide, sizeof wide);
        return (float)wide;
    case TENSOR_F16:
    case TENSOR_BF16:
        memcpy(&half, constant->bytes + at * sizeof half, sizeof half);
        return constant->dtype == TENSOR_F16 ? tensor_f16_to_f32(half) : tensor_bf16_to_f32(half);
    default:
        return (float)integer_element(constant, at);
    }
}

void constant_floats(const struct graph_constant *constant, float *out) {
    if (constant->dtype == TENSOR_F32)
        memcpy(out, constant->bytes, constant->elements * sizeof *out);
    else
        for (size_t i = 0; i < constant->elements; i++)
            out[i] = constant_element(constant, i);
}

bool constant_integers(const struct graph_constant *constant, int64_t *out) {
    if (constant_is_float(constant))
        return false;
    for (size_t i = 0; i < constant->elements; i++)
        out[i] = integer_element(constant, i);
    return true;
}

const struct graph_constant *constant_cast(struct region *region, const struct graph_constant *constant,
                                           enum tensor_dtype to, bool *supported) {
    struct graph_constant wanted = {.dtype = to};
    unsigned char *bytes;
    bool to_float = constant_is_float(&wanted);
    *supported = true;
    if (to == constant->dtype)
        return constant;
    if (!to_float && to != TENSOR_I64) {
        *supported = false;
        return NULL;
    }
    if (!to_float && constant_is_float(constant)) {
        *supported = false;
        return NULL;
    }
    struct graph_constant *made = constant_make(region, to_float ? TENSOR_F32 : TENSOR_I64, &constant->shape, &bytes);
    if (!made)
        return NULL;
    if (to_float)
        constant_floats(constant, (float *)(void *)bytes);
    else
        constant_integers(constant, (int64_t *)(void *)bytes);
    return made;
}

const struct graph_constant *constant_transpose(struct region *region, const struct graph_constant *constant,
                                                const int order[TENSOR_MAX_RANK]) {
    const struct tensor_shape *from = &constant->shape;
    struct tensor_shape shape = {.rank = from->rank};
    size_t strides[TENSOR_MAX_RANK] = {0}, steps[TENSOR_MAX_RANK] = {0}, at[TENSOR_MAX_RANK] = {0};
    size_t stride = 1, each = tensor_dtype_bytes(constant->dtype), source = 0;
    unsigned char *bytes;
    for (int i = from->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= (size_t)from->dims[i];
    }
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = from->dims[order[i]];
        steps[i] = strides[order[i]];
    }
    struct graph_constant *made = constant_make(region, constant->dtype, &shape, &bytes);
    if (!made)
        return NULL;
    for (size_t i = 0; i < made->elements; i++) {
        memcpy(bytes + i * each, constant->bytes + source * each, each);
        for (int d = shape.rank - 1; d >= 0; d--) {
            source += steps[d];
            if (++at[d] < (size_t)shape.dims[d])
                break;
            source -= steps[d] * at[d];
            at[d] = 0;
        }
    }
    return made;
}

const struct graph_constant *constant_reshape(struct region *region, const struct graph_constant *constant,
                                              const struct tensor_shape *shape) {
    struct graph_constant *made = region_take(region, 1, sizeof *made);
    if (made) {
        *made = *constant;
        made->shape = *shape;
    }
    return made;
}
