#include <criterion/criterion.h>

#include "engine/graph/independence_rules.h"
#include "tests/fakes/row_case.h"

static struct row_case test;

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

/* A product of two inputs; axis_a and axis_b are the dimensions of the rows, -1: it has none. */
static int product(struct matmul matmul, const char *a, int axis_a, const char *b, int axis_b, const char *y) {
    struct operation operation = {.kind = OPERATION_MATMUL, .matmul = matmul};
    int x = row_case_input(&test, a, axis_a), z = row_case_input(&test, b, axis_b);
    row_case_step(&test, operation, INPUTS(x, z), row_case_output(&test, y));
    return row_case_axis(&test);
}

static const struct matmul plain = {.alpha = 1}, turned_a = {.transpose_a = true, .alpha = 1},
                           turned_b = {.transpose_b = true, .alpha = 1};

Test(independence_dense, rows_of_the_left_operand_are_rows_of_the_product) {
    cr_assert_eq(product(plain, "3,4", 0, "4,5", -1, "3,5"), 0);
    cr_assert_eq(product(plain, "2,3,4", 1, "4,5", -1, "2,3,5"), 1);
    cr_assert_eq(product(plain, "3,4", 0, "4", -1, "3"), 0);
    cr_assert_eq(product(turned_a, "4,3", 1, "4,5", -1, "3,5"), 0);
}

Test(independence_dense, rows_of_the_right_operand_are_columns_of_the_product) {
    cr_assert_eq(product(plain, "5,4", -1, "4,3", 1, "5,3"), 1);
    cr_assert_eq(product(turned_b, "5,4", -1, "3,4", 0, "5,3"), 1);
    cr_assert_eq(product(plain, "4", -1, "4,3", 1, "3"), 0);
}

Test(independence_dense, leading_dimensions_are_batches_on_either_side) {
    cr_assert_eq(product(plain, "3,2,4", 0, "3,4,5", 0, "3,2,5"), 0);
    cr_assert_eq(product(plain, "3,2,4", 0, "4,5", -1, "3,2,5"), 0);
    cr_assert_eq(product(plain, "2,4", -1, "3,4,5", 0, "3,2,5"), 0);
    cr_assert_eq(product(plain, "3,2,2,4", 0, "2,4,5", -1, "3,2,2,5"), 0);
    cr_assert_eq(product(plain, "2,3,2,4", 1, "3,4,5", 0, "2,3,2,5"), 1);
}

Test(independence_dense, a_sum_over_rows_is_refused) {
    cr_assert_eq(product(plain, "4,3", 1, "3,5", -1, "4,5"), ROW_CASE_MIXES);
    cr_assert_eq(product(turned_a, "3,4", 0, "3,5", -1, "4,5"), ROW_CASE_MIXES);
    cr_assert_eq(product(plain, "5,3", -1, "3,4", 0, "5,4"), ROW_CASE_MIXES);
    cr_assert_eq(product(plain, "3", 0, "3,4", -1, "4"), ROW_CASE_MIXES);
    cr_assert_eq(product(turned_a, "3,4", 0, "3,5", 0, "4,5"), ROW_CASE_MIXES);
}

Test(independence_dense, every_row_with_every_row_is_refused) {
    cr_assert_eq(product(turned_b, "3,4", 0, "3,4", 0, "3,3"), ROW_CASE_MIXES);
    cr_assert_eq(product(plain, "3,4", 0, "3,4,5", 0, "3,3,5"), ROW_CASE_MIXES);
    cr_assert_eq(product(plain, "3,2,4", 0, "2,4,3", 2, "3,2,2,3"), ROW_CASE_MIXES);
}

Test(independence_dense, weights_that_differ_along_the_rows_are_refused) {
    struct operation operation = {.kind = OPERATION_MATMUL, .matmul = plain};
    for (int same = 0; same < 2; same++) {
        int x = row_case_input(&test, "3,2,4", 0);
        int w = same ? row_case_same(&test, "3,4,5", 2) : row_case_counting(&test, "3,4,5");
        row_case_step(&test, operation, INPUTS(x, w), row_case_output(&test, "3,2,5"));
        cr_assert_eq(row_case_axis(&test), same ? 0 : ROW_CASE_MIXES);
    }
}

