#include "kernels/cuda/cuda_block.h"
#include "kernels/cuda/cuda_families.h"

/* Threads of the block that has a row; elements of a row that a thread of a single warp holds, and such a row's most.
 */
enum { ROW_THREADS = 256, LANE_ELEMENTS = 4, SHORT_ROW = CUDA_BLOCK_LANES * LANE_ELEMENTS };

/* Dense rows of at most SHORT_ROW elements, a warp for each: read once, and without a barrier. */
static __global__ void softmax_short(const float *x, float *y, size_t rows, size_t length, bool log_of) {
    size_t warps = (size_t)gridDim.x * blockDim.x / CUDA_BLOCK_LANES, lane = threadIdx.x % CUDA_BLOCK_LANES;
    for (size_t row = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / CUDA_BLOCK_LANES; row < rows; row += warps) {
        float values[LANE_ELEMENTS], powers[LANE_ELEMENTS], greatest = -INFINITY, sum = 0.0f;
        for (size_t k = 0; k < LANE_ELEMENTS; k++) {
            size_t i = k * CUDA_BLOCK_LANES + lane;
            values[k] = i < length ? x[row * length + i] : -INFINITY;
            greatest = fmaxf(greatest, values[k]);
        }
        greatest = cuda_block_warp_greatest(greatest);
        for (size_t k = 0; k < LANE_ELEMENTS; k++) {
            powers[k] = expf(values[k] - greatest);
            sum += k * CUDA_BLOCK_LANES + lane < length ? powers[k] : 0.0f;
        }
        sum = cuda_block_warp_sum(sum);
        float inverse = 1.0f / sum, log_sum = logf(sum);
        for (size_t k = 0; k < LANE_ELEMENTS; k++) {
            size_t i = k * CUDA_BLOCK_LANES + lane;
            if (i < length)
                y[row * length + i] = log_of ? (values[k] - greatest) - log_sum : powers[k] * inverse;
        }
    }
}

/* Dense rows of any length, a block for each. */
static __global__ void softmax_rows(const float *x, float *y, size_t rows, size_t length, bool log_of) {
    K_SHARED(float, shared, CUDA_BLOCK_WARPS);
    CUDA_DEVICE_EACH_ROW(row, rows) {
        const float *from = x + row * length;
        float *to = y + row * length;
        float greatest = -INFINITY, sum = 0.0f;
        for (size_t i = threadIdx.x; i < length; i += blockDim.x)
            greatest = fmaxf(greatest, from[i]);
        greatest = cuda_block_greatest(greatest, shared);
        for (size_t i = threadIdx.x; i < length; i += blockDim.x)
            sum += expf(from[i] - greatest);
        sum = cuda_block_sum(sum, shared);
        float inverse = 1.0f / sum, log_sum = logf(sum);
        for (size_t i = threadIdx.x; i < length; i += blockDim.x)
            to[i] = log_of ? (from[i] - greatest) - log_sum : expf(from[i] - greatest) * inverse;
    }
}

/* Lines whose elements lie apart: a thread for each, so that neighbours read neighbours. */
static __global__ void softmax_lines(const struct cuda_lines lines, const float *x, float *y, bool log_of) {
    CUDA_DEVICE_EACH(line, lines.count) {
        size_t start = cuda_lines_start(&lines, line), end = start + lines.length * lines.inner;
        float greatest = -INFINITY, sum = 0.0f;
        for (size_t i = start; i < end; i += lines.inner)
            greatest = fmaxf(greatest, x[i]);
        for (size_t i = start; i < end; i += lines.inner)
            sum += expf(x[i] - greatest);
        float inverse = 1.0f / sum, log_sum = logf(sum);
        for (size_t i = start; i < end; i += lines.inner)
            y[i] = log_of ? (x[i] - greatest) - log_sum : expf(x[i] - greatest) * inverse;
    }
}

/* 1 at the first of the greatest elements, else 0. */
static __global__ void hardmax_lines(const struct cuda_lines lines, const float *x, float *y) {
    CUDA_DEVICE_EACH(line, lines.count) {
        size_t start = cuda_lines_start(&lines, line), end = start + lines.length * lines.inner, best = start;
        for (size_t i = start; i < end; i += lines.inner)
            best = x[i] > x[best] ? i : best;
        for (size_t i = start; i < end; i += lines.inner)
            y[i] = i == best ? 1.0f : 0.0f;
    }
}

