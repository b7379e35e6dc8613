/* Between float32 and 8-bit integers. Rounding is that of kernels/quantized.h. */
#include "kernels/cuda/cuda_block.h"
#include "kernels/cuda/cuda_families.h"

enum { DYNAMIC_THREADS = 1024 };

/* value to the nearest integer (halves to the even one) plus zero, from low to high; NaN gives low. */
static __device__ __forceinline__ int32_t round_to(float value, int32_t zero, float low, float high) {
    float least = low - (float)zero, most = high - (float)zero;
    float clipped = value > least ? value : least;
    clipped = clipped < most ? clipped : most;
    return (int32_t)rintf(clipped) + zero;
}

/* Which scale and zero point an element has: i / inner % length; both 1 where there is one for all. */
struct lists {
    size_t inner, length;
    const float *scale;
    const void *zero; /* NULL: 0 */
};

static __device__ __forceinline__ size_t list_place(const struct lists *lists, size_t i) {
    return i / lists->inner % lists->length;
}

template <class integer>
static __global__ void quantize(const struct lists lists, float low, float high, const float *x, integer *y,
                                size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t at = list_place(&lists, i);
        int32_t zero = lists.zero ? (int32_t)((const integer *)lists.zero)[at] : 0;
        y[i] = (integer)round_to(x[i] / lists.scale[at], zero, low, high);
    }
}

template <class integer>
static __global__ void dequantize(const struct lists lists, const integer *x, float *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t at = list_place(&lists, i);
        int64_t zero = lists.zero ? (int64_t)((const integer *)lists.zero)[at] : 0;
        y[i] = (float)((int64_t)x[i] - zero) * lists.scale[at];
    }
}

/* One block: the scale is that of the whole tensor. scale, zero: NULL where nobody wants them. */
static __global__ void quantize_dynamically(const float *x, uint8_t *y, float *scale_out, uint8_t *zero_out,
                                            size_t count) {
    K_SHARED(float, shared, CUDA_BLOCK_WARPS);
    float least = 0.0f, most = 0.0f;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) { /* NaN is passed over */
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    least = cuda_block_least(least, shared);
    most = cuda_block_greatest(most, shared);
    float scale = least == most ? 1.0f : (most - least) / 255.0f;
    int32_t zero = round_to(-least / scale, 0, 0.0f, 255.0f);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        y[i] = (uint8_t)round_to(x[i] / scale, zero, 0.0f, 255.0f);
    if (threadIdx.x == 0 && scale_out)
        *scale_out = scale;
    if (threadIdx.x == 0 && zero_out)
        *zero_out = (uint8_t)zero;
}

static struct lists lists_of(const struct operation *operation, const struct view *inputs) {
    const struct view *x = &inputs[0];
    bool listed = view_count(&inputs[1]) != 1;
    return {listed ? view_product(x, operation->axis + 1, x->rank) : 1, listed ? x->dims[operation->axis] : 1,
            (const float *)inputs[1].data, inputs[2].data};
}

template <class integer>
static cudaError_t launch_quantize(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs, void *scratch, cudaStream_t stream) {
    const float low = sizeof(integer) == 1 && (integer)-1 > 0 ? 0.0f : -128.0f;
    size_t count = view_count(&inputs[0]);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(quantize<integer>, count, stream, lists_of(operation, inputs), low, low + 255.0f,
                              (const float *)inputs[0].data, (integer *)outputs[0].data, count);
}

template <class integer>
static cudaError_t launch_dequantize(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(&inputs[0]);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(dequantize<integer>, count, stream, lists_of(operation, inputs),
                              (const integer *)inputs[0].data, (float *)outputs[0].data, count);
}

static cudaError_t launch_dynamic(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    (void)operation;
    (void)scratch;
    return CUDA_DEVICE_LAUNCH_ROWS(quantize_dynamically, 1, DYNAMIC_THREADS, stream, (const float *)inputs[0].data,
                                   (uint8_t *)outputs[0].data, (float *)outputs[1].data, (uint8_t *)outputs[2].data,
                                   view_count(&inputs[0]));
}

extern "C" cuda_launcher cuda_quantize_find(const struct operation *operation, const struct view *inputs,
                                            const struct view *outputs) {
    if (operation->kind == OPERATION_DYNAMIC_QUANTIZE)
        return launch_dynamic;
    if (operation->kind == OPERATION_QUANTIZE)
        return outputs[0].element == ELEMENT_U8 ? launch_quantize<uint8_t> : launch_quantize<int8_t>;
    if (operation->kind != OPERATION_DEQUANTIZE)
        return NULL;
    return inputs[0].element == ELEMENT_U8   ? launch_dequantize<uint8_t>
           : inputs[0].element == ELEMENT_I8 ? launch_dequantize<int8_t>
                                             : launch_dequantize<int32_t>;
}