Test(independence_dense, a_bias_may_not_differ_from_row_to_row) {
    struct operation operation = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
    static const char *const dims[] = {"5", "1,5", "3,1", "3,5"};
    for (int i = 0; i < 4; i++) {
        int x = row_case_input(&test, "3,4", 0), w = row_case_counting(&test, "4,5");
        int c = row_case_counting(&test, dims[i]);
        row_case_step(&test, operation, INPUTS(x, w, c), row_case_output(&test, "3,5"));
        cr_assert_eq(row_case_axis(&test), i < 2 ? 0 : ROW_CASE_MIXES, "%s", dims[i]);
    }
}

static int window(enum operation_kind kind, const char *x, int axis, const char *w, int axis_w, const char *y) {
    struct operation operation = {.kind = kind, .window = {.spatial = 1, .kernel = {1}, .groups = 1}};
    int in = row_case_input(&test, x, axis), weights = row_case_input(&test, w, axis_w);
    row_case_step(&test, operation, INPUTS(in, weights, -1), row_case_output(&test, y));
    return row_case_axis(&test);
}

Test(independence_dense, convolutions_take_rows_in_the_first_dimension_alone) {
    cr_assert_eq(window(OPERATION_CONV, "3,2,5", 0, "4,2,1", -1, "3,4,5"), 0);
    cr_assert_eq(window(OPERATION_CONV, "1,3,5", 1, "3,3,1", -1, "1,3,5"), ROW_CASE_MIXES);
    cr_assert_eq(window(OPERATION_CONV, "1,2,3", 2, "4,2,1", -1, "1,4,3"), ROW_CASE_MIXES);
    cr_assert_eq(window(OPERATION_CONV, "3,2,5", 0, "3,2,1", 0, "3,3,5"), ROW_CASE_MIXES);
    cr_assert_eq(window(OPERATION_CONV_TRANSPOSE, "3,2,5", 0, "2,4,1", -1, "3,4,5"), 0);
}

Test(independence_dense, what_is_added_to_a_convolution_has_the_rows_in_the_same_place) {
    struct operation operation = {.kind = OPERATION_CONV, .window = {.spatial = 1, .kernel = {1}, .groups = 1}};
    for (int axis = 0; axis < 2; axis++) {
        int x = row_case_input(&test, "3,2,5", 0), w = row_case_counting(&test, "3,2,1");
        int sum = row_case_input(&test, "3,3,5", axis);
        row_case_step(&test, operation, INPUTS(x, w, -1, sum), row_case_output(&test, "3,3,5"));
        cr_assert_eq(row_case_axis(&test), axis == 0 ? 0 : ROW_CASE_MIXES);
    }
}

