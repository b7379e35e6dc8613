#include "engine/graph/independence.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/row_case.h"

static struct row_case test;

static const struct operation relu = {.kind = OPERATION_UNARY, .unary = {UNARY_RELU, 0, 0}};
static const struct operation copy = {.kind = OPERATION_COPY};
static const struct operation add = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
static const struct operation matmul = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

/* Where rows in dimension 0 of a tensor are once it has another shape. */
static int reshaped(const char *before, const char *after) {
    int x = row_case_input(&test, before, 0), alias = program_case_alias(&test.made, x, after);
    row_case_step(&test, relu, INPUTS(alias), row_case_output(&test, after));
    return row_case_axis(&test);
}

Test(independence, rows_pass_through_a_chain) {
    int x = row_case_input(&test, "3,4", 0), t = row_case_value(&test, "3,4");
    row_case_step(&test, relu, INPUTS(x), t);
    row_case_step(&test, relu, INPUTS(t), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence, an_output_that_no_row_reaches_is_the_same_for_all) {
    int x = row_case_input(&test, "4", -1);
    row_case_step(&test, relu, INPUTS(x), row_case_output(&test, "4"));
    cr_assert_eq(row_case_axis(&test), -1);
}

/* As token types are looked up: constants of the batch's size, too large to be folded. */
Test(independence, what_is_computed_of_a_constant_repeated_for_every_row_lies_beside_the_rows) {
    for (int same = 0; same < 2; same++) {
        int x = row_case_input(&test, "3,4", 0), t = row_case_value(&test, "3,4");
        int constant = same ? row_case_same(&test, "3,4", 2) : row_case_counting(&test, "3,4");
        row_case_step(&test, relu, INPUTS(constant), t);
        row_case_step(&test, add, INPUTS(x, t), row_case_output(&test, "3,4"));
        cr_assert_eq(row_case_axis(&test), same ? 0 : ROW_CASE_MIXES);
    }
}

Test(independence, a_constant_that_has_the_size_of_the_batch_by_chance_stays_without_rows) {
    const struct operation sum = {.kind = OPERATION_CUMSUM, .cumsum = {.axis = 0}};
    int x = row_case_input(&test, "3,4", 0), t = row_case_value(&test, "3,4"), u = row_case_value(&test, "3,4");
    row_case_step(&test, relu, INPUTS(row_case_same(&test, "3,4", 2)), t);
    row_case_step(&test, relu, INPUTS(x), u);
    row_case_step(&test, sum, INPUTS(t), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), -1);
}

Test(independence, other_shapes_keep_the_rows_where_they_are_whole) {
    cr_assert_eq(reshaped("3,4,5", "3,20"), 0);
    cr_assert_eq(reshaped("3,20", "3,2,2,5"), 0);
    cr_assert_eq(reshaped("3,4", "1,3,4"), 1);
    cr_assert_eq(reshaped("3,3", "3,3,1"), 0);
    cr_assert_eq(reshaped("3,12", "3,3,4"), 0);
}

Test(independence, an_output_that_has_other_things_in_the_rows_dimension_is_refused) {
    cr_assert_eq(reshaped("3,4", "12"), ROW_CASE_MIXES);
    cr_assert_not_null(strstr(test.err.text, "output 0"));
    cr_assert_eq(reshaped("3,4", "1,12"), ROW_CASE_MIXES);
    cr_assert_eq(reshaped("3,3", "9"), ROW_CASE_MIXES);
}

Test(independence, a_shape_with_rows_across_its_dimensions_is_refused) {
    cr_assert_eq(reshaped("3,4", "4,3"), ROW_CASE_MIXES);
    cr_assert_eq(reshaped("3,4", "2,6"), ROW_CASE_MIXES);
    cr_assert_eq(reshaped("3,2", "2,3"), ROW_CASE_MIXES);
}

