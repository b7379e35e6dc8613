/* The oracle of dense layers: slow, plain, sums in double. */
#ifndef WEIR_KERNELS_REF_REF_DENSE_H
#define WEIR_KERNELS_REF_REF_DENSE_H

#include <stddef.h>

/* weights are in x out, row by row; bias has `out` elements or is NULL. */
struct ref_dense_layer {
    const float *weights;
    const float *bias;
    size_t in;
    size_t out;
};

/* y[rows, out] = x[rows, in] * weights + bias, each sum rounded once. */
void ref_dense_run(const struct ref_dense_layer *layer, const float *x, float *y, size_t rows);

#endif
