/* Max pools of tensors whose channels lie in blocks. */
#ifndef WEIR_KERNELS_CPU_CPU_POOL_H
#define WEIR_KERNELS_CPU_CPU_POOL_H

#include "kernels/operation.h"

/* POOL with kind MAX, float32, without indices. x and y are [n, channels / block, spatial..., block] here: elements of
 * one block lie together. NaN wins, and a window without elements gives -inf, as in the oracle. */
void cpu_pool_max_blocks(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                         void *scratch);

#endif
