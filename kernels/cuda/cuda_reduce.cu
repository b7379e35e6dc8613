#include "kernels/cuda/cuda_block.h"
#include "kernels/cuda/cuda_families.h"

/* Threads of the block that has a row, and the length from which on one thread is not enough for it. */
enum { ROW_THREADS = 256, LONG_ROW = 64 };

/* Where the elements of a reduction are: `kept` walks the results, `reduced` the elements of one of them. */
struct reduction {
    enum reduce_kind kind;
    struct cuda_walk kept, reduced;
    size_t results, length;
};

/* Sums are taken in double, products too: the memory's speed is the limit, not theirs. */
static __device__ __forceinline__ double start_of(enum reduce_kind kind) {
    return kind == REDUCE_PRODUCT ? 1.0 : kind == REDUCE_MAX ? -INFINITY : kind == REDUCE_MIN ? INFINITY : 0.0;
}

static __device__ __forceinline__ double take(enum reduce_kind kind, double value, float element) {
    double x = (double)element;
    switch (kind) {
    case REDUCE_MAX:
        return cuda_block_greatest_of(value, x);
    case REDUCE_MIN:
        return cuda_block_least_of(value, x);
    case REDUCE_PRODUCT:
        return value * x;
    case REDUCE_L1:
        return value + fabs(x);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return value + x * x;
    default:
        return value + x;
    }
}

static __device__ __forceinline__ float finish(enum reduce_kind kind, double value, size_t length) {
    switch (kind) {
    case REDUCE_MEAN:
        return (float)(value / (double)length);
    case REDUCE_L2:
        return (float)sqrt(value);
    case REDUCE_LOG_SUM:
        return (float)log(value);
    default:
        return (float)value;
    }
}

/* A thread for each result: elements that lie apart, or few of them. */
static __global__ void reduce_each(const struct reduction reduction, const float *x, float *y) {
    CUDA_DEVICE_EACH(i, reduction.results) {
        const float *from = x + cuda_walk_offset(&reduction.kept, i);
        double value = start_of(reduction.kind);
        for (size_t k = 0; k < reduction.length; k++)
            value = take(reduction.kind, value, from[cuda_walk_offset(&reduction.reduced, k)]);
        y[i] = finish(reduction.kind, value, reduction.length);
    }
}

static __device__ __forceinline__ double join(enum reduce_kind kind, double value, double *shared) {
    switch (kind) {
    case REDUCE_MAX:
        return cuda_block_greatest(value, shared);
    case REDUCE_MIN:
        return cuda_block_least(value, shared);
    case REDUCE_PRODUCT:
        return cuda_block_product(value, shared);
    default:
        return cuda_block_sum(value, shared);
    }
}

/* A block for each result. */
static __global__ void reduce_rows(const struct reduction reduction, const float *x, float *y) {
    K_SHARED(double, shared, CUDA_BLOCK_WARPS);
    CUDA_DEVICE_EACH_ROW(row, reduction.results) {
        const float *from = x + cuda_walk_offset(&reduction.kept, row);
        double value = start_of(reduction.kind);
        for (size_t k = threadIdx.x; k < reduction.length; k += blockDim.x)
            value = take(reduction.kind, value, from[cuda_walk_offset(&reduction.reduced, k)]);
        value = join(reduction.kind, value, shared);
        if (threadIdx.x == 0)
            y[row] = finish(reduction.kind, value, reduction.length);
    }
}

/* log of the sum of exponentials, taken of the distance to the greatest, so that none overflows. */
static __global__ void log_sum_exp_each(const struct reduction reduction, const float *x, float *y) {
    CUDA_DEVICE_EACH(i, reduction.results) {
        const float *from = x + cuda_walk_offset(&reduction.kept, i);
        double greatest = -INFINITY, sum = 0.0;
        for (size_t k = 0; k < reduction.length; k++)
            greatest = fmax(greatest, (double)from[cuda_walk_offset(&reduction.reduced, k)]);
        double origin = fabs(greatest) < INFINITY ? greatest : 0.0;
        for (size_t k = 0; k < reduction.length; k++)
            sum += exp((double)from[cuda_walk_offset(&reduction.reduced, k)] - origin);
        y[i] = (float)(origin + log(sum));
    }
}

