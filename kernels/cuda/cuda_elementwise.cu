#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_unary.h"
#include "kernels/cuda/cuda_width.h"

/* float32 to float32; y may be x. The first `fours` times four elements are moved four at a time. */
static __global__ void unary_float(const struct unary unary, const float *x, float *y, size_t fours, size_t count) {
    CUDA_DEVICE_EACH(i, fours) {
        float4 four = ((const float4 *)x)[i];
        four.x = cuda_unary_value(&unary, four.x);
        four.y = cuda_unary_value(&unary, four.y);
        four.z = cuda_unary_value(&unary, four.z);
        four.w = cuda_unary_value(&unary, four.w);
        ((float4 *)y)[i] = four;
    }
    CUDA_DEVICE_EACH(i, count - 4 * fours) {
        size_t at = 4 * fours + i;
        y[at] = cuda_unary_value(&unary, x[at]);
    }
}

static cudaError_t launch_unary_float(const struct unary *unary, const float *x, float *y, size_t count,
                                      cudaStream_t stream) {
    bool is_aligned = (uintptr_t)x % sizeof(float4) == 0 && (uintptr_t)y % sizeof(float4) == 0;
    size_t fours = is_aligned ? count / 4 : 0, threads = fours + (count - 4 * fours);
    return CUDA_DEVICE_LAUNCH(unary_float, threads, stream, *unary, x, y, fours, count);
}

static __global__ void unary_predicate(const struct unary unary, const float *x, uint8_t *y, size_t count) {
    CUDA_DEVICE_EACH(i, count)
    y[i] = cuda_unary_value(&unary, x[i]) != 0.0f;
}

/* low, high: CLIP's bounds, within the integer's range. Negation wraps around. */
template <class integer>
static __global__ void unary_integer(enum unary_kind kind, int64_t low, int64_t high, const integer *x, integer *y,
                                     size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        int64_t value = (int64_t)x[i];
        switch (kind) {
        case UNARY_RELU:
            value = value < 0 ? 0 : value;
            break;
        case UNARY_CLIP:
            value = value < low ? low : value;
            value = value > high ? high : value;
            break;
        case UNARY_NEGATE:
            value = (int64_t)(0 - (uint64_t)value);
            break;
        case UNARY_ABSOLUTE:
            value = value < 0 ? (int64_t)(0 - (uint64_t)value) : value;
            break;
        case UNARY_SIGN:
            value = (value > 0) - (value < 0);
            break;
        case UNARY_NOT:
            value = value == 0;
            break;
        default:
            break;
        }
        y[i] = (integer)value;
    }
}

static cudaError_t launch_unary(const struct operation *operation, const struct view *inputs,
                                const struct view *outputs, void *scratch, cudaStream_t stream) {
    const float *x = (const float *)inputs[0].data;
    size_t count = view_count(outputs);
    (void)scratch;
    if (outputs[0].element == ELEMENT_BOOL)
        return CUDA_DEVICE_LAUNCH(unary_predicate, count, stream, operation->unary, x, (uint8_t *)outputs[0].data,
                                  count);
    return launch_unary_float(&operation->unary, x, (float *)outputs[0].data, count, stream);
}

/* Truncated, and within the integer's range; NaN gives 0. */
template <class integer> static integer bound_of(float bound) {
    const int bits = 8 * (int)sizeof(integer);
    const bool is_signed = (integer)-1 < (integer)0;
    const integer least = is_signed ? (integer)((uint64_t)1 << (bits - 1)) : (integer)0;
    const integer greatest = (integer)(~(uint64_t)0 >> (64 - bits + (is_signed ? 1 : 0)));
    if (bound != bound)
        return 0;
    if ((double)bound <= (double)least)
        return least;
    return (double)bound >= (double)greatest ? greatest : (integer)bound;
}

template <class integer>
static cudaError_t launch_unary_integer(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(unary_integer<integer>, count, stream, operation->unary.kind,
                              (int64_t)bound_of<integer>(operation->unary.a),
                              (int64_t)bound_of<integer>(operation->unary.b), (const integer *)inputs[0].data,
                              (integer *)outputs[0].data, count);
}

static bool suits_integers(enum unary_kind kind) {
    return kind == UNARY_NONE || kind == UNARY_RELU || kind == UNARY_CLIP || kind == UNARY_NEGATE ||
           kind == UNARY_ABSOLUTE || kind == UNARY_SIGN;
}

static cuda_launcher find_unary(enum unary_kind kind, enum element x, enum element y) {
    bool is_predicate = kind == UNARY_IS_NAN || kind == UNARY_IS_INF;
    if (x == ELEMENT_F32)
        return y == (is_predicate ? ELEMENT_BOOL : ELEMENT_F32) && kind != UNARY_NOT ? launch_unary : NULL;
    if (x != y)
        return NULL;
    if (x == ELEMENT_BOOL)
        return kind == UNARY_NOT || kind == UNARY_NONE ? launch_unary_integer<uint8_t> : NULL;
    if (!suits_integers(kind))
        return NULL;
    switch (x) {
    case ELEMENT_U8:
        return launch_unary_integer<uint8_t>;
    case ELEMENT_I8:
        return launch_unary_integer<int8_t>;
    case ELEMENT_I32:
        return launch_unary_integer<int32_t>;
    case ELEMENT_I64:
        return launch_unary_integer<int64_t>;
    default:
        return NULL;
    }
}

template <class unit>
static __global__ void where(const struct broadcast broadcast, const uint8_t *condition, const unit *a, const unit *b,
                             unit *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t places[3] = {0, 0, 0}, rest = i;
        for (int d = broadcast.rank - 1; d >= 0; d--) {
            size_t outer = rest / broadcast.dims[d], at = rest - outer * broadcast.dims[d];
            for (int k = 0; k < 3; k++)
                places[k] += at * broadcast.strides[k][d];
            rest = outer;
        }
        y[i] = condition[places[0]] ? a[places[1]] : b[places[2]];
    }
}

template <class unit>
static cudaError_t launch_where(const struct operation *operation, const struct view *inputs,
                                const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)operation;
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(where<unit>, count, stream, broadcast_over(inputs, 3, outputs),
                              (const uint8_t *)inputs[0].data, (const unit *)inputs[1].data,
                              (const unit *)inputs[2].data, (unit *)outputs[0].data, count);
}

static cudaError_t launch_copy(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                               void *scratch, cudaStream_t stream) {
    size_t bytes = view_count(outputs) * view_element_bytes(outputs->element);
    (void)operation;
    (void)scratch;
    if (bytes == 0 || inputs[0].data == outputs[0].data)
        return cudaSuccess;
    return cudaMemcpyAsync(outputs[0].data, inputs[0].data, bytes, cudaMemcpyDeviceToDevice, stream);
}

extern "C" cuda_launcher cuda_elementwise_find(const struct operation *operation, const struct view *inputs,
                                               const struct view *outputs) {
    if (operation->kind == OPERATION_COPY)
        return launch_copy;
    if (operation->kind == OPERATION_UNARY)
        return find_unary(operation->unary.kind, inputs[0].element, outputs[0].element);
    return operation->kind == OPERATION_WHERE ? CUDA_WIDTH_LAUNCHER(launch_where, outputs[0].element) : NULL;
}

extern "C" cudaError_t cuda_apply(const struct unary *then, float *y, size_t count, cudaStream_t stream) {
    if (then->kind == UNARY_NONE)
        return cudaSuccess;
    return launch_unary_float(then, y, y, count, stream);
}
