#include "kernels/product.h"

#include <criterion/criterion.h>

Test(product, a_batch_of_matrices_is_rows_inner_and_cols) {
    struct view a = {.rank = 3, .dims = {5, 2, 3}}, b = {.rank = 2, .dims = {3, 4}}, y = {.rank = 3, .dims = {5, 2, 4}};
    struct product product = product_of(&a, &b, &y, false, false);
    cr_assert(product.rows == 2 && product.inner == 3 && product.cols == 4 && product.batches == 5);
    cr_assert(product.a_row_step == 3 && product.a_inner_step == 1);
    cr_assert(product.b_inner_step == 4 && product.b_col_step == 1);
    cr_assert(product.lead == 1 && product.lead_dims[0] == 5);
}

Test(product, a_transposed_side_exchanges_its_steps) {
    struct view a = {.rank = 2, .dims = {3, 2}}, b = {.rank = 2, .dims = {4, 3}}, y = {.rank = 2, .dims = {2, 4}};
    struct product product = product_of(&a, &b, &y, true, true);
    cr_assert(product.rows == 2 && product.inner == 3 && product.cols == 4 && product.batches == 1);
    cr_assert(product.a_row_step == 1 && product.a_inner_step == 2);
    cr_assert(product.b_inner_step == 1 && product.b_col_step == 3);
}

Test(product, vectors_take_their_dimension_away_from_the_result) {
    struct view a = {.rank = 1, .dims = {3}}, b = {.rank = 3, .dims = {2, 3, 4}}, y = {.rank = 2, .dims = {2, 4}};
    struct product row = product_of(&a, &b, &y, true, false);
    cr_assert(row.rows == 1 && row.inner == 3 && row.cols == 4 && row.batches == 2);
    cr_assert(!row.has_row && row.has_col && row.a_inner_step == 1);
    struct view matrix = {.rank = 2, .dims = {2, 3}}, column = {.rank = 1, .dims = {2}};
    struct product col = product_of(&matrix, &a, &column, false, true);
    cr_assert(col.rows == 2 && col.inner == 3 && col.cols == 1 && col.b_inner_step == 1 && !col.has_col);
}

Test(product, operands_begin_where_broadcasting_puts_them) {
    struct view a = {.rank = 4, .dims = {2, 1, 3, 4}}, b = {.rank = 3, .dims = {5, 4, 1}};
    struct view y = {.rank = 4, .dims = {2, 5, 3, 1}};
    struct product product = product_of(&a, &b, &y, false, false);
    cr_assert_eq(product.batches, 10);
    cr_assert_eq(product_start(&product, &a, 2, 0), 0);
    cr_assert_eq(product_start(&product, &a, 2, 4), 0);
    cr_assert_eq(product_start(&product, &a, 2, 5), 12);
    cr_assert_eq(product_start(&product, &b, 2, 4), 16);
    cr_assert_eq(product_start(&product, &b, 2, 7), 8);
    struct view scalar = {.rank = 0};
    cr_assert_eq(product_start(&product, &scalar, 2, 9), 0);
}
