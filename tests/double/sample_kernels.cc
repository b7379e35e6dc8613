#include "tests/double/sample_kernels.h"

#include "kernels/cuda/launch.h"

enum { THREADS = 128, TILE = 16 };
static const unsigned ALL = 0xffffffffu;

static __global__ void scale(const float *x, float *y, size_t count, float factor) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        y[i] = x[i] * factor + 1;
}

static __device__ __forceinline__ float warp_sum(float value) {
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(ALL, value, other);
    return value;
}

template <bool barrier> static __global__ void sum(const float *x, float *y, size_t cols) {
    K_SHARED(float, parts, THREADS / 32);
    float value = 0;
    for (size_t i = threadIdx.x; i < cols; i += blockDim.x)
        value += x[blockIdx.x * cols + i];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    if (barrier)
        __syncthreads();
    if (threadIdx.x != 0)
        return;
    value = 0;
    for (int i = 0; i < THREADS / 32; i++)
        value += parts[i];
    y[blockIdx.x] = value;
}

template <class T, int tile> static __global__ void transpose(const T *x, T *y, size_t rows, size_t cols) {
    K_SHARED(T, cell, tile * (tile + 1));
    size_t row = blockIdx.y * size_t(tile) + threadIdx.y, col = blockIdx.x * size_t(tile) + threadIdx.x;
    if (row < rows && col < cols)
        cell[threadIdx.y * (tile + 1) + threadIdx.x] = x[row * cols + col];
    __syncthreads();
    row = blockIdx.y * size_t(tile) + threadIdx.x;
    col = blockIdx.x * size_t(tile) + threadIdx.y;
    if (row < rows && col < cols)
        y[col * rows + row] = cell[threadIdx.x * (tile + 1) + threadIdx.y];
}

static __global__ void shuffles(float *y) {
    float mine = float(threadIdx.x);
    float down = __shfl_down_sync(ALL, mine, 1), up = __shfl_up_sync(ALL, mine, 1), third = __shfl_sync(ALL, mine, 3);
    __syncwarp();
    y[threadIdx.x] = down;
    y[32 + threadIdx.x] = up;
    y[64 + threadIdx.x] = third;
}

static __global__ void reverse(float *y) {
    K_DYNAMIC(float, values);
    values[threadIdx.x] = float(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

static __global__ void leaves_early(float *y) {
    if (threadIdx.x >= 32)
        return;
    __syncthreads();
    y[threadIdx.x] = 1;
}

static __global__ void two_barriers(float *y) {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 1;
}

static __global__ void half_warp_shuffle(float *y) {
    if (threadIdx.x < 16)
        y[threadIdx.x] = __shfl_xor_sync(ALL, 1.0f, 1);
}

static __global__ void writes_past(float *y, size_t count) {
    if (threadIdx.x == 0)
        y[count] = 1;
}

static __global__ void writes_past_shared(float *y) {
    K_SHARED(float, values, 8);
    values[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = values[0];
}

static __global__ void blocks_race(float *y) {
    if (threadIdx.x == blockIdx.x)
        y[0] += 1;
}

static __global__ void unwritten_shared(float *y) {
    K_SHARED(float, values, 32);
    y[threadIdx.x] = values[threadIdx.x];
}

cudaError_t sample_scale(const float *x, float *y, size_t count, float factor, cudaStream_t stream) {
    return K_LAUNCH_FLAT(scale, 3, THREADS, stream, x, y, count, factor);
}

cudaError_t sample_sum(const float *x, float *y, size_t rows, size_t cols, cudaStream_t stream) {
    return K_LAUNCH(sum<true>, unsigned(rows), THREADS, 0, stream, x, y, cols);
}

cudaError_t sample_transpose(const float *x, float *y, size_t rows, size_t cols, cudaStream_t stream) {
    dim3 grid(unsigned((cols + TILE - 1) / TILE), unsigned((rows + TILE - 1) / TILE));
    return K_LAUNCH((transpose<float, TILE>), grid, dim3(TILE, TILE), 0, stream, x, y, rows, cols);
}

cudaError_t sample_shuffles(float *y, cudaStream_t stream) {
    return K_LAUNCH(shuffles, 1, 32, 0, stream, y);
}

cudaError_t sample_reverse(float *y, size_t count, cudaStream_t stream) {
    return K_LAUNCH(reverse, 1, unsigned(count), count * sizeof(float), stream, y);
}

cudaError_t sample_sum_without_barrier(const float *x, float *y, size_t rows, size_t cols, cudaStream_t stream) {
    return K_LAUNCH(sum<false>, unsigned(rows), THREADS, 0, stream, x, y, cols);
}

cudaError_t sample_leaves_early(float *y, cudaStream_t stream) {
    return K_LAUNCH(leaves_early, 1, 64, 0, stream, y);
}

cudaError_t sample_two_barriers(float *y, cudaStream_t stream) {
    return K_LAUNCH(two_barriers, 1, 64, 0, stream, y);
}

cudaError_t sample_barrier_in_flat(float *y, cudaStream_t stream) {
    return K_LAUNCH_FLAT(two_barriers, 1, 64, stream, y);
}

cudaError_t sample_half_warp_shuffle(float *y, cudaStream_t stream) {
    return K_LAUNCH(half_warp_shuffle, 1, 32, 0, stream, y);
}

cudaError_t sample_writes_past(float *y, size_t count, cudaStream_t stream) {
    return K_LAUNCH(writes_past, 1, 32, 0, stream, y, count);
}

cudaError_t sample_writes_past_shared(float *y, cudaStream_t stream) {
    return K_LAUNCH(writes_past_shared, 1, 9, 0, stream, y);
}

cudaError_t sample_blocks_race(float *y, cudaStream_t stream) {
    return K_LAUNCH(blocks_race, 4, 32, 0, stream, y);
}

cudaError_t sample_too_many_threads(float *y, cudaStream_t stream) {
    return K_LAUNCH(shuffles, 1, 1025, 0, stream, y);
}

cudaError_t sample_unwritten_shared(float *y, cudaStream_t stream) {
    return K_LAUNCH(unwritten_shared, 1, 32, 0, stream, y);
}
