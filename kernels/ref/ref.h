/* The oracle: for every operation the plainest loop that can be right. Sums are taken in double. It also folds
 * constants, and runs what no faster kernel exists for. One file a family; this is the table over them. */
#ifndef WEIR_KERNELS_REF_REF_H
#define WEIR_KERNELS_REF_REF_H

#include "kernels/operation.h"

/* Never NULL. */
operation_function ref_find(enum operation_kind kind);

/* Scratch memory that ref_find's kernel needs for these shapes (the views' data need not be set). */
size_t ref_scratch_bytes(const struct operation *operation, const struct view *inputs, const struct view *outputs);

#endif
