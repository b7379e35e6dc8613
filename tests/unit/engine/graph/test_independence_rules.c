#include "engine/graph/independence_rules.h"

#include <criterion/criterion.h>

#include "tests/fakes/row_case.h"

static struct row_case test;

static const struct operation add = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
static const struct operation where = {.kind = OPERATION_WHERE};

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

/* One step from an input of those dimensions, its rows in dimension axis. */
static int one(struct operation operation, const char *dims, int axis, const char *out) {
    int x = row_case_input(&test, dims, axis);
    row_case_step(&test, operation, INPUTS(x), row_case_output(&test, out));
    return row_case_axis(&test);
}

static int plus(const char *constant, bool counting) {
    int x = row_case_input(&test, "3,4", 0);
    int c = counting ? row_case_counting(&test, constant) : row_case_same(&test, constant, 7);
    row_case_step(&test, add, INPUTS(x, c), row_case_output(&test, "3,4"));
    return row_case_axis(&test);
}

Test(independence_rules, every_operation_with_rows_is_followed_or_refused_and_none_crashes) {
    for (int kind = 0; kind < OPERATION_KINDS; kind++) {
        int x = row_case_input(&test, "3,3,3,3", 0), z = row_case_input(&test, "3,3,3,3", 1);
        struct operation operation = {.kind = (enum operation_kind)kind};
        row_case_step(&test, operation, INPUTS(x, z, x, z, x, z, x, z), row_case_output(&test, "3,3,3,3"));
        int axis = row_case_axis(&test);
        cr_assert(axis == ROW_CASE_MIXES || kind == OPERATION_COPY, "%s: %d", operation_text(operation.kind), axis);
    }
}

Test(independence_rules, a_constant_that_is_the_same_for_every_row_may_be_added) {
    cr_assert_eq(plus("4", true), 0);
    cr_assert_eq(plus("1,4", true), 0);
    cr_assert_eq(plus("", true), 0);
    cr_assert_eq(plus("3,4", false), 0);
    cr_assert_eq(plus("3,1", false), 0);
}

Test(independence_rules, a_constant_that_differs_from_row_to_row_is_refused) {
    cr_assert_eq(plus("3,4", true), ROW_CASE_MIXES);
    cr_assert_eq(plus("3,1", true), ROW_CASE_MIXES);
}

