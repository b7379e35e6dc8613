#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_width.h"

/* Rounded: a product that the compiler must not fuse with a sum behind it, lest a coordinate fall on the other side of
 * a whole number than on the CPU. */
static __device__ __forceinline__ float product(float a, float b) {
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

struct resize_shape {
    struct resize resize;
    int rank;
    size_t x_dims[VIEW_MAX_RANK], y_dims[VIEW_MAX_RANK];
};

/* The place in x of place `at` of y, along dimension d. */
static __device__ __forceinline__ float coordinate_of(const struct resize_shape *shape, int d, size_t at) {
    const struct resize *resize = &shape->resize;
    size_t x_size = shape->x_dims[d], y_size = shape->y_dims[d];
    float scale = resize->scales[d], place = (float)at, last = (float)x_size - 1.0f, y_last = (float)y_size - 1.0f;
    float start, end, adjustment;
    if (scale == 1.0f && x_size == y_size && resize->coordinates != RESIZE_TF_CROP)
        return place;
    switch (resize->coordinates) {
    case RESIZE_PYTORCH_HALF_PIXEL:
        return y_size > 1 ? (place + 0.5f) / scale - 0.5f : 0.0f;
    case RESIZE_ALIGN_CORNERS:
        return y_size > 1 ? product(place, last) / y_last : 0.0f;
    case RESIZE_ASYMMETRIC:
        return place / scale;
    case RESIZE_TF_HALF_PIXEL_FOR_NN:
        return (place + 0.5f) / scale;
    case RESIZE_TF_CROP:
        start = resize->roi_start[d];
        end = resize->roi_end[d];
        return y_size > 1 ? product(start, last) + product(product(place, end - start), last) / y_last
                          : product(product(0.5f, start + end), last);
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        adjustment = (float)y_size / product(scale, (float)x_size);
        return product((float)x_size / 2.0f, 1.0f - adjustment) + (place + 0.5f) / scale - 0.5f;
    default:
        return (place + 0.5f) / scale - 0.5f;
    }
}

static __device__ __forceinline__ size_t nearest_of(enum resize_rounding rounding, float coordinate, size_t size) {
    float place;
    if (rounding == RESIZE_FLOOR)
        place = floorf(coordinate);
    else if (rounding == RESIZE_CEIL)
        place = ceilf(coordinate);
    else if (rounding == RESIZE_PREFER_CEIL)
        place = floorf(coordinate + 0.5f);
    else
        place = ceilf(coordinate - 0.5f);
    if (!(place > 0.0f))
        return 0;
    return place < (float)size ? (size_t)place : size - 1;
}

/* Any element; outside x (TF_CROP) a float32 is the extrapolation value. */
template <class unit>
static __global__ void resize_nearest(const struct resize_shape shape, bool extrapolates, const unit *x, unit *y,
                                      size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t from = 0, stride = 1, rest = i;
        bool outside = false;
        for (int d = shape.rank - 1; d >= 0; d--) {
            size_t outer = rest / shape.y_dims[d], size = shape.x_dims[d];
            float coordinate = coordinate_of(&shape, d, rest - outer * shape.y_dims[d]);
            outside = outside || coordinate < 0.0f || coordinate > (float)size - 1.0f;
            from += nearest_of(shape.resize.rounding, coordinate, size) * stride;
            stride *= size;
            rest = outer;
        }
        if (outside && extrapolates)
            memcpy(&y[i], &shape.resize.extrapolation, sizeof(unit));
        else
            y[i] = x[from];
    }
}

/* The two neighbours along a dimension where the place lies between: offsets in x, and the second one's weight. */
struct between {
    size_t low, high;
    float weight;
};

static __device__ __forceinline__ size_t clamped(float place, size_t size) {
    if (!(place > 0.0f))
        return 0;
    return place > (float)size - 1.0f ? size - 1 : (size_t)place;
}

/* The weighted sum over the corners around a place, from the first dimension's low neighbour on. */
static __device__ __forceinline__ float blend(const float *x, const struct between *between, int count) {
    float sum = 0.0f;
    for (unsigned corner = 0; corner < 1u << count; corner++) {
        float weight = 1.0f;
        size_t from = 0;
        for (int k = 0; k < count; k++) {
            bool high = corner >> k & 1;
            weight *= high ? between[k].weight : 1.0f - between[k].weight;
            from += high ? between[k].high : between[k].low;
        }
        sum += weight * x[from];
    }
    return sum;
}

static __global__ void resize_linear(const struct resize_shape shape, bool extrapolates, const float *x, float *y,
                                     size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        struct between between[VIEW_MAX_RANK];
        size_t from = 0, stride = 1, rest = i;
        int dims = 0;
        bool outside = false;
        for (int d = shape.rank - 1; d >= 0; d--) {
            size_t outer = rest / shape.y_dims[d], size = shape.x_dims[d];
            float coordinate = coordinate_of(&shape, d, rest - outer * shape.y_dims[d]), left = floorf(coordinate);
            size_t low = clamped(left, size) * stride, high = clamped(left + 1.0f, size) * stride;
            outside = outside || coordinate < 0.0f || coordinate > (float)size - 1.0f;
            if (coordinate == left)
                from += low;
            else
                between[dims++] = {low, high, coordinate - left};
            stride *= size;
            rest = outer;
        }
        y[i] = outside && extrapolates ? shape.resize.extrapolation : blend(x + from, between, dims);
    }
}