/* Cut to a whole number that fits; NaN gives the least. */
static __device__ __forceinline__ int64_t truncated(double value) {
    return !(value > -0x1p63) ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

/* One more element; sums and products wrap around. */
static __device__ __forceinline__ int64_t take(enum reduce_kind kind, int64_t value, int64_t element) {
    uint64_t x = (uint64_t)element;
    switch (kind) {
    case REDUCE_MAX:
        return element > value ? element : value;
    case REDUCE_MIN:
        return element < value ? element : value;
    case REDUCE_PRODUCT:
        return (int64_t)((uint64_t)value * x);
    case REDUCE_L1:
        return (int64_t)((uint64_t)value + (element < 0 ? 0 - x : x));
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return (int64_t)((uint64_t)value + x * x);
    default:
        return (int64_t)((uint64_t)value + x);
    }
}

static __device__ __forceinline__ int64_t finish(enum reduce_kind kind, int64_t value, int64_t length) {
    switch (kind) {
    case REDUCE_MEAN:
        return length > 0 ? value / length : 0;
    case REDUCE_L2:
        return truncated(sqrt((double)(uint64_t)value));
    case REDUCE_LOG_SUM:
        return truncated(log((double)value));
    default:
        return value;
    }
}

/* A thread for each result. least, greatest: of the element. */
template <class integer>
static __global__ void reduce_integers(const struct reduction reduction, int64_t least, int64_t greatest,
                                       const integer *x, integer *y) {
    enum reduce_kind kind = reduction.kind;
    CUDA_DEVICE_EACH(i, reduction.results) {
        const integer *from = x + cuda_walk_offset(&reduction.kept, i);
        int64_t value = kind == REDUCE_MAX ? least : kind == REDUCE_MIN ? greatest : kind == REDUCE_PRODUCT ? 1 : 0;
        double exponentials = 0.0;
        for (size_t k = 0; k < reduction.length; k++) {
            int64_t element = (int64_t)from[cuda_walk_offset(&reduction.reduced, k)];
            if (kind == REDUCE_LOG_SUM_EXP)
                exponentials += exp((double)element);
            else
                value = take(kind, value, element);
        }
        y[i] = (integer)(kind == REDUCE_LOG_SUM_EXP ? truncated(log(exponentials))
                                                    : finish(kind, value, (int64_t)reduction.length));
    }
}

static struct reduction reduction_of(const struct operation *operation, const struct view *x) {
    struct reduction reduction = {};
    reduction.kind = operation->reduce.kind;
    for (int d = 0; d < x->rank; d++)
        cuda_walk_add(operation->reduce.axes >> d & 1 ? &reduction.reduced : &reduction.kept, x->dims[d],
                      (long long)view_product(x, d + 1, x->rank));
    reduction.results = cuda_walk_count(&reduction.kept);
    reduction.length = cuda_walk_count(&reduction.reduced);
    return reduction;
}

/* The choice looks at a result's own elements alone, never at how many results there are. */
static bool wants_rows(const struct reduction *reduction) {
    int last = reduction->reduced.rank - 1;
    return reduction->length >= LONG_ROW && reduction->reduced.strides[last] == 1;
}

static cudaError_t launch_reduce(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    struct reduction reduction = reduction_of(operation, &inputs[0]);
    const float *x = (const float *)inputs[0].data;
    float *y = (float *)outputs[0].data;
    (void)scratch;
    if (reduction.kind == REDUCE_LOG_SUM_EXP)
        return CUDA_DEVICE_LAUNCH(log_sum_exp_each, reduction.results, stream, reduction, x, y);
    if (wants_rows(&reduction))
        return CUDA_DEVICE_LAUNCH_ROWS(reduce_rows, reduction.results, ROW_THREADS, stream, reduction, x, y);
    return CUDA_DEVICE_LAUNCH(reduce_each, reduction.results, stream, reduction, x, y);
}

template <class integer>
static cudaError_t launch_reduce_integers(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs, void *scratch, cudaStream_t stream) {
    struct reduction reduction = reduction_of(operation, &inputs[0]);
    const bool is_signed = (integer)-1 < (integer)1;
    const int bits = (int)sizeof(integer) * 8 - is_signed;
    const int64_t greatest = (int64_t)(UINT64_MAX >> (64 - bits));
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(reduce_integers<integer>, reduction.results, stream, reduction,
                              is_signed ? -greatest - 1 : 0, greatest, (const integer *)inputs[0].data,
                              (integer *)outputs[0].data);
}

static cuda_launcher find_reduce(enum element element) {
    switch (element) {
    case ELEMENT_F32:
        return launch_reduce;
    case ELEMENT_I64:
        return launch_reduce_integers<int64_t>;
    case ELEMENT_I32:
        return launch_reduce_integers<int32_t>;
    case ELEMENT_I8:
        return launch_reduce_integers<int8_t>;
    case ELEMENT_U8:
        return launch_reduce_integers<uint8_t>;
    default:
        return NULL;
    }
}

/* Of two places of a line the one that ARG gives: NaN is before every number, the first NaN before the others, and of
 * equal numbers the first (or the last). A place is SIZE_MAX where there is none yet. */
template <class number> struct candidate {
    number value;
    size_t place;
};

template <class number>
static __device__ __forceinline__ bool is_before(const struct arg *arg, struct candidate<number> a,
                                                 struct candidate<number> b) {
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a.place == SIZE_MAX || b.place == SIZE_MAX)
        return b.place == SIZE_MAX;
    if (a_nan || b_nan)
        return a_nan && (!b_nan || a.place < b.place);
    if (a.value == b.value)
        return arg->last ? a.place > b.place : a.place < b.place;
    return arg->min ? a.value < b.value : a.value > b.value;
}

