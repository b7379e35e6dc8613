/* Kernels for the tests of the double: correct ones, and ones with a planted bug each. x, y: device memory. */
#ifndef WEIR_TESTS_DOUBLE_SAMPLE_KERNELS_H
#define WEIR_TESTS_DOUBLE_SAMPLE_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y[i] = x[i] * factor + 1. */
cudaError_t sample_scale(const float *x, float *y, size_t count, float factor, cudaStream_t stream);
/* y[row] = sum of x [rows, cols], by shuffles and shared memory. */
cudaError_t sample_sum(const float *x, float *y, size_t rows, size_t cols, cudaStream_t stream);
/* y [cols, rows] = x [rows, cols] transposed, by tiles in two dimensions; a template of two parameters. */
cudaError_t sample_transpose(const float *x, float *y, size_t rows, size_t cols, cudaStream_t stream);
/* y[i] = the lane shuffles of i: down by 1, up by 1, of lane 3; y [3][32]. */
cudaError_t sample_shuffles(float *y, cudaStream_t stream);
/* y[i] = i reversed within the block, through dynamic shared memory of count floats (count <= 1024). */
cudaError_t sample_reverse(float *y, size_t count, cudaStream_t stream);

/* As sample_sum, without the barrier between writing and reading shared memory. */
cudaError_t sample_sum_without_barrier(const float *x, float *y, size_t rows, size_t cols, cudaStream_t stream);
/* Half of the threads miss a barrier: they leave, or they wait at another. */
cudaError_t sample_leaves_early(float *y, cudaStream_t stream);
cudaError_t sample_two_barriers(float *y, cudaStream_t stream);
cudaError_t sample_barrier_in_flat(float *y, cudaStream_t stream);
cudaError_t sample_half_warp_shuffle(float *y, cudaStream_t stream);
/* Writes y[count], one past the end. */
cudaError_t sample_writes_past(float *y, size_t count, cudaStream_t stream);
/* Writes one float past the end of shared memory. */
cudaError_t sample_writes_past_shared(float *y, cudaStream_t stream);
/* All blocks add to y[0], each through another thread. */
cudaError_t sample_blocks_race(float *y, cudaStream_t stream);
cudaError_t sample_too_many_threads(float *y, cudaStream_t stream);
/* y[i] = what shared memory holds before anybody wrote it. */
cudaError_t sample_unwritten_shared(float *y, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
