#include <criterion/criterion.h>

#include "engine/graph/independence_rules.h"
#include "tests/fakes/row_case.h"

static struct row_case test;

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

static int one(struct operation operation, const char *dims, int axis, const char *out) {
    int x = row_case_input(&test, dims, axis);
    row_case_step(&test, operation, INPUTS(x), row_case_output(&test, out));
    return row_case_axis(&test);
}

/* Two inputs, rows in dimensions axis_a and axis_b (-1: none). */
static int two(struct operation operation, const char *a, int axis_a, const char *b, int axis_b, const char *out) {
    int x = row_case_input(&test, a, axis_a), z = row_case_input(&test, b, axis_b);
    row_case_step(&test, operation, INPUTS(x, z), row_case_output(&test, out));
    return row_case_axis(&test);
}

Test(independence_move, a_transposition_carries_the_rows_along) {
    struct operation operation = {.kind = OPERATION_TRANSPOSE, .transpose = {{2, 0, 1}}};
    cr_assert_eq(one(operation, "3,4,5", 0, "5,3,4"), 1);
    cr_assert_eq(one(operation, "4,5,3", 2, "3,4,5"), 0);
}

Test(independence_move, a_slice_takes_all_rows_in_order_or_is_refused) {
    struct operation slice = {.kind = OPERATION_SLICE, .slice = {{0, 1}, {1, 1}}};
    cr_assert_eq(one(slice, "3,4", 0, "3,2"), 0);
    slice.slice.start[0] = 1;
    cr_assert_eq(one(slice, "3,4", 0, "2,3"), ROW_CASE_MIXES); /* the rows but the first */
    slice.slice.start[0] = 2;
    slice.slice.step[0] = -1;
    cr_assert_eq(one(slice, "3,4", 0, "3,3"), ROW_CASE_MIXES); /* backwards */
    slice.slice.start[0] = 0;
    slice.slice.step[0] = 1;
    cr_assert_eq(one(slice, "3,4", 0, "1,3"), ROW_CASE_MIXES); /* the first row alone */
}