static cudaError_t launch_softmax(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct softmax *softmax = &operation->softmax;
    const struct view *view = &inputs[0];
    const float *x = (const float *)view->data;
    float *y = (float *)outputs[0].data;
    struct cuda_lines lines = cuda_lines_of(view, softmax->axis, softmax->flat ? view->rank : softmax->axis + 1);
    (void)scratch;
    if (lines.length == 0 || lines.count == 0)
        return cudaSuccess;
    if (softmax->hard)
        return CUDA_DEVICE_LAUNCH(hardmax_lines, lines.count, stream, lines, x, y);
    if (lines.inner > 1)
        return CUDA_DEVICE_LAUNCH(softmax_lines, lines.count, stream, lines, x, y, softmax->log);
    if (lines.length <= SHORT_ROW)
        return K_LAUNCH(softmax_short, cuda_device_blocks(lines.count, ROW_THREADS / CUDA_BLOCK_LANES), ROW_THREADS, 0,
                        stream, x, y, lines.count, lines.length, softmax->log);
    return CUDA_DEVICE_LAUNCH_ROWS(softmax_rows, lines.count, ROW_THREADS, stream, x, y, lines.count, lines.length,
                                   softmax->log);
}

/* Mean and 1 / sqrt(variance + epsilon) of a row; every thread of the block gets them. */
struct moments {
    float mean, inverse;
};

static __device__ __forceinline__ struct moments measure(const float *x, size_t length, float epsilon, float *shared) {
    struct moments moments;
    float sum = 0.0f, squares = 0.0f;
    for (size_t i = threadIdx.x; i < length; i += blockDim.x)
        sum += x[i];
    moments.mean = cuda_block_sum(sum, shared) / (float)length;
    for (size_t i = threadIdx.x; i < length; i += blockDim.x) {
        float distance = x[i] - moments.mean;
        squares += distance * distance;
    }
    moments.inverse = 1.0f / sqrtf(cuda_block_sum(squares, shared) / (float)length + epsilon);
    return moments;
}

/* bias, means, inverses: NULL where the operation does without. */
struct layer_norm {
    const float *x, *scale, *bias;
    float *y, *means, *inverses;
    size_t rows, length;
    float epsilon;
};

static __global__ void layer_norm_rows(const struct layer_norm norm) {
    K_SHARED(float, shared, CUDA_BLOCK_WARPS);
    CUDA_DEVICE_EACH_ROW(row, norm.rows) {
        const float *x = norm.x + row * norm.length;
        float *y = norm.y + row * norm.length;
        struct moments moments = measure(x, norm.length, norm.epsilon, shared);
        for (size_t i = threadIdx.x; i < norm.length; i += blockDim.x)
            y[i] = (x[i] - moments.mean) * moments.inverse * norm.scale[i] + (norm.bias ? norm.bias[i] : 0.0f);
        if (threadIdx.x == 0 && norm.means)
            norm.means[row] = moments.mean;
        if (threadIdx.x == 0 && norm.inverses)
            norm.inverses[row] = moments.inverse;
    }
}

static cudaError_t launch_layer_norm(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0];
    int axis = operation->norm.axis;
    struct layer_norm norm = {(const float *)x->data,   (const float *)inputs[1].data,  (const float *)inputs[2].data,
                              (float *)outputs[0].data, (float *)outputs[1].data,       (float *)outputs[2].data,
                              view_product(x, 0, axis), view_product(x, axis, x->rank), operation->norm.epsilon};
    (void)scratch;
    return CUDA_DEVICE_LAUNCH_ROWS(layer_norm_rows, norm.length == 0 ? 0 : norm.rows, ROW_THREADS, stream, norm);
}

struct channel_norm {
    const float *x, *scale, *bias, *mean, *variance;
    float *y;
    size_t channels, inner; /* elements of a channel */
    size_t groups;          /* INSTANCE_NORM */
    float epsilon;
};

static __global__ void batch_norm(const struct channel_norm norm, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t c = i / norm.inner % norm.channels;
        float deviation = sqrtf(norm.variance[c] + norm.epsilon);
        norm.y[i] = (norm.x[i] - norm.mean[c]) / deviation * norm.scale[c] + norm.bias[c];
    }
}

/* A block for each image's group of channels, which lie together. */
static __global__ void instance_norm_rows(const struct channel_norm norm, size_t rows) {
    K_SHARED(float, shared, CUDA_BLOCK_WARPS);
    size_t group_channels = norm.channels / norm.groups, length = group_channels * norm.inner;
    CUDA_DEVICE_EACH_ROW(row, rows) {
        const float *x = norm.x + row * length;
        float *y = norm.y + row * length;
        struct moments moments = measure(x, length, norm.epsilon, shared);
        size_t first = row % norm.groups * group_channels;
        for (size_t i = threadIdx.x; i < length; i += blockDim.x) {
            size_t c = first + i / norm.inner;
            y[i] = (x[i] - moments.mean) * moments.inverse * norm.scale[c] + norm.bias[c];
        }
    }
}

