#include "kernels/product.h"

struct product product_of(const struct view *a, const struct view *b, const struct view *y, bool transpose_a,
                          bool transpose_b) {
    struct product product = {.has_row = a->rank > 1, .has_col = b->rank > 1, .batches = 1};
    bool swap_a = transpose_a && product.has_row, swap_b = transpose_b && product.has_col;
    size_t a_last = a->dims[a->rank - 1], b_last = b->dims[b->rank - 1];
    size_t a_other = product.has_row ? a->dims[a->rank - 2] : 1;
    size_t b_other = product.has_col ? b->dims[b->rank - 2] : b_last;
    if (!product.has_col)
        b_last = 1;
    product.rows = swap_a ? a_last : a_other;
    product.inner = swap_a ? a_other : a_last;
    product.cols = swap_b ? b_other : b_last;
    product.a_row_step = swap_a ? 1 : a_last;
    product.a_inner_step = swap_a ? a_last : 1;
    product.b_inner_step = swap_b ? 1 : b_last;
    product.b_col_step = swap_b ? b_last : 1;
    product.lead = y->rank - product.has_row - product.has_col;
    for (int i = 0; i < product.lead; i++) {
        product.lead_dims[i] = y->dims[i];
        product.batches *= y->dims[i];
    }
    return product;
}

size_t product_start(const struct product *product, const struct view *operand, int own, size_t batch) {
    int lead = operand->rank > own ? operand->rank - own : 0;
    size_t start = 0, step = view_product(operand, lead, operand->rank);
    for (int i = 1; i <= lead; i++) {
        size_t dim = operand->dims[lead - i], whole = product->lead_dims[product->lead - i];
        start += dim == 1 ? 0 : batch % whole * step;
        step *= dim;
        batch /= whole;
    }
    return start;
}
