/* TOPK and EINSUM: rarely the bulk of a network, so each is the plainest kernel that is not slow. */
#include "kernels/cuda/cuda_block.h"
#include "kernels/cuda/cuda_families.h"

enum { LINE_THREADS = 128 };

/* An element of a line. place is SIZE_MAX where there is none. */
template <class number> struct ranked {
    number value;
    size_t place;
};

/* Does a come before b in the result? NaN is greater than every number; of equal ones the first comes first. */
template <class number>
static __device__ __forceinline__ bool precedes(bool largest, struct ranked<number> a, struct ranked<number> b) {
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a.place == SIZE_MAX || b.place == SIZE_MAX)
        return b.place == SIZE_MAX && a.place != SIZE_MAX;
    if (a_nan || b_nan) {
        if (a_nan != b_nan)
            return a_nan == largest;
        return a.place < b.place;
    }
    if (a.value == b.value)
        return a.place < b.place;
    return largest ? a.value > b.value : a.value < b.value;
}

/* The first of the block's candidates; every thread gets it. */
template <class number>
static __device__ __forceinline__ struct ranked<number> first_of(bool largest, struct ranked<number> best,
                                                                 number *values, size_t *places) {
    for (int offset = CUDA_BLOCK_LANES / 2; offset > 0; offset >>= 1) {
        struct ranked<number> other;
        other.value = __shfl_xor_sync(0xffffffffu, best.value, offset);
        other.place = (size_t)__shfl_xor_sync(0xffffffffu, (unsigned long long)best.place, offset);
        best = precedes(largest, other, best) ? other : best;
    }
    __syncthreads(); /* the last ones have been read */
    if (threadIdx.x % CUDA_BLOCK_LANES == 0) {
        values[threadIdx.x / CUDA_BLOCK_LANES] = best.value;
        places[threadIdx.x / CUDA_BLOCK_LANES] = best.place;
    }
    __syncthreads();
    best.value = values[0];
    best.place = places[0];
    for (unsigned warp = 1; warp < blockDim.x / CUDA_BLOCK_LANES; warp++) {
        struct ranked<number> other;
        other.value = values[warp];
        other.place = places[warp];
        best = precedes(largest, other, best) ? other : best;
    }
    return best;
}

/* A block for each line finds its elements one after the other. y and indices may be NULL. */
template <class number>
static __global__ void topk_lines(bool largest, size_t k, const struct cuda_lines lines, const number *x, number *y,
                                  int64_t *indices) {
    K_SHARED(number, values, CUDA_BLOCK_WARPS);
    K_SHARED(size_t, places, CUDA_BLOCK_WARPS);
    CUDA_DEVICE_EACH_ROW(line, lines.count) {
        const number *from = x + cuda_lines_start(&lines, line);
        size_t outer = line / lines.inner, to = outer * k * lines.inner + (line - outer * lines.inner);
        struct ranked<number> last;
        last.value = 0;
        last.place = SIZE_MAX;
        for (size_t i = 0; i < k; i++) {
            struct ranked<number> best, next;
            best.value = 0;
            best.place = SIZE_MAX;
            for (size_t at = threadIdx.x; at < lines.length; at += blockDim.x) {
                next.value = from[at * lines.inner];
                next.place = at;
                if ((i == 0 || precedes(largest, last, next)) && precedes(largest, next, best))
                    best = next;
            }
            last = first_of(largest, best, values, places);
            if (threadIdx.x == 0 && y)
                y[to + i * lines.inner] = last.value;
            if (threadIdx.x == 0 && indices)
                indices[to + i * lines.inner] = (int64_t)last.place;
        }
    }
}

template <class number>
static cudaError_t launch_topk(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                               void *scratch, cudaStream_t stream) {
    int axis = operation->topk.axis;
    struct cuda_lines lines = cuda_lines_of(&inputs[0], axis, axis + 1);
    size_t k = (outputs[0].data ? &outputs[0] : &outputs[1])->dims[axis];
    (void)scratch;
    return CUDA_DEVICE_LAUNCH_ROWS(topk_lines<number>, k > 0 ? lines.count : 0, LINE_THREADS, stream,
                                   operation->topk.largest, k, lines, (const number *)inputs[0].data,
                                   (number *)outputs[0].data, (int64_t *)outputs[1].data);
}

/* Loops over all labels: those of the output first, then the summed ones. */
struct sum_shape {
    int terms, kept, labels;
    size_t sizes[OPERATION_MAX_LABELS];
    size_t steps[OPERATION_MAX_TERMS][OPERATION_MAX_LABELS]; /* twice in a term: the sum, which is the diagonal */
    const float *inputs[OPERATION_MAX_TERMS];
    size_t summed; /* elements of one sum */
};

/* A thread for each element of y. */
static __global__ void einsum_each(const struct sum_shape shape, float *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        double sum = 0.0;
        for (size_t k = 0; k < shape.summed; k++) {
            double value = 1.0;
            for (int term = 0; term < shape.terms; term++) {
                size_t place = 0, rest = k;
                for (int label = shape.labels - 1; label >= 0; label--) {
                    rest = label == shape.kept - 1 ? i : rest;
                    place += rest % shape.sizes[label] * shape.steps[term][label];
                    rest /= shape.sizes[label];
                }
                value *= (double)shape.inputs[term][place];
            }
            sum += value;
        }
        y[i] = (float)sum;
    }
}

static void add_label(const struct einsum *einsum, const struct view *inputs, int label, struct sum_shape *shape) {
    size_t size = 1;
    for (int term = 0; term < einsum->term_count; term++) {
        size_t step = 1;
        for (int d = inputs[term].rank - 1; d >= 0; d--) {
            if (einsum->inputs[term][d] == label && inputs[term].dims[d] != 1) {
                size = inputs[term].dims[d];
                shape->steps[term][shape->labels] += step;
            }
            step *= inputs[term].dims[d];
        }
    }
    shape->sizes[shape->labels++] = size;
}

static cudaError_t launch_einsum(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct einsum *einsum = &operation->einsum;
    struct sum_shape shape = {};
    unsigned placed = 0;
    size_t count = view_count(outputs);
    (void)scratch;
    shape.terms = einsum->term_count;
    for (int term = 0; term < einsum->term_count; term++)
        shape.inputs[term] = (const float *)inputs[term].data;
    for (int d = 0; d < outputs[0].rank; d++) {
        add_label(einsum, inputs, einsum->output[d], &shape);
        placed |= 1u << einsum->output[d];
    }
    shape.kept = shape.labels;
    shape.summed = 1;
    for (int label = 0; label < einsum->label_count; label++)
        if (!(placed >> label & 1)) {
            add_label(einsum, inputs, label, &shape);
            shape.summed *= shape.sizes[shape.labels - 1];
        }
    return CUDA_DEVICE_LAUNCH(einsum_each, count, stream, shape, (float *)outputs[0].data, count);
}

extern "C" cuda_launcher cuda_choice_find(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs) {
    enum element element = inputs[0].element;
    (void)outputs;
    if (operation->kind == OPERATION_EINSUM)
        return element == ELEMENT_F32 ? launch_einsum : NULL;
    if (operation->kind != OPERATION_TOPK)
        return NULL;
    return element == ELEMENT_F32   ? launch_topk<float>
           : element == ELEMENT_I64 ? launch_topk<int64_t>
           : element == ELEMENT_I32 ? launch_topk<int32_t>
                                    : NULL;
}
