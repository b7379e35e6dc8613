/* The oracle for reading and writing at computed places. Indices are I32 or I64, negative ones count from the end. An
 * index out of range touches no memory: GATHER_* give zeros for it, SCATTER_* leave the update out. Operands as in
 * kernels/operation.h; none needs scratch memory. */
#ifndef WEIR_KERNELS_REF_REF_GATHER_H
#define WEIR_KERNELS_REF_REF_GATHER_H

#include "kernels/operation.h"

void ref_gather(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);
void ref_gather_elements(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                         void *scratch);
void ref_gather_nd(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch);

/* Updates are taken in order, so of several for one place SCATTER_SET keeps the last. Of BOOL, adding and the maximum
 * are "or", multiplying and the minimum are "and". */
void ref_scatter_elements(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                          void *scratch);
void ref_scatter_nd(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch);

/* Index `at` of a list of I32 or I64 as 0..size-1; -1 if it is out of range. */
int64_t ref_gather_index(const struct view *indices, size_t at, size_t size);

#endif
