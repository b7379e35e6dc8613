/* How a kernel of this folder is launched and gets shared memory. One source, two compilers: nvcc makes code for the
 * GPU of it; a C++ compiler makes code for the CPU, where tests/double runs the threads of a block as fibers.
 *
 * Rules for kernels: launches through K_LAUNCH, or K_LAUNCH_FLAT where a kernel has neither barrier nor shuffle nor
 * shared memory; shared memory through K_SHARED; grid-stride loops, for a grid may be cut; a block size that is fixed
 * for each kernel; every thread of a block meets every barrier, every thread of a warp every shuffle; no atomics; sizes
 * are size_t; what is nvcc's alone (inline PTX, wmma) stands under #ifdef __CUDACC__ with a portable twin. */
#ifndef WEIR_KERNELS_CUDA_LAUNCH_H
#define WEIR_KERNELS_CUDA_LAUNCH_H

#include <stddef.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/* cudaError_t of this launch alone: an older error that nobody fetched is dropped first (a sticky one stays).
 * dynamic_bytes: of shared memory, for K_DYNAMIC. A kernel template of several parameters is given in parentheses. */
/* clang-format off */
#define K_LAUNCH(kernel, grid, block, dynamic_bytes, stream, ...) \
    (cudaGetLastError(), (kernel)<<<(grid), (block), (dynamic_bytes), (stream)>>>(__VA_ARGS__), cudaGetLastError())
/* clang-format on */
#define K_LAUNCH_FLAT(kernel, grid, block, stream, ...) K_LAUNCH(kernel, grid, block, 0, stream, __VA_ARGS__)

/* Within a kernel: `name` is an array of count elements (a constant) that the block's threads share; its contents are
 * indeterminate at first. No sizeof of it. */
#define K_SHARED(type, name, count) __shared__ type name[count]
/* Likewise the launch's dynamic_bytes, 16-byte aligned. At most once in a kernel. */
#define K_DYNAMIC(type, name)                                                                                          \
    extern __shared__ __align__(16) unsigned char k_dynamic[];                                                         \
    type *name = reinterpret_cast<type *>(k_dynamic)
#else
#include <cuda_on_cpu.h>

#define K_LAUNCH(kernel, grid, block, dynamic_bytes, stream, ...)                                                      \
    cuda_on_cpu_launch({#kernel, dim3(grid), dim3(block), (dynamic_bytes), false}, (stream),                           \
                       cuda_on_cpu_bind((kernel), __VA_ARGS__))
#define K_LAUNCH_FLAT(kernel, grid, block, stream, ...)                                                                \
    cuda_on_cpu_launch({#kernel, dim3(grid), dim3(block), 0, true}, (stream), cuda_on_cpu_bind((kernel), __VA_ARGS__))
#define K_SHARED(type, name, count)                                                                                    \
    static const char name##_key = 0;                                                                                  \
    type *const name = static_cast<type *>(cuda_on_cpu_shared(&name##_key, sizeof(type) * (count), alignof(type)))
#define K_DYNAMIC(type, name) type *const name = static_cast<type *>(cuda_on_cpu_dynamic(sizeof(type)))
#endif

#endif
