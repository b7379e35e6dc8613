#include <criterion/criterion.h>

#include "kernels/ref/ref_dense.h"

Test(ref_dense, a_product_worked_out_by_hand_comes_out) {
    static const float weights[] = {1, 2, 3, 4, 5, 6}, bias[] = {10, 20, 30}, x[] = {1, 1, 2, -1};
    struct ref_dense_layer layer = {weights, bias, 2, 3};
    float y[6];
    ref_dense_run(&layer, x, y, 2);
    static const float expected[] = {15, 27, 39, 8, 19, 30};
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_dense, sums_are_kept_in_double_and_rounded_once) {
    static const float weights[] = {1, 1, 1}, x[] = {16777216.0f, 1, 1};
    struct ref_dense_layer layer = {weights, NULL, 3, 1};
    float y;
    ref_dense_run(&layer, x, &y, 1);
    cr_assert(y == 16777218.0f); /* float32 sums would lose both ones */
}
