/* Faster kernels for what the CPU's backend meets often beside oneDNN: the table over the families of this folder. */
#ifndef WEIR_KERNELS_CPU_CPU_H
#define WEIR_KERNELS_CPU_CPU_H

#include "kernels/operation.h"

/* The kernel for this operation on these shapes and elements (data need not be set); NULL: there is none, the oracle's
 * is to be taken. */
operation_function cpu_find(const struct operation *operation, const struct view *inputs, const struct view *outputs);

/* Scratch memory that cpu_find's kernel needs; 0 for all but RECURRENT. */
size_t cpu_scratch_bytes(const struct operation *operation, const struct view *inputs, const struct view *outputs);

#endif