Test(independence_move, whole_groups_of_all_rows_may_be_cut_off) {
    int x = row_case_input(&test, "2,3,4", 1), alias = program_case_alias(&test.made, x, "6,4");
    struct operation slice = {.kind = OPERATION_SLICE, .slice = {{3, 0}, {1, 1}}};
    row_case_step(&test, slice, INPUTS(alias), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
    x = row_case_input(&test, "2,3,4", 1), alias = program_case_alias(&test.made, x, "6,4");
    slice.slice.start[0] = 2;
    row_case_step(&test, slice, INPUTS(alias), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}

Test(independence_move, what_is_joined_beside_the_rows_has_them_in_the_same_place) {
    struct operation concat = {.kind = OPERATION_CONCAT, .axis = 1};
    cr_assert_eq(two(concat, "3,4", 0, "3,2", 0, "3,6"), 0);
    cr_assert_eq(two(concat, "3,3", 0, "3,3", 1, "3,6"), ROW_CASE_MIXES);
    cr_assert_eq(two(concat, "3,4", 0, "3,2", -1, "3,6"),
                 ROW_CASE_MIXES); /* a shared value, different along the rows */
    int x = row_case_input(&test, "3,4,2", 0), token = row_case_same(&test, "3,1,2", 5);
    row_case_step(&test, concat, INPUTS(token, x), row_case_output(&test, "3,5,2"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
    x = row_case_input(&test, "3,4,2", 0), token = row_case_counting(&test, "3,1,2");
    row_case_step(&test, concat, INPUTS(token, x), row_case_output(&test, "3,5,2"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}

Test(independence_move, what_is_joined_along_the_rows_must_be_taken_apart_again) {
    struct operation concat = {.kind = OPERATION_CONCAT, .axis = 0};
    cr_assert_eq(two(concat, "3,4", 0, "3,4", 0, "6,4"), ROW_CASE_MIXES); /* twice as many rows come out */
    cr_assert_eq(two(concat, "3,4", 0, "1,4", -1, "4,4"), ROW_CASE_MIXES);
    int x = row_case_input(&test, "3,4", 0), both = row_case_value(&test, "6,4");
    row_case_step(&test, concat, INPUTS(x, x), both);
    struct operation slice = {.kind = OPERATION_SLICE, .slice = {{3, 0}, {1, 1}}};
    row_case_step(&test, slice, INPUTS(both), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence_move, rows_may_look_things_up_in_a_table_but_not_in_each_other) {
    struct operation gather = {.kind = OPERATION_GATHER, .gather = {.axis = 0}};
    cr_assert_eq(two(gather, "9,4", -1, "3,5", 0, "3,5,4"), 0);
    cr_assert_eq(two(gather, "3,4", 0, "5", -1, "5,4"), ROW_CASE_MIXES);
    cr_assert_eq(two(gather, "3,4", 0, "3", 0, "3,4"), ROW_CASE_MIXES);
    cr_assert_eq(two(gather, "3,4", 0, "3", -1, "3,4"), ROW_CASE_MIXES);
    gather.gather.axis = 1;
    cr_assert_eq(two(gather, "3,4", 0, "5,2", -1, "3,5,2"), 0);
    cr_assert_eq(two(gather, "2,4,3", 2, "5,2", -1, "2,5,2,3"), 3);
    cr_assert_eq(two(gather, "3,4", 0, "3", 0, "3,3"), ROW_CASE_MIXES); /* every row with every row */
}

Test(independence_move, elements_are_gathered_within_their_row) {
    struct operation gather = {.kind = OPERATION_GATHER_ELEMENTS, .gather = {.axis = 1}};
    cr_assert_eq(two(gather, "3,4", 0, "3,2", 0, "3,2"), 0);
    cr_assert_eq(two(gather, "3,4", 0, "3,2", -1, "3,2"), ROW_CASE_MIXES);
    cr_assert_eq(two(gather, "3,4", -1, "3,2", 0, "3,2"), ROW_CASE_MIXES);
    gather.gather.axis = 0;
    cr_assert_eq(two(gather, "3,4", 0, "3,4", 0, "3,4"), ROW_CASE_MIXES);
    cr_assert_eq(two(gather, "9,4", -1, "3,4", 0, "3,4"), 0); /* each its own from a table */
}

Test(independence_move, coordinates_may_name_no_rows) {
    struct operation gather = {.kind = OPERATION_GATHER_ND};
    cr_assert_eq(two(gather, "3,4", 0, "5,2", -1, "5"), ROW_CASE_MIXES);
    cr_assert_eq(two(gather, "4,3", 1, "5,1", -1, "5,3"), 1);
    cr_assert_eq(two(gather, "9,4", -1, "3,1", 0, "3,4"), 0);
    cr_assert_eq(two(gather, "9,9,9", -1, "2,3", 1, "2"), ROW_CASE_MIXES);
    gather.gather.batch_dims = 1;
    cr_assert_eq(two(gather, "3,4,2", 0, "3,5,1", 0, "3,5,2"), 0);
    cr_assert_eq(two(gather, "3,4,2", 0, "3,5,1", -1, "3,5,2"), ROW_CASE_MIXES);
}

static int scatter(enum operation_kind kind, int axis, int data_axis, const char *indices, int updates_axis,
                   const char *updates) {
    struct operation operation = {.kind = kind, .gather = {.axis = axis}};
    int x = row_case_input(&test, "3,4", data_axis), at = row_case_same(&test, indices, 1);
    int u = row_case_input(&test, updates, updates_axis);
    row_case_step(&test, operation, INPUTS(x, at, u), row_case_output(&test, "3,4"));
    return row_case_axis(&test);
}

Test(independence_move, rows_are_written_into_their_own_place) {
    cr_assert_eq(scatter(OPERATION_SCATTER_ELEMENTS, 1, 0, "3,2", 0, "3,2"), 0);
    cr_assert_eq(scatter(OPERATION_SCATTER_ELEMENTS, 0, 0, "3,4", 0, "3,4"), ROW_CASE_MIXES);
    cr_assert_eq(scatter(OPERATION_SCATTER_ELEMENTS, 1, 0, "3,2", -1, "3,2"), ROW_CASE_MIXES);
    cr_assert_eq(scatter(OPERATION_SCATTER_ELEMENTS, 1, 0, "2,2", -1, "2,2"), ROW_CASE_MIXES);
    cr_assert_eq(scatter(OPERATION_SCATTER_ND, 0, 0, "1,1", -1, "1,4"), ROW_CASE_MIXES);
    int x = row_case_input(&test, "4,3", 1), at = row_case_same(&test, "2,1", 1), u = row_case_input(&test, "2,3", 1);
    row_case_step(&test, (struct operation){.kind = OPERATION_SCATTER_ND}, INPUTS(x, at, u),
                  row_case_output(&test, "4,3"));
    cr_assert_eq(row_case_axis(&test), 1, "%s", test.err.text);
}

Test(independence_move, repetitions_stand_outside_the_rows) {
    struct operation tile = {.kind = OPERATION_TILE};
    cr_assert_eq(one(tile, "3,4", 0, "3,8"), 0);
    cr_assert_eq(one(tile, "3,4", 0, "6,4"), ROW_CASE_MIXES); /* more rows come out than went in */
}

Test(independence_move, padding_and_resizing_leave_the_rows_as_they_are) {
    struct operation pad = {.kind = OPERATION_PAD, .pad = {.before = {0, 1}}};
    cr_assert_eq(one(pad, "3,4", 0, "3,6"), 0);
    pad.pad.before[0] = 1;
    cr_assert_eq(one(pad, "3,4", 0, "4,6"), ROW_CASE_MIXES);
    pad.pad.before[0] = 0;
    cr_assert_eq(one(pad, "3,4", 0, "5,6"), ROW_CASE_MIXES);
    struct operation resize = {.kind = OPERATION_RESIZE, .resize = {.mode = RESIZE_LINEAR, .scales = {1, 1, 2}}};
    cr_assert_eq(one(resize, "3,2,4", 0, "3,2,8"), 0);
    resize.resize.scales[0] = 2;
    cr_assert_eq(one(resize, "3,2,4", 0, "6,2,8"), ROW_CASE_MIXES);
}

Test(independence_move, one_hot_adds_a_dimension_before_or_behind_the_rows) {
    struct operation one_hot = {.kind = OPERATION_ONE_HOT, .axis = 1};
    cr_assert_eq(two(one_hot, "3,2", 0, "2", -1, "3,7,2"), 0);
    one_hot.axis = 0;
    cr_assert_eq(two(one_hot, "3,2", 0, "2", -1, "7,3,2"), 1);
}
