#include "server/codec/v2_datatype.h"

#include <string.h>

static const char *const names[TENSOR_DTYPE_COUNT] = {
    [TENSOR_F32] = "FP32",  [TENSOR_U8] = "UINT8",  [TENSOR_I8] = "INT8",
    [TENSOR_I32] = "INT32", [TENSOR_I64] = "INT64", [TENSOR_BOOL] = "BOOL",
    [TENSOR_F16] = "FP16",  [TENSOR_F64] = "FP64",  [TENSOR_BF16] = "BF16"};

const char *v2_datatype_text(enum tensor_dtype dtype) {
    return names[dtype];
}

bool v2_datatype_read(const char *text, size_t size, enum tensor_dtype *out) {
    for (int i = 0; i < TENSOR_DTYPE_COUNT; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0) {
            *out = (enum tensor_dtype)i;
            return true;
        }
    return false;
}