static cudaError_t launch_channel_norm(const struct operation *operation, const struct view *inputs,
                                       const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0];
    size_t count = view_count(x), groups = operation->norm.groups;
    struct channel_norm norm = {(const float *)x->data,
                                (const float *)inputs[1].data,
                                (const float *)inputs[2].data,
                                NULL,
                                NULL,
                                (float *)outputs[0].data,
                                x->dims[1],
                                view_product(x, 2, x->rank),
                                groups ? groups : x->dims[1],
                                operation->norm.epsilon};
    (void)scratch;
    if (count == 0)
        return cudaSuccess;
    if (operation->kind == OPERATION_INSTANCE_NORM)
        return CUDA_DEVICE_LAUNCH_ROWS(instance_norm_rows, x->dims[0] * norm.groups, ROW_THREADS, stream, norm,
                                       x->dims[0] * norm.groups);
    norm.mean = (const float *)inputs[3].data;
    norm.variance = (const float *)inputs[4].data;
    return CUDA_DEVICE_LAUNCH(batch_norm, count, stream, norm, count);
}

struct lrn {
    const float *x;
    float *y;
    size_t channels, inner, before, behind; /* channels of the window on both sides */
    float scale, beta, bias;                /* scale: alpha / size */
};

static __global__ void lrn_elements(const struct lrn lrn, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t c = i / lrn.inner % lrn.channels;
        size_t from = c < lrn.before ? 0 : c - lrn.before;
        size_t to = lrn.behind < lrn.channels - 1 - c ? c + lrn.behind : lrn.channels - 1;
        float sum = 0.0f;
        for (size_t k = from; k <= to; k++) {
            float element = lrn.x[i - c * lrn.inner + k * lrn.inner];
            sum += element * element;
        }
        lrn.y[i] = lrn.x[i] / powf(lrn.bias + lrn.scale * sum, lrn.beta);
    }
}

static cudaError_t launch_lrn(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                              void *scratch, cudaStream_t stream) {
    const struct norm *norm = &operation->norm;
    const struct view *x = &inputs[0];
    size_t count = view_count(x), size = (size_t)norm->size, before = (size - 1) / 2;
    struct lrn lrn_shape = {(const float *)x->data,
                            (float *)outputs[0].data,
                            x->dims[1],
                            view_product(x, 2, x->rank),
                            before,
                            size - 1 - before,
                            norm->alpha / (float)size,
                            norm->beta,
                            norm->bias};
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(lrn_elements, count, stream, lrn_shape, count);
}

/* Dense rows; inner is 1. */
static __global__ void lp_norm_rows(const struct cuda_lines lines, const float *x, float *y, bool absolute) {
    K_SHARED(float, shared, CUDA_BLOCK_WARPS);
    CUDA_DEVICE_EACH_ROW(row, lines.count) {
        size_t start = row * lines.length;
        float sum = 0.0f;
        for (size_t i = threadIdx.x; i < lines.length; i += blockDim.x)
            sum += absolute ? fabsf(x[start + i]) : x[start + i] * x[start + i];
        sum = cuda_block_sum(sum, shared);
        float norm = absolute ? sum : sqrtf(sum);
        for (size_t i = threadIdx.x; i < lines.length; i += blockDim.x)
            y[start + i] = norm == 0.0f ? 0.0f : x[start + i] / norm;
    }
}

static __global__ void lp_norm_lines(const struct cuda_lines lines, const float *x, float *y, bool absolute) {
    CUDA_DEVICE_EACH(line, lines.count) {
        size_t start = cuda_lines_start(&lines, line), end = start + lines.length * lines.inner;
        float sum = 0.0f;
        for (size_t i = start; i < end; i += lines.inner)
            sum += absolute ? fabsf(x[i]) : x[i] * x[i];
        float norm = absolute ? sum : sqrtf(sum);
        for (size_t i = start; i < end; i += lines.inner)
            y[i] = norm == 0.0f ? 0.0f : x[i] / norm;
    }
}

static cudaError_t launch_lp_norm(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    const float *x = (const float *)inputs[0].data;
    float *y = (float *)outputs[0].data;
    struct cuda_lines lines = cuda_lines_of(&inputs[0], operation->norm.axis, operation->norm.axis + 1);
    bool absolute = operation->norm.size == 1;
    (void)scratch;
    if (lines.inner == 1)
        return CUDA_DEVICE_LAUNCH_ROWS(lp_norm_rows, lines.count, ROW_THREADS, stream, lines, x, y, absolute);
    return CUDA_DEVICE_LAUNCH(lp_norm_lines, lines.count, stream, lines, x, y, absolute);
}

extern "C" cuda_launcher cuda_norm_find(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs) {
    (void)outputs;
    if (inputs[0].element != ELEMENT_F32)
        return NULL;
    switch (operation->kind) {
    case OPERATION_SOFTMAX:
        return launch_softmax;
    case OPERATION_LAYER_NORM:
        return launch_layer_norm;
    case OPERATION_BATCH_NORM:
    case OPERATION_INSTANCE_NORM:
        return launch_channel_norm;
    case OPERATION_LRN:
        return launch_lrn;
    case OPERATION_LP_NORM:
        return launch_lp_norm;
    default:
        return NULL;
    }
}
