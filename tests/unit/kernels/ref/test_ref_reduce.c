#include <criterion/criterion.h>
#include <math.h>

#include "kernels/ref/ref_reduce.h"

static struct view matrix(void *data, enum element element, size_t rows, size_t cols) {
    return (struct view){data, element, 2, {rows, cols}};
}

static float reduce_all(enum reduce_kind kind, float *x, size_t count) {
    float result = -1;
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {kind, 1}};
    struct view in = {x, ELEMENT_F32, 1, {count}}, out = {&result, ELEMENT_F32, 0, {0}};
    ref_reduce(&operation, &in, &out, NULL);
    return result;
}

Test(ref_reduce, every_kind_reduces_a_list) {
    float x[3] = {3, -4, 2};
    cr_assert_eq(reduce_all(REDUCE_SUM, x, 3), 1);
    cr_assert_float_eq(reduce_all(REDUCE_MEAN, x, 3), 1.0f / 3, 1e-7);
    cr_assert_eq(reduce_all(REDUCE_MAX, x, 3), 3);
    cr_assert_eq(reduce_all(REDUCE_MIN, x, 3), -4);
    cr_assert_eq(reduce_all(REDUCE_PRODUCT, x, 3), -24);
    cr_assert_eq(reduce_all(REDUCE_L1, x, 3), 9);
    cr_assert_float_eq(reduce_all(REDUCE_L2, x, 3), 5.3851648f, 1e-6);
    cr_assert_eq(reduce_all(REDUCE_SUM_SQUARE, x, 3), 29);
    cr_assert_float_eq(reduce_all(REDUCE_LOG_SUM, x, 3), 0, 1e-7);
    cr_assert_float_eq(reduce_all(REDUCE_LOG_SUM_EXP, x, 3), 3.3139284f, 1e-6);
}

Test(ref_reduce, nothing_reduces_to_the_neutral_element) {
    float x[1] = {7};
    cr_assert_eq(reduce_all(REDUCE_SUM, x, 0), 0);
    cr_assert_eq(reduce_all(REDUCE_PRODUCT, x, 0), 1);
    cr_assert_eq(reduce_all(REDUCE_MAX, x, 0), -INFINITY);
    cr_assert_eq(reduce_all(REDUCE_MIN, x, 0), INFINITY);
    cr_assert_eq(reduce_all(REDUCE_LOG_SUM_EXP, x, 0), -INFINITY);
    cr_assert(isnan(reduce_all(REDUCE_MEAN, x, 0)));
}

Test(ref_reduce, nan_stays_and_infinities_do_not_make_one) {
    float nan[3] = {1, NAN, 3}, infinite[2] = {INFINITY, 1}, lowest[2] = {-INFINITY, -INFINITY};
    cr_assert(isnan(reduce_all(REDUCE_MAX, nan, 3)));
    cr_assert(isnan(reduce_all(REDUCE_MIN, nan, 3)));
    cr_assert(isnan(reduce_all(REDUCE_LOG_SUM_EXP, nan, 3)));
    cr_assert_eq(reduce_all(REDUCE_LOG_SUM_EXP, infinite, 2), INFINITY);
    cr_assert_eq(reduce_all(REDUCE_LOG_SUM_EXP, lowest, 2), -INFINITY);
}

Test(ref_reduce, any_dimensions_are_reduced_together) {
    float x[24], y[3];
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 1 | 4}};
    struct view in = {x, ELEMENT_F32, 3, {2, 3, 4}}, out = {y, ELEMENT_F32, 1, {3}};
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    ref_reduce(&operation, &in, &out, NULL);
    cr_assert(y[0] == 60 && y[1] == 92 && y[2] == 124);
}

Test(ref_reduce, integers_are_exact_and_wrap_around) {
    int64_t x[2] = {INT64_MAX, 2}, y;
    int32_t narrow[2] = {INT32_MAX, 1}, sum;
    int8_t bytes[3] = {-3, 100, 7}, least;
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 1}};
    struct view in = {x, ELEMENT_I64, 1, {2}}, out = {&y, ELEMENT_I64, 0, {0}};
    ref_reduce(&operation, &in, &out, NULL);
    cr_assert_eq(y, INT64_MIN + 1);
    operation.reduce.kind = REDUCE_MAX;
    ref_reduce(&operation, &in, &out, NULL);
    cr_assert_eq(y, INT64_MAX);
    operation.reduce.kind = REDUCE_SUM;
    in = (struct view){narrow, ELEMENT_I32, 1, {2}};
    out = (struct view){&sum, ELEMENT_I32, 0, {0}};
    ref_reduce(&operation, &in, &out, NULL);
    cr_assert_eq(sum, INT32_MIN);
    operation.reduce.kind = REDUCE_MEAN;
    narrow[0] = -7;
    narrow[1] = 4;
    ref_reduce(&operation, &in, &out, NULL);
    cr_assert_eq(sum, -1); /* -3 / 2 truncates */
    operation.reduce.kind = REDUCE_MIN;
    in = (struct view){bytes, ELEMENT_I8, 1, {3}};
    out = (struct view){&least, ELEMENT_I8, 0, {0}};
    ref_reduce(&operation, &in, &out, NULL);
    cr_assert_eq(least, -3);
}

