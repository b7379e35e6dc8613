/* The device side of CUDA C++ for a C++ compiler: what kernels/cuda/launch.h needs to compile the kernels for the CPU.
 * Blocks run one after another, in the stream's thread; the threads of a block are fibers that barriers and shuffles
 * switch. Breaking a rule of the device (a barrier that some threads miss, a barrier in a flat kernel, more than 48 KiB
 * of shared memory) prints where and aborts. */
#ifndef WEIR_TESTS_DOUBLE_CUDA_ON_CPU_H
#define WEIR_TESTS_DOUBLE_CUDA_ON_CPU_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>
#include <type_traits>

#undef __shared__
#define __shared__ static_assert(false, "use K_SHARED")
#define __launch_bounds__(...)

/* Where a thread of the grid is. */
struct cuda_on_cpu_place {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
};

/* The running thread's. */
const struct cuda_on_cpu_place *cuda_on_cpu_here(void);
#define threadIdx (cuda_on_cpu_here()->thread)
#define blockIdx  (cuda_on_cpu_here()->block)
#define blockDim  (cuda_on_cpu_here()->block_dim)
#define gridDim   (cuda_on_cpu_here()->grid_dim)
enum { warpSize = 32 };

/* Shared memory, filled with 0xFF before every block; the same key gives the same memory within a block. */
void *cuda_on_cpu_shared(const void *key, size_t bytes, size_t align);
void *cuda_on_cpu_dynamic(size_t element_bytes);

struct cuda_on_cpu_grid {
    const char *name;
    dim3 grid, block;
    size_t dynamic_bytes;
    bool flat; /* a plain loop: no barriers, no shuffles, no shared memory */
};

/* Puts the grid into the stream: one operation of the runtime double, named after the kernel. Returns the launch's
 * error, as K_LAUNCH does: older ones that are not sticky are dropped. */
cudaError_t cuda_on_cpu_launch(const struct cuda_on_cpu_grid &grid, cudaStream_t stream, std::function<void()> body);

/* A call of the kernel with copies of the arguments, each converted to its parameter's type. */
template <class... Parameters, class... Arguments>
std::function<void()> cuda_on_cpu_bind(void (*kernel)(Parameters...), Arguments... arguments) {
    static_assert((std::is_trivially_copyable<Parameters>::value && ...), "kernel parameters are copied byte by byte");
    static_assert((sizeof(Parameters) + ... + 0) <= 4096, "a kernel has at most 4 KiB of parameters");
    return [=] { kernel(static_cast<Parameters>(arguments)...); };
}

/* file and line: of the barrier or shuffle, for messages. */
void cuda_on_cpu_barrier(const char *file, int line);
/* Gives the value of `bytes` (at most 16) at mine to the warp and copies that of the lane to out: 0xFF if the block has
 * no such thread. lane below 0: the mask was not the whole warp's, which is not supported: aborts. */
void cuda_on_cpu_exchange(const void *mine, void *out, size_t bytes, int lane, const char *file, int line);
int cuda_on_cpu_lane(void);

static inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_on_cpu_barrier(file, line);
}

static inline void __syncwarp(unsigned = 0xffffffffu, const char *file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
    char none = 0, out;
    cuda_on_cpu_exchange(&none, &out, 1, cuda_on_cpu_lane(), file, line);
}

/* The shuffles take all 32 lanes: mask must be 0xffffffff, and there is no width. */
template <class T> T cuda_on_cpu_shuffle(unsigned mask, T value, int lane, const char *file, int line) {
    T out;
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= 16, "a shuffle takes a number");
    if (mask != 0xffffffffu)
        lane = -1;
    cuda_on_cpu_exchange(&value, &out, sizeof(T), lane, file, line);
    return out;
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_on_cpu_shuffle(mask, value, lane & 31, file, line);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int other, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_on_cpu_shuffle(mask, value, cuda_on_cpu_lane() ^ other, file, line);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, const char *file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    int lane = cuda_on_cpu_lane() + static_cast<int>(by);
    return cuda_on_cpu_shuffle(mask, value, lane < 32 ? lane : cuda_on_cpu_lane(), file, line);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, const char *file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
    int lane = cuda_on_cpu_lane() - static_cast<int>(by);
    return cuda_on_cpu_shuffle(mask, value, lane >= 0 ? lane : cuda_on_cpu_lane(), file, line);
}

static inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}

#endif
