/* Products with packed weights: dense layers. For processors with AVX-512 alone.
 *
 * Packed weights [inner, cols] lie in panels of cpu_dense_panel() columns: panel after panel, in each row after row;
 * the columns that the last panel lacks are 0, and so are the rows up to a multiple of CPU_DENSE_ROUND. That is
 * oneDNN's BA16a64b and its like. */
#ifndef WEIR_KERNELS_CPU_CPU_DENSE_H
#define WEIR_KERNELS_CPU_CPU_DENSE_H

#include "kernels/operation.h"

enum { CPU_DENSE_ROUND = 16 };

/* Has this processor what the kernel needs? */
bool cpu_dense_is_available(void);

/* Columns of a panel: 16, 32, 48 or 64. */
size_t cpu_dense_panel(size_t cols);

/* y = then(x * w + bias), inner at least 1. inputs: x [rows, inner]; w, packed, with the dimensions [inner, cols]; bias
 * [cols] or no data. outputs: y [rows, cols]. Each number is the sum over inner in order, whatever the rows and
 * threads. */
void cpu_dense_run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch);

#endif
