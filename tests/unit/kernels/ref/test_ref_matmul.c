#include "kernels/ref/ref_matmul.h"

#include <criterion/criterion.h>

/* A view of floats whose dims are given, and how many. */
#define FLOATS(pointer, count, ...)                                                                                    \
    {                                                                                                                  \
        .data = (void *)(pointer), .element = ELEMENT_F32, .rank = (count), .dims = { __VA_ARGS__ }                    \
    }

static const struct operation plain = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
static const float a[6] = {1, 2, 3, 4, 5, 6};
static const float b[6] = {1, 0, 0, 1, 2, -1};
static const float product[4] = {7, -1, 16, -1};

Test(ref_matmul, a_product_worked_out_by_hand_comes_out) {
    float y[4];
    struct view inputs[] = {FLOATS(a, 2, 2, 3), FLOATS(b, 2, 3, 2), {.data = NULL}}, out = FLOATS(y, 2, 2, 2);
    ref_matmul(&plain, inputs, &out, NULL);
    cr_assert_arr_eq(y, product, sizeof y);
}

Test(ref_matmul, transposed_sides_give_the_same_product) {
    static const float a_turned[6] = {1, 4, 2, 5, 3, 6}, b_turned[6] = {1, 0, 2, 0, 1, -1};
    struct operation operation = plain;
    float y[4];
    struct view inputs[] = {FLOATS(a_turned, 2, 3, 2), FLOATS(b_turned, 2, 2, 3), {.data = NULL}};
    struct view out = FLOATS(y, 2, 2, 2);
    operation.matmul.transpose_a = operation.matmul.transpose_b = true;
    ref_matmul(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, product, sizeof y);
}

Test(ref_matmul, alpha_beta_c_and_then_are_applied_in_this_order) {
    static const float row[2] = {1, 2}, column[2] = {10, -20};
    struct operation operation = {.then = {.kind = UNARY_RELU}, .matmul = {.alpha = 2, .beta = 3}};
    float y[4];
    struct view inputs[] = {FLOATS(a, 2, 2, 3), FLOATS(b, 2, 3, 2), FLOATS(row, 1, 2)}, out = FLOATS(y, 2, 2, 2);
    ref_matmul(&operation, inputs, &out, NULL);
    static const float with_row[4] = {17, 4, 35, 4}, with_column[4] = {44, 28, 0, 0};
    cr_assert_arr_eq(y, with_row, sizeof y);
    inputs[2] = (struct view)FLOATS(column, 2, 2, 1);
    ref_matmul(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, with_column, sizeof y);
}

