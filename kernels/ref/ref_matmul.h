/* The oracle of matrix products: MATMUL and EINSUM. */
#ifndef WEIR_KERNELS_REF_REF_MATMUL_H
#define WEIR_KERNELS_REF_REF_MATMUL_H

#include "kernels/operation.h"

void ref_matmul(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);

/* A dimension of 1 stands for any size of its label. */
void ref_einsum(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);

#endif