template <class number>
static __global__ void arg_lines(const struct arg arg, const struct cuda_lines lines, const number *x, int64_t *y) {
    CUDA_DEVICE_EACH(line, lines.count) {
        const number *from = x + cuda_lines_start(&lines, line);
        struct candidate<number> best = {
            from[0], 0
        };
        for (size_t i = 1; i < lines.length; i++) {
            struct candidate<number> next = {
                from[i * lines.inner], i
            };
            best = is_before(&arg, next, best) ? next : best;
        }
        y[line] = (int64_t)best.place;
    }
}

/* Dense lines, a block for each. */
template <class number>
static __global__ void arg_rows(const struct arg arg, const struct cuda_lines lines, const number *x, int64_t *y) {
    K_SHARED(number, values, CUDA_BLOCK_WARPS);
    K_SHARED(size_t, places, CUDA_BLOCK_WARPS);
    CUDA_DEVICE_EACH_ROW(row, lines.count) {
        const number *from = x + row * lines.length;
        struct candidate<number> best = {
            0, SIZE_MAX
        };
        for (size_t i = threadIdx.x; i < lines.length; i += blockDim.x) {
            struct candidate<number> next = {
                from[i], i
            };
            best = is_before(&arg, next, best) ? next : best;
        }
        for (int offset = CUDA_BLOCK_LANES / 2; offset > 0; offset >>= 1) {
            struct candidate<number> other;
            other.value = __shfl_xor_sync(0xffffffffu, best.value, offset);
            other.place = (size_t)__shfl_xor_sync(0xffffffffu, (unsigned long long)best.place, offset);
            best = is_before(&arg, other, best) ? other : best;
        }
        if (threadIdx.x % CUDA_BLOCK_LANES == 0) {
            values[threadIdx.x / CUDA_BLOCK_LANES] = best.value;
            places[threadIdx.x / CUDA_BLOCK_LANES] = best.place;
        }
        __syncthreads();
        for (unsigned warp = 0; threadIdx.x == 0 && warp < blockDim.x / CUDA_BLOCK_LANES; warp++) {
            struct candidate<number> other = {
                values[warp], places[warp]
            };
            best = is_before(&arg, other, best) ? other : best;
        }
        if (threadIdx.x == 0)
            y[row] = (int64_t)best.place;
        __syncthreads();
    }
}

template <class number>
static cudaError_t launch_arg(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                              void *scratch, cudaStream_t stream) {
    const struct arg *arg = &operation->arg;
    const number *x = (const number *)inputs[0].data;
    int64_t *y = (int64_t *)outputs[0].data;
    struct cuda_lines lines = cuda_lines_of(&inputs[0], arg->axis, arg->axis + 1);
    (void)scratch;
    if (lines.length == 0)
        return cudaSuccess;
    if (lines.inner == 1 && lines.length >= LONG_ROW)
        return CUDA_DEVICE_LAUNCH_ROWS(arg_rows<number>, lines.count, ROW_THREADS, stream, *arg, lines, x, y);
    return CUDA_DEVICE_LAUNCH(arg_lines<number>, lines.count, stream, *arg, lines, x, y);
}

/* A thread for each line. Sums of floats are taken in double, those of integers wrap around. */
template <class number, class wide>
static __global__ void cumsum_lines(const struct cumsum cumsum, const struct cuda_lines lines, const number *x,
                                    number *y) {
    CUDA_DEVICE_EACH(line, lines.count) {
        size_t start = cuda_lines_start(&lines, line);
        wide sum = 0;
        for (size_t i = 0; i < lines.length; i++) {
            size_t at = start + (cumsum.reverse ? lines.length - 1 - i : i) * lines.inner;
            wide before = sum;
            sum += (wide)x[at];
            y[at] = (number)(cumsum.exclusive ? before : sum);
        }
    }
}

template <class number, class wide>
static cudaError_t launch_cumsum(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct cumsum *cumsum = &operation->cumsum;
    struct cuda_lines lines = cuda_lines_of(&inputs[0], cumsum->axis, cumsum->axis + 1);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH((cumsum_lines<number, wide>), lines.count, stream, *cumsum, lines,
                              (const number *)inputs[0].data, (number *)outputs[0].data);
}

extern "C" cuda_launcher cuda_reduce_find(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs) {
    enum element element = inputs[0].element;
    (void)outputs;
    if (operation->kind == OPERATION_REDUCE)
        return find_reduce(element);
    if (operation->kind == OPERATION_ARG)
        return element == ELEMENT_F32   ? launch_arg<float>
               : element == ELEMENT_I64 ? launch_arg<int64_t>
               : element == ELEMENT_I32 ? launch_arg<int32_t>
                                        : NULL;
    if (operation->kind == OPERATION_CUMSUM)
        return element == ELEMENT_F32   ? launch_cumsum<float, double>
               : element == ELEMENT_I64 ? launch_cumsum<int64_t, uint64_t>
               : element == ELEMENT_I32 ? launch_cumsum<int32_t, uint32_t>
                                        : NULL;
    return NULL;
}