Test(independence_dense, the_indices_of_a_pool_count_through_all_rows) {
    int x = row_case_input(&test, "3,2,4", 0), y = row_case_output(&test, "3,2,2"), at = row_case_value(&test, "3,2,2");
    struct operation operation = {.kind = OPERATION_POOL, .pool = {.window = {.spatial = 1, .kernel = {2}}}};
    int outputs[2] = {y, at};
    struct program_step *step = program_add_step(&test.made.program, OPERATION_POOL, &x, 1, outputs, 2);
    step->operation = operation;
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
    x = row_case_input(&test, "3,2,4", 0), y = row_case_output(&test, "3,2,2");
    outputs[0] = y, outputs[1] = -1;
    step = program_add_step(&test.made.program, OPERATION_POOL, &x, 1, outputs, 2);
    step->operation = operation;
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

static int recurrent(bool batch_first, const char *dims, int axis, const char *state, const char *out) {
    struct operation operation = {.kind = OPERATION_RECURRENT,
                                  .recurrent = {.kind = RECURRENT_RNN, .directions = 1, .batch_first = batch_first}};
    int x = row_case_input(&test, dims, axis), w = row_case_counting(&test, "1,4,2"),
        r = row_case_counting(&test, "1,4,4");
    int inputs[] = {x, w, r, -1, -1, row_case_counting(&test, state)};
    int outputs[] = {row_case_output(&test, out), -1, -1};
    struct program_step *step = program_add_step(&test.made.program, OPERATION_RECURRENT, inputs, 6, outputs, 3);
    step->operation = operation;
    return row_case_axis(&test);
}

Test(independence_dense, recurrent_layers_keep_rows_in_the_batch_dimension_of_their_layout) {
    cr_assert_eq(recurrent(false, "5,3,2", 1, "1,1,4", "5,1,3,4"), 2);
    cr_assert_eq(recurrent(true, "3,5,2", 0, "1,1,4", "3,5,1,4"), 0);
    cr_assert_eq(recurrent(false, "3,2,2", 0, "1,2,4", "3,1,2,4"), ROW_CASE_MIXES); /* steps of time */
    cr_assert_eq(recurrent(false, "5,3,2", 1, "1,3,4", "5,1,3,4"), ROW_CASE_MIXES); /* each row its own state */
}

static int einsum(const signed char *a, const char *a_dims, const signed char *b, const char *b_dims,
                  const signed char *y, const char *y_dims) {
    struct operation operation = {.kind = OPERATION_EINSUM, .einsum = {.label_count = 5}};
    for (int i = 0; i < VIEW_MAX_RANK; i++) {
        operation.einsum.inputs[0][i] = a[i];
        operation.einsum.inputs[1][i] = b[i];
        operation.einsum.output[i] = y[i];
    }
    int x = row_case_input(&test, a_dims, 0), z = row_case_input(&test, b_dims, 0);
    row_case_step(&test, operation, INPUTS(x, z), row_case_output(&test, y_dims));
    return row_case_axis(&test);
}

Test(independence_dense, a_sum_of_einstein_keeps_the_label_of_the_rows) {
    static const signed char bij[8] = {0, 1, 2}, bjk[8] = {0, 2, 3}, bik[8] = {0, 1, 3}, ibk[8] = {1, 0, 3};
    static const signed char cjk[8] = {4, 2, 3}, ik[8] = {1, 3}, bbj[8] = {0, 0, 2};
    cr_assert_eq(einsum(bij, "3,2,4", bjk, "3,4,5", bik, "3,2,5"), 0);
    cr_assert_eq(einsum(bij, "3,2,4", bjk, "3,4,5", ibk, "2,3,5"), 1);
    cr_assert_eq(einsum(bij, "3,2,4", bjk, "3,4,5", ik, "2,5"), ROW_CASE_MIXES);
    cr_assert_eq(einsum(bij, "3,2,4", cjk, "3,4,5", bik, "3,2,5"), ROW_CASE_MIXES);
    cr_assert_eq(einsum(bbj, "3,3,4", bjk, "3,4,5", bik, "3,2,5"), ROW_CASE_MIXES);
}

Test(independence_dense, quantized_products_have_scales_that_do_not_run_along_rows) {
    struct operation operation = {.kind = OPERATION_MATMUL_INTEGER};
    static const char *const zeros[] = {"", "3"};
    for (int i = 0; i < 2; i++) {
        int a = row_case_input(&test, "3,4", 0), b = row_case_counting(&test, "4,5");
        int zero = row_case_counting(&test, zeros[i]), columns = row_case_counting(&test, "5");
        row_case_step(&test, operation, INPUTS(a, b, zero, columns), row_case_output(&test, "3,5"));
        cr_assert_eq(row_case_axis(&test), i == 0 ? 0 : ROW_CASE_MIXES);
    }
    int a = row_case_input(&test, "3,4", 0), b = row_case_counting(&test, "4,5"), one = row_case_counting(&test, "");
    operation.kind = OPERATION_QLINEAR_MATMUL;
    row_case_step(&test, operation, INPUTS(a, one, one, b, one, one, one, one), row_case_output(&test, "3,5"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}
