#include "engine/graph/constant.h"

#include <string.h>

#include "engine/tensor_element.h"

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
    return tensor_is_float(constant->dtype);
}

float constant_element(const struct graph_constant *constant, size_t at) {
    return constant_is_float(constant) ? (float)tensor_float_at(constant->dtype, constant->bytes, at)
                                       : (float)tensor_integer_at(constant->dtype, constant->bytes, at);
}

void constant_floats(const struct graph_constant *constant, float *out) {
    if (constant->dtype == TENSOR_F32 && constant->elements > 0)
        memcpy(out, constant->bytes, constant->elements * sizeof *out);
    else
        for (size_t i = 0; i < constant->elements; i++)
            out[i] = constant_element(constant, i);
}

bool constant_integers(const struct graph_constant *constant, int64_t *out) {
    if (constant_is_float(constant))
        return false;
    for (size_t i = 0; i < constant->elements; i++)
        out[i] = tensor_integer_at(constant->dtype, constant->bytes, i);
    return true;
}

const struct graph_constant *constant_as_program_type(struct region *region, const struct graph_constant *constant) {
    bool is_float = constant_is_float(constant);
    size_t each = tensor_dtype_bytes(constant->dtype);
    unsigned char *bytes;
    if (!constant->bytes)
        return constant;
    if ((!is_float || constant->dtype == TENSOR_F32) && (uintptr_t)constant->bytes % each == 0)
        return constant;
    struct graph_constant *made =
        constant_make(region, is_float ? TENSOR_F32 : constant->dtype, &constant->shape, &bytes);
    if (!made)
        return NULL;
    if (is_float)
        constant_floats(constant, (float *)(void *)bytes);
    else if (made->elements > 0)
        memcpy(bytes, constant->bytes, made->elements * each);
    return made;
}
