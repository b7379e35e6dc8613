/* The table's parts: each family's file looks at the operation, the elements and the shapes and gives a launcher, or
 * NULL. Data pointers need not be set. */
#ifndef WEIR_KERNELS_CUDA_CUDA_FAMILIES_H
#define WEIR_KERNELS_CUDA_CUDA_FAMILIES_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* COPY, UNARY, WHERE. */
cuda_launcher cuda_elementwise_find(const struct operation *operation, const struct view *inputs,
                                    const struct view *outputs);
/* BINARY: float32 and all integers, bool. */
cuda_launcher cuda_binary_find(const struct operation *operation, const struct view *inputs,
                               const struct view *outputs);
/* CAST between any two elements. */
cuda_launcher cuda_cast_find(const struct operation *operation, const struct view *inputs, const struct view *outputs);
/* SOFTMAX, LAYER_NORM, BATCH_NORM, INSTANCE_NORM, LRN, LP_NORM. */
cuda_launcher cuda_norm_find(const struct operation *operation, const struct view *inputs, const struct view *outputs);
/* REDUCE, ARG, CUMSUM. */
cuda_launcher cuda_reduce_find(const struct operation *operation, const struct view *inputs,
                               const struct view *outputs);
/* TRANSPOSE, SLICE, EXPAND, CONCAT, TILE, PAD, TRILU: any element. */
cuda_launcher cuda_move_find(const struct operation *operation, const struct view *inputs, const struct view *outputs);
/* GATHER, GATHER_ELEMENTS, GATHER_ND, ONE_HOT: any element. */
cuda_launcher cuda_gather_find(const struct operation *operation, const struct view *inputs,
                               const struct view *outputs);
/* POOL (MAX of 8-bit integers too), CONV where every group has one channel, CONV_TRANSPOSE: float32. */
cuda_launcher cuda_window_find(const struct operation *operation, const struct view *inputs,
                               const struct view *outputs);
/* RESIZE: nearest of any element, linear and cubic float32. */
cuda_launcher cuda_resize_find(const struct operation *operation, const struct view *inputs,
                               const struct view *outputs);
/* TOPK, EINSUM. */
cuda_launcher cuda_choice_find(const struct operation *operation, const struct view *inputs,
                               const struct view *outputs);
/* SCATTER_ELEMENTS, SCATTER_ND: any element where updates replace, else float32 and the integers. */
cuda_launcher cuda_scatter_find(const struct operation *operation, const struct view *inputs,
                                const struct view *outputs);
/* QUANTIZE, DEQUANTIZE, DYNAMIC_QUANTIZE. */
cuda_launcher cuda_quantize_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs);
/* RECURRENT. */
cuda_launcher cuda_recurrent_find(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs);
size_t cuda_recurrent_scratch_bytes(const struct operation *operation, const struct view *inputs);

#ifdef __cplusplus
}
#endif

#endif