Test(independence, rows_merged_with_a_dimension_and_split_again_are_found) {
    int x = row_case_input(&test, "3,4,5", 0), merged = program_case_alias(&test.made, x, "12,5");
    int t = row_case_value(&test, "12,5"), y = row_case_output(&test, "3,4,5");
    row_case_step(&test, relu, INPUTS(merged), t);
    row_case_step(&test, copy, INPUTS(t), y);
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence, a_step_that_writes_through_an_alias_reaches_the_memory_below) {
    int x = row_case_input(&test, "3,8", 0), y = row_case_output(&test, "3,2,4");
    int t = program_case_alias(&test.made, y, "3,8");
    row_case_step(&test, relu, INPUTS(x), t);
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence, heads_are_split_and_merged_as_transformers_do) {
    int x = row_case_input(&test, "3,5,8", 0), split = program_case_alias(&test.made, x, "3,5,2,4");
    int heads = row_case_value(&test, "3,2,5,4"), keys = row_case_value(&test, "3,2,4,5");
    int scores = row_case_value(&test, "3,2,5,5"), weights = row_case_value(&test, "3,2,5,5");
    int mixed = row_case_value(&test, "3,2,5,4"), back = row_case_value(&test, "3,5,2,4");
    int merged = program_case_alias(&test.made, back, "3,5,8"), y = row_case_output(&test, "3,5,8");
    row_case_step(&test, (struct operation){.kind = OPERATION_TRANSPOSE, .transpose = {{0, 2, 1, 3}}}, INPUTS(split),
                  heads);
    row_case_step(&test, (struct operation){.kind = OPERATION_TRANSPOSE, .transpose = {{0, 2, 3, 1}}}, INPUTS(split),
                  keys);
    row_case_step(&test, matmul, INPUTS(heads, keys), scores);
    row_case_step(&test, (struct operation){.kind = OPERATION_SOFTMAX, .softmax = {.axis = 3}}, INPUTS(scores),
                  weights);
    row_case_step(&test, matmul, INPUTS(weights, heads), mixed);
    row_case_step(&test, (struct operation){.kind = OPERATION_TRANSPOSE, .transpose = {{0, 2, 1, 3}}}, INPUTS(mixed),
                  back);
    row_case_step(&test, add, INPUTS(merged, x), y);
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence, rows_within_a_merged_dimension_are_followed_as_in_sequence_first_layouts) {
    /* [S,B,E] -> [S,B*H,D] -> [B*H,S,D], a product over S, and back */
    int x = row_case_input(&test, "5,3,8", 1), split = program_case_alias(&test.made, x, "5,6,4");
    int heads = row_case_value(&test, "6,5,4"), scores = row_case_value(&test, "6,5,5");
    int mixed = row_case_value(&test, "6,5,4"), back = row_case_value(&test, "5,6,4");
    int merged = program_case_alias(&test.made, back, "5,3,8"), y = row_case_output(&test, "5,3,8");
    const struct operation turn = {.kind = OPERATION_TRANSPOSE, .transpose = {{1, 0, 2}}};
    struct operation product = matmul;
    product.matmul.transpose_b = true;
    row_case_step(&test, turn, INPUTS(split), heads);
    row_case_step(&test, product, INPUTS(heads, heads), scores);
    row_case_step(&test, matmul, INPUTS(scores, heads), mixed);
    row_case_step(&test, turn, INPUTS(mixed), back);
    row_case_step(&test, relu, INPUTS(merged), y);
    cr_assert_eq(row_case_axis(&test), 1, "%s", test.err.text);
}

Test(independence, the_step_that_mixes_is_named_with_its_reason) {
    int x = row_case_input(&test, "3,4", 0), t = row_case_value(&test, "3,4");
    row_case_step(&test, relu, INPUTS(x), t);
    row_case_step(&test, (struct operation){.kind = OPERATION_SOFTMAX, .softmax = {.axis = 0}}, INPUTS(t),
                  row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
    cr_assert_not_null(strstr(test.err.text, "step 1 (softmax"));
    cr_assert_not_null(strstr(test.err.text, "over the rows"));
}

Test(independence, an_input_without_room_for_the_rows_is_refused) {
    int x = row_case_input(&test, "4,4", 0);
    row_case_step(&test, relu, INPUTS(x), row_case_output(&test, "4,4"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}
