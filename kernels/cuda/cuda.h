/* The kernels of the CUDA backend: the same operations as ref/ and cpu/, on views whose data lie on the device. Matrix
 * products and the products within convolutions are cuBLASLt's, called by engine/device. */
#ifndef WEIR_KERNELS_CUDA_CUDA_H
#define WEIR_KERNELS_CUDA_CUDA_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" { /* the included headers' functions too */
#endif

#include "kernels/operation.h"

/* Puts the operation into the stream. scratch: device memory of cuda_scratch_bytes, 256-byte aligned. Nothing waits and
 * nothing is allocated, so that it may run while a graph is captured. The views are copied. Returns the launch's error.
 */
typedef cudaError_t (*cuda_launcher)(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs, void *scratch, cudaStream_t stream);

/* NULL: this operation, on these elements and shapes, has no kernel. Results of a row do not depend on what else is in
 * the batch: sums have a fixed order within a row, and no atomics are used. */
cuda_launcher cuda_find(const struct operation *operation, const struct view *inputs, const struct view *outputs);
size_t cuda_scratch_bytes(const struct operation *operation, const struct view *inputs, const struct view *outputs);

/* Convolution by cuBLASLt: columns of x for output pixels first..first+count-1 of the flattened [n, spatial], as
 * [groups, count, c / groups, kernel]: the weights' own order [m, c / groups, kernel], so that a group's products are
 * [count, c / groups * kernel] times its weights transposed. float32. */
cudaError_t cuda_im2col(const struct window *window, const struct view *x, const struct view *y, size_t first,
                        size_t count, float *columns, cudaStream_t stream);

/* y [n, m, spatial] from products [n * spatial, m]: adds bias [m] and sum (like y) where they are not NULL, and applies
 * `then`. */
cudaError_t cuda_place_pixels(const float *products, const float *bias, const float *sum, const struct unary *then,
                              const struct view *y, cudaStream_t stream);

/* y = then(y), and conversions of weights and activations for the reduced precisions. */
cudaError_t cuda_apply(const struct unary *then, float *y, size_t count, cudaStream_t stream);
cudaError_t cuda_to_f16(const float *x, void *y, size_t count, cudaStream_t stream);
cudaError_t cuda_to_bf16(const float *x, void *y, size_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
