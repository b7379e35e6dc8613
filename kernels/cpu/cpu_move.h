/* Fast kernels for what moves elements without looking at them. */
#ifndef WEIR_KERNELS_CPU_CPU_MOVE_H
#define WEIR_KERNELS_CPU_CPU_MOVE_H

#include "kernels/operation.h"

/* The kernel for TRANSPOSE, SLICE, CONCAT, GATHER, EXPAND, TILE, PAD or RESIZE on these shapes; NULL: there is none. */
operation_function cpu_move_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs);

#endif
