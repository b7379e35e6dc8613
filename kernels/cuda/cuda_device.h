/* What the sources of the CUDA kernels share: the includes, the grid of a kernel over elements, and places in strided
 * memory. */
#ifndef WEIR_KERNELS_CUDA_CUDA_DEVICE_H
#define WEIR_KERNELS_CUDA_CUDA_DEVICE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "kernels/broadcast.h"
#include "kernels/operation.h"
#include "kernels/slide.h"
#include "kernels/view.h"
}

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"

/* Threads of a block in kernels over elements; MOST_BLOCKS of them fill the largest device twice over. */
enum { CUDA_DEVICE_THREADS = 256, CUDA_DEVICE_MOST_BLOCKS = 2112 };

/* A function that is better not inlined: long and seldom taken. */
#ifdef __CUDACC__
#define CUDA_DEVICE_RARE static __device__ __noinline__
#else
#define CUDA_DEVICE_RARE static
#endif

/* Blocks of a kernel that goes through `count` elements (or rows, one a block) with a stride of the whole grid. */
static inline unsigned cuda_device_blocks(size_t count, size_t each) {
    size_t blocks = (count + each - 1) / each;
    return blocks < CUDA_DEVICE_MOST_BLOCKS ? (unsigned)blocks : (unsigned)CUDA_DEVICE_MOST_BLOCKS;
}

/* The loop of a thread over its share of `count` elements. */
#define CUDA_DEVICE_EACH(i, count)                                                                                     \
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count); i += (size_t)gridDim.x * blockDim.x)

/* The loop of a block over its share of `count` rows. */
#define CUDA_DEVICE_EACH_ROW(row, count) for (size_t row = blockIdx.x; row < (count); row += gridDim.x)

/* Launches a kernel without barriers over `count` elements; nothing at all if there are none. */
#define CUDA_DEVICE_LAUNCH(kernel, count, stream, ...)                                                                 \
    ((count) == 0 ? cudaSuccess                                                                                        \
                  : K_LAUNCH_FLAT(kernel, cuda_device_blocks(count, CUDA_DEVICE_THREADS), CUDA_DEVICE_THREADS, stream, \
                                  __VA_ARGS__))

/* Likewise one with barriers, a block of `threads` for each of `count` rows. */
#define CUDA_DEVICE_LAUNCH_ROWS(kernel, count, threads, stream, ...)                                                   \
    ((count) == 0 ? cudaSuccess : K_LAUNCH(kernel, cuda_device_blocks(count, 1), threads, 0, stream, __VA_ARGS__))

/* Elements of a dense index space, somewhere else in memory; strides count elements and may be 0 or negative. */
struct cuda_walk {
    int rank; /* 0: one element */
    size_t dims[VIEW_MAX_RANK];
    long long strides[VIEW_MAX_RANK];
};

/* Appends a dimension; it merges with the one before where both lie in one line, and one of size 1 is left out. */
static inline void cuda_walk_add(struct cuda_walk *walk, size_t dim, long long stride) {
    int last = walk->rank - 1;
    if (dim == 1)
        return;
    if (last >= 0 && walk->strides[last] == stride * (long long)dim) {
        walk->dims[last] *= dim;
        walk->strides[last] = stride;
        return;
    }
    walk->dims[walk->rank] = dim;
    walk->strides[walk->rank++] = stride;
}

static inline size_t cuda_walk_count(const struct cuda_walk *walk) {
    size_t count = 1;
    for (int d = 0; d < walk->rank; d++)
        count *= walk->dims[d];
    return count;
}

static __device__ __forceinline__ long long cuda_walk_offset(const struct cuda_walk *walk, size_t index) {
    long long offset = 0;
    if (walk->rank == 0)
        return 0;
    for (int d = walk->rank - 1; d > 0; d--) {
        size_t rest = index / walk->dims[d];
        offset += (long long)(index - rest * walk->dims[d]) * walk->strides[d];
        index = rest;
    }
    return offset + (long long)index * walk->strides[0];
}

/* Truncates; what does not fit becomes the least or greatest, NaN becomes 0. */
static __device__ __forceinline__ int64_t cuda_device_saturate(double x, int64_t least, int64_t greatest) {
    if (x != x)
        return 0;
    if (x <= (double)least)
        return least;
    return x >= (double)greatest ? greatest : (int64_t)x;
}

/* A line is what remains of a view when one dimension (or a run of them) is taken out: `length` elements, `inner`
 * apart. */
struct cuda_lines {
    size_t count, length, inner;
};

static inline struct cuda_lines cuda_lines_of(const struct view *view, int from, int to) {
    struct cuda_lines lines = {view_product(view, 0, from), view_product(view, from, to),
                               view_product(view, to, view->rank)};
    lines.count *= lines.inner;
    return lines;
}

/* Where a line begins. */
static __device__ __forceinline__ size_t cuda_lines_start(const struct cuda_lines *lines, size_t line) {
    size_t outer = line / lines->inner;
    return outer * lines->length * lines->inner + (line - outer * lines->inner);
}

#endif
