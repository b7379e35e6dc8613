#include "server/codec/v2_tensor.h"

#include <string.h>

static const char *const names[TENSOR_DTYPE_COUNT] = {
    [TENSOR_F32] = "FP32",  [TENSOR_U8] = "UINT8",  [TENSOR_I8] = "INT8",
    [TENSOR_I32] = "INT32", [TENSOR_I64] = "INT64", [TENSOR_BOOL] = "BOOL",
    [TENSOR_F16] = "FP16",  [TENSOR_F64] = "FP64",  [TENSOR_BF16] = "BF16"};

const char *v2_tensor_datatype(enum tensor_dtype dtype) {
    return names[dtype];
}

bool v2_tensor_read_datatype(const char *text, size_t size, enum tensor_dtype *out) {
    for (int i = 0; i < TENSOR_DTYPE_COUNT; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0) {
            *out = (enum tensor_dtype)i;
            return true;
        }
    return false;
}

struct tensor_shape v2_tensor_whole(const struct tensor_spec *spec, const struct job_tensor *tensor, uint32_t rows) {
    struct tensor_shape whole = {.rank = 0};
    for (int i = 0; i < tensor->row.rank || whole.rank == spec->batch_axis;) {
        if (whole.rank == spec->batch_axis)
            whole.dims[whole.rank++] = rows;
        else
            whole.dims[whole.rank++] = tensor->row.dims[i++];
    }
    return whole;
}

static size_t product(const struct tensor_shape *shape, int from, int to) {
    size_t elements = 1;
    for (int i = from; i < to; i++)
        elements *= (size_t)shape->dims[i];
    return elements;
}

bool v2_tensor_is_plain(const struct tensor_spec *spec, const struct tensor_shape *whole) {
    return spec->batch_axis <= 0 || product(whole, 0, spec->batch_axis) == 1 || whole->dims[spec->batch_axis] == 1;
}

void v2_tensor_copy(const struct tensor_spec *spec, const struct tensor_shape *whole, bool to_rows, const void *from,
                    void *to) {
    size_t bytes = tensor_dtype_bytes(spec->dtype);
    if (v2_tensor_is_plain(spec, whole)) {
        memcpy(to, from, product(whole, 0, whole->rank) * bytes);
        return;
    }
    size_t outer = product(whole, 0, spec->batch_axis), rows = (size_t)whole->dims[spec->batch_axis];
    size_t inner = product(whole, spec->batch_axis + 1, whole->rank) * bytes;
    for (size_t o = 0; o < outer; o++)
        for (size_t row = 0; row < rows; row++) {
            size_t in_whole = (o * rows + row) * inner, in_rows = (row * outer + o) * inner;
            memcpy((char *)to + (to_rows ? in_rows : in_whole), (const char *)from + (to_rows ? in_whole : in_rows),
                   inner);
        }
}
