/* The oracle of reductions, ArgMax, CumSum and TopK. */
#ifndef WEIR_KERNELS_REF_REF_REDUCE_H
#define WEIR_KERNELS_REF_REF_REDUCE_H

#include "kernels/operation.h"

/* REDUCE of F32 (in double), I32 and I64 (exact, wrapping around; a mean, norm or logarithm is truncated); MAX and MIN
 * of U8, I8 and BOOL too. No elements: SUM 0, PRODUCT 1, MAX and MIN the least and greatest number, MEAN NaN (0). */
void ref_reduce(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);

/* ARG of F32, I32, I64, U8 and I8. The first NaN wins over every number. */
void ref_arg(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

/* CUMSUM of F32 (in double), I32 and I64. */
void ref_cumsum(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);

/* TOPK of F32, I32, I64, U8 and I8, in order; of equal elements the lower index comes first. NaN is greater than every
 * number. The number of elements is that of the outputs' dimension. */
void ref_topk(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);
size_t ref_topk_scratch_bytes(const struct operation *operation, const struct view *inputs, const struct view *outputs);

#endif