Test(independence_rules, rows_that_are_broadcast_against_each_other_are_refused) {
    int x = row_case_input(&test, "3,1", 0), z = row_case_input(&test, "3", 0); /* every row with every row */
    row_case_step(&test, add, INPUTS(x, z), row_case_output(&test, "3,3"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
    x = row_case_input(&test, "3,3", 0), z = row_case_input(&test, "3,3", 1);
    row_case_step(&test, add, INPUTS(x, z), row_case_output(&test, "3,3"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}

Test(independence_rules, a_shared_value_may_lie_beside_the_rows_but_not_along_them) {
    int x = row_case_input(&test, "3,4", 0), shared = row_case_input(&test, "4", -1);
    row_case_step(&test, add, INPUTS(x, shared), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0);
    x = row_case_input(&test, "3,4", 0), shared = row_case_input(&test, "3,1", -1);
    row_case_step(&test, add, INPUTS(x, shared), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}

Test(independence_rules, a_mask_of_rows_selects_among_rows_of_the_same_place) {
    int x = row_case_input(&test, "3,4", 0), mask = row_case_input(&test, "3,1", 0);
    row_case_step(&test, where, INPUTS(mask, x, row_case_same(&test, "", 0)), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0);
}

Test(independence_rules, a_value_is_expanded_around_its_rows) {
    cr_assert_eq(one((struct operation){.kind = OPERATION_EXPAND}, "3,1", 0, "2,3,4"), 1);
}

Test(independence_rules, softmax_keeps_the_other_dimensions_apart) {
    struct operation softmax = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = 1}};
    cr_assert_eq(one(softmax, "3,4,2", 0, "3,4,2"), 0);
    cr_assert_eq(one(softmax, "4,2,3", 2, "4,2,3"), 2);
    cr_assert_eq(one(softmax, "4,3,2", 1, "4,3,2"), ROW_CASE_MIXES);
    softmax.softmax.flat = true; /* everything from dimension 1 on is one */
    cr_assert_eq(one(softmax, "4,2,3", 2, "4,2,3"), ROW_CASE_MIXES);
    cr_assert_eq(one(softmax, "3,4,2", 0, "3,4,2"), 0);
}

Test(independence_rules, reductions_move_the_rows_and_may_not_take_them) {
    struct operation sum = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 1u << 0}};
    cr_assert_eq(one(sum, "4,3", 1, "3"), 0);
    cr_assert_eq(one(sum, "4,3", 1, "1,3"), 1);
    cr_assert_eq(one(sum, "3,4", 0, "4"), ROW_CASE_MIXES);
    cr_assert_eq(one(sum, "3,4", 0, "1,4"), ROW_CASE_MIXES);
    sum.reduce.axes = 1u << 0 | 1u << 2;
    cr_assert_eq(one(sum, "4,3,5,2", 1, "3,2"), 0);
    sum.reduce.axes = 1u << 0 | 1u << 1;
    cr_assert_eq(one(sum, "3,4", 0, ""), ROW_CASE_MIXES);
    struct operation arg = {.kind = OPERATION_ARG, .arg = {.axis = 0}};
    cr_assert_eq(one(arg, "4,3", 1, "3"), 0);
    cr_assert_eq(one(arg, "3,4", 0, "4"), ROW_CASE_MIXES);
}

Test(independence_rules, normalizations_may_not_reach_over_rows) {
    struct operation layer = {.kind = OPERATION_LAYER_NORM, .norm = {.axis = 1}};
    int x = row_case_input(&test, "3,4", 0), scale = row_case_counting(&test, "4");
    row_case_step(&test, layer, INPUTS(x, scale, -1), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0);
    layer.norm.axis = 0;
    cr_assert_eq(one(layer, "3,4", 0, "3,4"), ROW_CASE_MIXES);
    struct operation instance = {.kind = OPERATION_INSTANCE_NORM};
    cr_assert_eq(one(instance, "3,2,4", 0, "3,2,4"), 0);
    cr_assert_eq(one(instance, "2,3,4", 1, "2,3,4"), ROW_CASE_MIXES);
    cr_assert_eq(one(instance, "2,2,3", 2, "2,2,3"), ROW_CASE_MIXES);
    struct operation batch = {.kind = OPERATION_BATCH_NORM};
    cr_assert_eq(one(batch, "2,2,3", 2, "2,2,3"), 2);
    cr_assert_eq(one(batch, "2,3,2", 1, "2,3,2"), ROW_CASE_MIXES);
    struct operation lp = {.kind = OPERATION_LP_NORM, .norm = {.axis = 1}};
    cr_assert_eq(one(lp, "3,4", 0, "3,4"), 0);
    cr_assert_eq(one(lp, "4,3", 1, "4,3"), ROW_CASE_MIXES);
}

Test(independence_rules, sums_and_orders_along_the_rows_are_refused) {
    struct operation cumsum = {.kind = OPERATION_CUMSUM, .cumsum = {.axis = 0}};
    cr_assert_eq(one(cumsum, "3,4", 0, "3,4"), ROW_CASE_MIXES);
    cr_assert_eq(one(cumsum, "4,3", 1, "4,3"), 1);
    struct operation topk = {.kind = OPERATION_TOPK, .topk = {.axis = 0}};
    cr_assert_eq(one(topk, "3,4", 0, "3,4"), ROW_CASE_MIXES);
    cr_assert_eq(one(topk, "4,3", 1, "2,3"), 1);
}

Test(independence_rules, a_triangle_of_rows_is_refused) {
    struct operation trilu = {.kind = OPERATION_TRILU};
    cr_assert_eq(one(trilu, "3,4,4", 0, "3,4,4"), 0);
    cr_assert_eq(one(trilu, "4,3,4", 1, "4,3,4"), ROW_CASE_MIXES);
    cr_assert_eq(one(trilu, "3,4", 0, "3,4"), ROW_CASE_MIXES);
}

Test(independence_rules, a_scale_taken_from_the_whole_tensor_is_refused_and_a_given_one_is_not) {
    cr_assert_eq(one((struct operation){.kind = OPERATION_DYNAMIC_QUANTIZE}, "3,4", 0, "3,4"), ROW_CASE_MIXES);
    struct operation quantize = {.kind = OPERATION_QUANTIZE, .axis = 0};
    for (int list = 0; list < 2; list++) {
        int x = row_case_input(&test, "3,4", 0), scale = row_case_counting(&test, list ? "3" : "");
        row_case_step(&test, quantize, INPUTS(x, scale, -1), row_case_output(&test, "3,4"));
        cr_assert_eq(row_case_axis(&test), list ? ROW_CASE_MIXES : 0);
    }
}
