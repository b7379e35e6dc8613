/* Quantized numbers: to them, from them, and their products. */
#ifndef WEIR_KERNELS_CPU_CPU_QUANTIZE_H
#define WEIR_KERNELS_CPU_CPU_QUANTIZE_H

#include "kernels/operation.h"

/* The kernel for QUANTIZE, DEQUANTIZE, DYNAMIC_QUANTIZE and the integer products and convolutions; NULL where there is
 * none (scales that change from element to element). Results are the oracle's bits. */
operation_function cpu_quantize_find(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs);

#endif