static __device__ __forceinline__ float cubic(float a, float distance) {
    float d = fabsf(distance);
    if (d <= 1.0f)
        return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f;
    return d < 2.0f ? ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a : 0.0f;
}

enum { TAPS = 4 };

/* The four neighbours along a dimension: offsets in x, and their weights. Those outside of x count as its edge, or not
 * at all. A place that is an element's has that one neighbour. */
struct neighbours {
    int count;
    size_t at[TAPS];
    float weights[TAPS];
};

static __device__ __forceinline__ struct neighbours neighbours_of(const struct resize *resize, float coordinate,
                                                                  size_t size, size_t stride) {
    struct neighbours found;
    float left = floorf(coordinate), last = (float)size - 1.0f, sum = 0.0f;
    found.count = 0;
    for (int k = -1; k <= 2; k++) {
        float place = left + (float)k, weight = cubic(resize->cubic_a, place - coordinate);
        if (weight == 0.0f || (resize->exclude_outside && (place < 0.0f || place > last)))
            continue;
        found.at[found.count] = clamped(place, size) * stride;
        found.weights[found.count++] = weight;
        sum += weight;
    }
    if (found.count == 0) {
        found.at[found.count] = clamped(left, size) * stride;
        found.weights[found.count++] = sum = 1.0f;
    }
    for (int k = 0; resize->exclude_outside && k < found.count; k++)
        found.weights[k] /= sum;
    return found;
}

/* The weighted sum over all combinations of neighbours. */
static __device__ __forceinline__ float sum_of(const float *x, const struct neighbours *neighbours, int dims) {
    int chosen[VIEW_MAX_RANK] = {0};
    float sum = 0.0f;
    for (int d = 0; d < dims || dims == 0;) {
        float weight = 1.0f;
        size_t from = 0;
        for (int k = 0; k < dims; k++) {
            weight *= neighbours[k].weights[chosen[k]];
            from += neighbours[k].at[chosen[k]];
        }
        sum += weight * x[from];
        for (d = 0; d < dims && ++chosen[d] == neighbours[d].count; d++)
            chosen[d] = 0;
        if (d == dims)
            break;
    }
    return sum;
}

static __global__ void resize_cubic(const struct resize_shape shape, bool extrapolates, const float *x, float *y,
                                    size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        struct neighbours neighbours[VIEW_MAX_RANK];
        size_t stride = 1, rest = i;
        bool outside = false;
        for (int d = shape.rank - 1; d >= 0; d--) {
            size_t outer = rest / shape.y_dims[d], size = shape.x_dims[d];
            float coordinate = coordinate_of(&shape, d, rest - outer * shape.y_dims[d]);
            outside = outside || coordinate < 0.0f || coordinate > (float)size - 1.0f;
            neighbours[d] = neighbours_of(&shape.resize, coordinate, size, stride);
            stride *= size;
            rest = outer;
        }
        y[i] = outside && extrapolates ? shape.resize.extrapolation : sum_of(x, neighbours, shape.rank);
    }
}

static struct resize_shape shape_of(const struct operation *operation, const struct view *x, const struct view *y) {
    struct resize_shape shape = {};
    shape.resize = operation->resize;
    shape.rank = y->rank;
    for (int d = 0; d < y->rank; d++) {
        shape.x_dims[d] = x->dims[d];
        shape.y_dims[d] = y->dims[d];
    }
    return shape;
}

static bool extrapolates(const struct operation *operation, const struct view *y) {
    return operation->resize.coordinates == RESIZE_TF_CROP && y->element == ELEMENT_F32;
}

template <class unit>
static cudaError_t launch_nearest(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(resize_nearest<unit>, count, stream, shape_of(operation, inputs, outputs),
                              extrapolates(operation, outputs), (const unit *)inputs[0].data, (unit *)outputs[0].data,
                              count);
}

static cudaError_t launch_blend(const struct operation *operation, const struct view *inputs,
                                const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    if (operation->resize.mode == RESIZE_CUBIC)
        return CUDA_DEVICE_LAUNCH(resize_cubic, count, stream, shape_of(operation, inputs, outputs),
                                  extrapolates(operation, outputs), (const float *)inputs[0].data,
                                  (float *)outputs[0].data, count);
    return CUDA_DEVICE_LAUNCH(resize_linear, count, stream, shape_of(operation, inputs, outputs),
                              extrapolates(operation, outputs), (const float *)inputs[0].data, (float *)outputs[0].data,
                              count);
}

extern "C" cuda_launcher cuda_resize_find(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs) {
    if (operation->kind != OPERATION_RESIZE)
        return NULL;
    if (operation->resize.mode == RESIZE_NEAREST)
        return CUDA_WIDTH_LAUNCHER(launch_nearest, outputs[0].element);
    return inputs[0].element == ELEMENT_F32 ? launch_blend : NULL;
}
