/* The geometry of NumPy's matmul: a batch of matrix products over views whose leading dimensions broadcast. */
#ifndef WEIR_KERNELS_PRODUCT_H
#define WEIR_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/view.h"

/* Each product is rows x inner times inner x cols. Steps count elements. */
struct product {
    size_t rows, inner, cols;
    size_t a_row_step, a_inner_step;
    size_t b_inner_step, b_col_step;
    bool has_row, has_col; /* y has these dimensions: an a (a b) of rank 1 takes them away */
    int lead;              /* leading dimensions of y */
    size_t lead_dims[VIEW_MAX_RANK];
    size_t batches; /* their product */
};

/* Reads it off the views. A view of rank 1 is never transposed. */
struct product product_of(const struct view *a, const struct view *b, const struct view *y, bool transpose_a,
                          bool transpose_b);

/* The first element of an operand's matrix in a batch; its last `own` dimensions (or all it has) are the matrix. */
size_t product_start(const struct product *product, const struct view *operand, int own, size_t batch);

#endif