Test(ref_reduce, arg_takes_the_first_or_the_last_of_equal_elements) {
    float x[8] = {1, 5, 5, 2, -1, -1, 0, NAN};
    int64_t y[2];
    struct operation operation = {.kind = OPERATION_ARG, .arg = {.axis = 1}};
    struct view in = matrix(x, ELEMENT_F32, 2, 4), out = matrix(y, ELEMENT_I64, 2, 1);
    ref_arg(&operation, &in, &out, NULL);
    cr_assert(y[0] == 1 && y[1] == 3);
    operation.arg.last = true;
    ref_arg(&operation, &in, &out, NULL);
    cr_assert(y[0] == 2 && y[1] == 3);
    x[7] = 9;
    operation.arg.min = true;
    ref_arg(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0 && y[1] == 1);
}

Test(ref_reduce, arg_runs_along_any_dimension) {
    int32_t x[6] = {1, 9, 3, 4, 5, 6};
    int64_t y[3];
    struct operation operation = {.kind = OPERATION_ARG, .arg = {.axis = 0}};
    struct view in = matrix(x, ELEMENT_I32, 2, 3), out = matrix(y, ELEMENT_I64, 1, 3);
    ref_arg(&operation, &in, &out, NULL);
    cr_assert(y[0] == 1 && y[1] == 0 && y[2] == 1);
}

Test(ref_reduce, cumsum_counts_from_either_end_with_or_without_itself) {
    static const float expected[4][3] = {{1, 3, 6}, {0, 1, 3}, {6, 5, 3}, {5, 3, 0}};
    float x[3] = {1, 2, 3}, y[3];
    struct view in = {x, ELEMENT_F32, 1, {3}}, out = {y, ELEMENT_F32, 1, {3}};
    for (int i = 0; i < 4; i++) {
        struct operation operation = {.kind = OPERATION_CUMSUM, .cumsum = {0, i & 1, i & 2}};
        ref_cumsum(&operation, &in, &out, NULL);
        for (int k = 0; k < 3; k++)
            cr_assert_eq(y[k], expected[i][k], "%d: %d", i, k);
    }
}

Test(ref_reduce, cumsum_of_integers_runs_along_its_axis) {
    int64_t x[4] = {1, 2, 10, 20}, y[4];
    struct operation operation = {.kind = OPERATION_CUMSUM, .cumsum = {.axis = 0}};
    struct view in = matrix(x, ELEMENT_I64, 2, 2), out = matrix(y, ELEMENT_I64, 2, 2);
    ref_cumsum(&operation, &in, &out, NULL);
    cr_assert(y[0] == 1 && y[1] == 2 && y[2] == 11 && y[3] == 22);
}

Test(ref_reduce, topk_is_stable_and_puts_nan_first) {
    float x[6] = {3, 7, NAN, 7, 1, 7}, values[4];
    int64_t indices[4];
    size_t scratch[4];
    struct operation operation = {.kind = OPERATION_TOPK, .topk = {0, true}};
    struct view in = {x, ELEMENT_F32, 1, {6}};
    struct view out[2] = {{values, ELEMENT_F32, 1, {4}}, {indices, ELEMENT_I64, 1, {4}}};
    cr_assert_eq(ref_topk_scratch_bytes(&operation, &in, out), sizeof scratch);
    ref_topk(&operation, &in, out, scratch);
    cr_assert(isnan(values[0]) && values[1] == 7 && values[3] == 7);
    cr_assert(indices[0] == 2 && indices[1] == 1 && indices[2] == 3 && indices[3] == 5);
    operation.topk.largest = false;
    ref_topk(&operation, &in, out, scratch);
    cr_assert(values[0] == 1 && values[1] == 3 && values[2] == 7);
    cr_assert(indices[0] == 4 && indices[1] == 0 && indices[2] == 1 && indices[3] == 3);
}

Test(ref_reduce, topk_runs_along_any_dimension_of_integers) {
    int64_t x[8] = {1, 80, 3, 60, 5, 40, 7, 20}, values[4], indices[4];
    size_t scratch[2];
    struct operation operation = {.kind = OPERATION_TOPK, .topk = {0, true}};
    struct view in = matrix(x, ELEMENT_I64, 4, 2);
    struct view out[2] = {matrix(values, ELEMENT_I64, 2, 2), matrix(indices, ELEMENT_I64, 2, 2)};
    ref_topk(&operation, &in, out, scratch);
    cr_assert(values[0] == 7 && values[1] == 80 && values[2] == 5 && values[3] == 60);
    cr_assert(indices[0] == 3 && indices[1] == 0 && indices[2] == 2 && indices[3] == 1);
}
