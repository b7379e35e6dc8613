#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_families.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* The float32 beside the number whose last bit is 1 where the number does not fit: rounding that again to 16 bits gives
 * what rounding the number would have. */
static __device__ __forceinline__ float round_to_odd(double number) {
    float near = (float)number;
    uint32_t bits;
    if (near != near || (double)near == number)
        return near;
    memcpy(&bits, &near, sizeof bits);
    if (fabs((double)near) > fabs(number))
        bits--;
    bits |= 1;
    memcpy(&near, &bits, sizeof near);
    return near;
}

/* What elements are computed as between reading and writing: float, double or int64_t. */
static __device__ __forceinline__ float wide_of(float x) {
    return x;
}
static __device__ __forceinline__ float wide_of(__half x) {
    return __half2float(x);
}
static __device__ __forceinline__ float wide_of(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
static __device__ __forceinline__ double wide_of(double x) {
    return x;
}
template <class integer> static __device__ __forceinline__ int64_t wide_of(integer x) {
    return (int64_t)x;
}

/* The float32 that a 16-bit float is rounded from. */
static __device__ __forceinline__ float float_near(float x) {
    return x;
}
static __device__ __forceinline__ float float_near(double x) {
    return round_to_odd(x);
}
static __device__ __forceinline__ float float_near(int64_t x) {
    return round_to_odd((double)x);
}

static __device__ __forceinline__ int64_t saturate(double x, int64_t least, int64_t greatest) {
    return cuda_device_saturate(x, least, greatest);
}
static __device__ __forceinline__ int64_t saturate(float x, int64_t least, int64_t greatest) {
    return cuda_device_saturate((double)x, least, greatest);
}
/* Integers wrap around when they are stored. */
static __device__ __forceinline__ int64_t saturate(int64_t x, int64_t, int64_t) {
    return x;
}

template <class wide> static __device__ __forceinline__ float rounded(enum element through, wide x) {
    if (through == ELEMENT_F16)
        return __half2float(__float2half_rn((float)x));
    return through == ELEMENT_BF16 ? __bfloat162float(__float2bfloat16_rn((float)x)) : (float)x;
}

/* to: y's element; through: the precision that a float32 is rounded to. */
template <class from>
static __global__ void cast(enum element to, enum element through, const from *x, void *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        auto value = wide_of(x[i]);
        switch (to) {
        case ELEMENT_F32:
            ((float *)y)[i] = rounded(through, value);
            break;
        case ELEMENT_F64:
            ((double *)y)[i] = (double)value;
            break;
        case ELEMENT_F16:
            ((__half *)y)[i] = __float2half_rn(float_near(value));
            break;
        case ELEMENT_BF16:
            ((__nv_bfloat16 *)y)[i] = __float2bfloat16_rn(float_near(value));
            break;
        case ELEMENT_I64:
            ((int64_t *)y)[i] = saturate(value, INT64_MIN, INT64_MAX);
            break;
        case ELEMENT_I32:
            ((int32_t *)y)[i] = (int32_t)saturate(value, INT32_MIN, INT32_MAX);
            break;
        case ELEMENT_I8:
            ((int8_t *)y)[i] = (int8_t)saturate(value, INT8_MIN, INT8_MAX);
            break;
        case ELEMENT_U8:
            ((uint8_t *)y)[i] = (uint8_t)saturate(value, 0, UINT8_MAX);
            break;
        default: /* BOOL */
            ((uint8_t *)y)[i] = value != 0;
            break;
        }
    }
}

template <class from>
static cudaError_t launch_cast(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                               void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(cast<from>, count, stream, outputs[0].element, operation->through,
                              (const from *)inputs[0].data, outputs[0].data, count);
}

extern "C" cuda_launcher cuda_cast_find(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs) {
    (void)outputs;
    if (operation->kind != OPERATION_CAST)
        return NULL;
    switch (inputs[0].element) {
    case ELEMENT_F32:
        return launch_cast<float>;
    case ELEMENT_F64:
        return launch_cast<double>;
    case ELEMENT_F16:
        return launch_cast<__half>;
    case ELEMENT_BF16:
        return launch_cast<__nv_bfloat16>;
    case ELEMENT_I64:
        return launch_cast<int64_t>;
    case ELEMENT_I32:
        return launch_cast<int32_t>;
    case ELEMENT_I8:
        return launch_cast<int8_t>;
    case ELEMENT_U8:
    case ELEMENT_BOOL:
        return launch_cast<uint8_t>;
    default:
        return NULL;
    }
}

extern "C" cudaError_t cuda_to_f16(const float *x, void *y, size_t count, cudaStream_t stream) {
    return CUDA_DEVICE_LAUNCH(cast<float>, count, stream, ELEMENT_F16, ELEMENT_F32, x, y, count);
}

extern "C" cudaError_t cuda_to_bf16(const float *x, void *y, size_t count, cudaStream_t stream) {
    return CUDA_DEVICE_LAUNCH(cast<float>, count, stream, ELEMENT_BF16, ELEMENT_F32, x, y, count);
}
