/* Fast kernels for enlarging and shrinking images. */
#ifndef WEIR_KERNELS_CPU_CPU_RESIZE_H
#define WEIR_KERNELS_CPU_CPU_RESIZE_H

#include "kernels/operation.h"

/* The kernel for RESIZE of [..., height, width], nearest or linear, only the last two dimensions changing; NULL: there
 * is none. */
operation_function cpu_resize_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

#endif