Test(ref_matmul, leading_dimensions_broadcast) {
    static const float left[4] = {1, 2, 3, 4} /* [2,1,1,2] */, right[6] = {1, 1, 2, 0, 0, 3} /* [3,2,1] */;
    static const float more[3] = {100, 200, 300} /* [3,1,1] */;
    static const float expected[6] = {103, 202, 306, 107, 206, 312};
    float y[6];
    struct view inputs[] = {FLOATS(left, 4, 2, 1, 1, 2), FLOATS(right, 3, 3, 2, 1), FLOATS(more, 3, 3, 1, 1)};
    struct view out = FLOATS(y, 4, 2, 3, 1, 1);
    ref_matmul(&plain, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_matmul, vectors_are_rows_on_the_left_and_columns_on_the_right) {
    static const float v[3] = {1, 0, -1};
    static const float left[2] = {-1, 1}, right[2] = {-2, -2};
    float y[2];
    struct view vector = FLOATS(v, 1, 3), out = FLOATS(y, 1, 2);
    struct view inputs[3] = {vector, FLOATS(b, 2, 3, 2)};
    ref_matmul(&plain, inputs, &out, NULL);
    cr_assert_arr_eq(y, left, sizeof y);
    struct view turned[3] = {FLOATS(a, 2, 2, 3), vector};
    ref_matmul(&plain, turned, &out, NULL);
    cr_assert_arr_eq(y, right, sizeof y);
    struct view both[3] = {vector, vector}, scalar = FLOATS(y, 0, 0);
    ref_matmul(&plain, both, &scalar, NULL);
    cr_assert(y[0] == 2);
}

Test(ref_matmul, sums_are_kept_in_double_and_rounded_once) {
    static const float ones[3] = {1, 1, 1}, x[3] = {16777216.0f, 1, 1};
    float y;
    struct view inputs[3] = {FLOATS(x, 2, 1, 3), FLOATS(ones, 2, 3, 1)}, out = FLOATS(&y, 2, 1, 1);
    ref_matmul(&plain, inputs, &out, NULL);
    cr_assert(y == 16777218.0f); /* float32 sums would lose both ones */
}

Test(ref_matmul, wide_rows_are_complete_and_an_empty_inner_dimension_gives_zeros) {
    static float wide[2 * 600], y[600];
    static const float pair[2] = {1, 10};
    for (int i = 0; i < 1200; i++)
        wide[i] = (float)i;
    struct view inputs[3] = {FLOATS(pair, 2, 1, 2), FLOATS(wide, 2, 2, 600)}, out = FLOATS(y, 2, 1, 600);
    ref_matmul(&plain, inputs, &out, NULL);
    for (int i = 0; i < 600; i++)
        cr_assert(y[i] == (float)(i + 10 * (600 + i)), "%d", i);
    struct view empty[3] = {FLOATS(pair, 2, 1, 0), FLOATS(wide, 2, 0, 600)};
    ref_matmul(&plain, empty, &out, NULL);
    cr_assert(y[0] == 0 && y[599] == 0);
}

static void einsum(const struct einsum *what, const struct view *inputs, struct view *out) {
    struct operation operation = {.kind = OPERATION_EINSUM, .einsum = *what};
    ref_einsum(&operation, inputs, out, NULL);
}

Test(ref_einsum, a_label_twice_is_the_diagonal) {
    static const float square[4] = {1, 2, 3, 4};
    float y[2];
    struct view in = FLOATS(square, 2, 2, 2), diagonal = FLOATS(y, 1, 2), trace = FLOATS(y, 0, 0);
    einsum(&(struct einsum){1, 1, {{0, 0}}, {0}}, &in, &diagonal);
    cr_assert(y[0] == 1 && y[1] == 4);
    einsum(&(struct einsum){1, 1, {{0, 0}}, {0}}, &in, &trace);
    cr_assert(y[0] == 5);
}

Test(ref_einsum, products_of_three_are_summed_over_what_the_output_lacks) {
    static const float v[2] = {1, 2}, m[6] = {1, 2, 3, 4, 5, 6}, w[3] = {1, 0, -1};
    static const float expected[6] = {1, 0, -3, 8, 0, -12};
    float y[6], all;
    struct view inputs[] = {FLOATS(v, 1, 2), FLOATS(m, 2, 2, 3), FLOATS(w, 1, 3)};
    struct view out = FLOATS(y, 2, 2, 3), scalar = FLOATS(&all, 0, 0);
    struct einsum what = {3, 2, {{0}, {0, 1}, {1}}, {0, 1}};
    einsum(&what, inputs, &out);
    cr_assert_arr_eq(y, expected, sizeof y);
    einsum(&what, inputs, &scalar);
    cr_assert(all == -6);
}

Test(ref_einsum, the_output_may_turn_dimensions_and_one_stands_for_any_size) {
    static const float m[6] = {1, 2, 3, 4, 5, 6}, w[2] = {1, 10};
    static const float expected[6] = {1, 40, 2, 50, 3, 60};
    float y[6];
    struct view inputs[] = {FLOATS(m, 2, 2, 3), FLOATS(w, 2, 2, 1)}, out = FLOATS(y, 2, 3, 2);
    einsum(&(struct einsum){2, 2, {{0, 1}, {0, 1}}, {1, 0}}, inputs, &out);
    cr_assert_arr_eq(y, expected, sizeof y);
}
