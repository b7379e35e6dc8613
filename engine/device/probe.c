#include "engine/device/probe.h"

#include <string.h>

#include "kernels/half.h"

void probe_fill(unsigned char *bytes, enum tensor_dtype dtype, size_t elements, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 77u;
    memset(bytes, 0, elements * tensor_dtype_bytes(dtype));
    for (size_t i = 0; i < elements; i++) {
        state = state * 1664525u + 1013904223u;
        float number = (float)(state >> 8) * 0x1p-23f - 1.0f;
        double wide = number;
        uint16_t half = dtype == TENSOR_F16 ? half_from_float(number) : half_bfloat16_from_float(number);
        if (dtype == TENSOR_F32)
            memcpy(bytes + i * sizeof number, &number, sizeof number);
        else if (dtype == TENSOR_F64)
            memcpy(bytes + i * sizeof wide, &wide, sizeof wide);
        else if (dtype == TENSOR_F16 || dtype == TENSOR_BF16)
            memcpy(bytes + i * sizeof half, &half, sizeof half);
        else if (dtype == TENSOR_U8 || dtype == TENSOR_BOOL)
            bytes[i] = (unsigned char)(state >> 31);
    }
}
