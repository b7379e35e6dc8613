/* Kernels that only move elements know their width, not their type. Where runs of elements lie together and are
 * aligned, they are moved in wider units, up to 16 bytes. */
#ifndef WEIR_KERNELS_CUDA_CUDA_WIDTH_H
#define WEIR_KERNELS_CUDA_CUDA_WIDTH_H

#include "kernels/cuda/cuda_device.h"

struct cuda_width_16 {
    uint64_t low, high;
} __attribute__((aligned(16)));

/* The instance of a launcher's template for elements of that type. */
#define CUDA_WIDTH_LAUNCHER(launcher, element)                                                                         \
    (view_element_bytes(element) == 1   ? launcher<uint8_t>                                                            \
     : view_element_bytes(element) == 2 ? launcher<uint16_t>                                                           \
     : view_element_bytes(element) == 4 ? launcher<uint32_t>                                                           \
                                        : launcher<uint64_t>)

/* error = CUDA_DEVICE_LAUNCH of the kernel template for units of `bytes`; data pointers are given as void *. */
#define CUDA_WIDTH_SWITCH(error, bytes, kernel, count, stream, ...)                                                    \
    switch (bytes) {                                                                                                   \
    case 1:                                                                                                            \
        error = CUDA_DEVICE_LAUNCH(kernel<uint8_t>, count, stream, __VA_ARGS__);                                       \
        break;                                                                                                         \
    case 2:                                                                                                            \
        error = CUDA_DEVICE_LAUNCH(kernel<uint16_t>, count, stream, __VA_ARGS__);                                      \
        break;                                                                                                         \
    case 4:                                                                                                            \
        error = CUDA_DEVICE_LAUNCH(kernel<uint32_t>, count, stream, __VA_ARGS__);                                      \
        break;                                                                                                         \
    case 8:                                                                                                            \
        error = CUDA_DEVICE_LAUNCH(kernel<uint64_t>, count, stream, __VA_ARGS__);                                      \
        break;                                                                                                         \
    default:                                                                                                           \
        error = CUDA_DEVICE_LAUNCH(kernel<struct cuda_width_16>, count, stream, __VA_ARGS__);                          \
        break;                                                                                                         \
    }

/* The widest unit, in bytes, that divides runs of `run` elements, which begin at multiples of a unit from x and y. */
static inline size_t cuda_width_of_runs(size_t element_bytes, size_t run, const void *x, const void *y) {
    size_t bytes = element_bytes;
    while (bytes < 16 && run % 2 == 0 && (uintptr_t)x % (2 * bytes) == 0 && (uintptr_t)y % (2 * bytes) == 0) {
        bytes *= 2;
        run /= 2;
    }
    return bytes;
}

#endif
