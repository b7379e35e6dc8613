/* Convolutions of 8-bit integers. */
#ifndef WEIR_KERNELS_CPU_CPU_WINDOW_H
#define WEIR_KERNELS_CPU_CPU_WINDOW_H

#include "kernels/operation.h"

/* The kernel for QLINEAR_CONV and CONV_INTEGER; NULL for anything else. Results are the oracle's bits. */
operation_function cpu_window_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

#endif
