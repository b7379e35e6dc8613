/* Reductions over the threads of a warp or a block. The order of the operations depends on the block's size alone, so a
 * row's result never depends on which block has it. Every thread of the warp (the block) must call; each gets the
 * result. Blocks are one line of whole warps. */
#ifndef WEIR_KERNELS_CUDA_CUDA_BLOCK_H
#define WEIR_KERNELS_CUDA_CUDA_BLOCK_H

#include "kernels/cuda/cuda_device.h"

/* Threads of a warp, and the elements that `shared` must have. */
enum { CUDA_BLOCK_LANES = 32, CUDA_BLOCK_WARPS = 32 };

/* X(name, how a and b become one). NaN wins over every number in the greatest and the least. */
#define CUDA_BLOCK_LIST(X)                                                                                             \
    X(sum, a + b)                                                                                                      \
    X(product, a *b)                                                                                                   \
    X(greatest, b > a || b != b ? b : a)                                                                               \
    X(least, b < a || b != b ? b : a)

#define CUDA_BLOCK_REDUCTION(name, combined)                                                                           \
    template <class number> static __device__ __forceinline__ number cuda_block_##name##_of(number a, number b) {      \
        return combined;                                                                                               \
    }                                                                                                                  \
    template <class number> static __device__ __forceinline__ number cuda_block_warp_##name(number value) {            \
        for (int offset = CUDA_BLOCK_LANES / 2; offset > 0; offset >>= 1)                                              \
            value = cuda_block_##name##_of(value, (number)__shfl_xor_sync(0xffffffffu, value, offset));                \
        return value;                                                                                                  \
    }                                                                                                                  \
    template <class number> static __device__ __forceinline__ number cuda_block_##name(number value, number *shared) { \
        value = cuda_block_warp_##name(value);                                                                         \
        __syncthreads(); /* the last reduction has been read */                                                        \
        if (threadIdx.x % CUDA_BLOCK_LANES == 0)                                                                       \
            shared[threadIdx.x / CUDA_BLOCK_LANES] = value;                                                            \
        __syncthreads();                                                                                               \
        value = shared[0];                                                                                             \
        for (unsigned warp = 1; warp < blockDim.x / CUDA_BLOCK_LANES; warp++)                                          \
            value = cuda_block_##name##_of(value, shared[warp]);                                                       \
        return value;                                                                                                  \
    }

CUDA_BLOCK_LIST(CUDA_BLOCK_REDUCTION)
#undef CUDA_BLOCK_REDUCTION

#endif
