#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/independence_rules.h"
#include "tests/fakes/row_case.h"

static struct row_case test;

static const struct operation expand = {.kind = OPERATION_EXPAND}, add = {.kind = OPERATION_BINARY};
static const struct operation relu = {.kind = OPERATION_UNARY, .unary = {UNARY_RELU, 0, 0}};

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

Test(independence_even, what_was_spread_over_the_rows_is_the_same_for_all_of_them) {
    int x = row_case_input(&test, "3,4", 0), shared = row_case_input(&test, "1,4", -1);
    int spread = row_case_value(&test, "3,4"), more = row_case_value(&test, "3,4");
    row_case_step(&test, expand, INPUTS(shared), spread);
    row_case_step(&test, relu, INPUTS(spread), more);
    row_case_step(&test, add, INPUTS(x, more), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence_even, what_differs_along_the_dimension_of_the_rows_is_refused) {
    int x = row_case_input(&test, "3,4", 0), shared = row_case_input(&test, "3,4", -1);
    int more = row_case_value(&test, "3,4");
    row_case_step(&test, relu, INPUTS(shared), more);
    row_case_step(&test, add, INPUTS(x, more), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}

Test(independence_even, one_operand_that_differs_is_enough_to_refuse) {
    int x = row_case_input(&test, "3,4", 0), shared = row_case_input(&test, "1,4", -1);
    int spread = row_case_value(&test, "3,4"), sum = row_case_value(&test, "3,4");
    row_case_step(&test, expand, INPUTS(shared), spread);
    row_case_step(&test, add, INPUTS(spread, row_case_counting(&test, "3,4")), sum);
    row_case_step(&test, add, INPUTS(x, sum), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), ROW_CASE_MIXES);
}

Test(independence_even, a_constant_that_is_the_same_everywhere_changes_nothing) {
    int x = row_case_input(&test, "3,4", 0), shared = row_case_input(&test, "4", -1);
    int spread = row_case_value(&test, "3,4"), sum = row_case_value(&test, "3,4");
    row_case_step(&test, expand, INPUTS(shared), spread);
    row_case_step(&test, add, INPUTS(spread, row_case_same(&test, "3,4", 2)), sum);
    row_case_step(&test, add, INPUTS(x, sum), row_case_output(&test, "3,4"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence_even, equal_indices_take_equal_parts_of_a_table) {
    static const struct operation gather = {.kind = OPERATION_GATHER};
    int x = row_case_input(&test, "3,2,4", 0),
        index = program_case_buffer(&test.made, PROGRAM_CONSTANT, TENSOR_I64, "3,2");
    int parts = row_case_value(&test, "3,2,4");
    memset(program_case_values(&test.made, index), 0, 6 * sizeof(int64_t));
    row_case_step(&test, gather, INPUTS(row_case_counting(&test, "5,4"), index), parts);
    row_case_step(&test, add, INPUTS(x, parts), row_case_output(&test, "3,2,4"));
    cr_assert_eq(row_case_axis(&test), 0, "%s", test.err.text);
}

Test(independence_even, another_shape_keeps_the_leading_dimensions) {
    struct tensor_shape before = {3, {3, 4, 5}}, after = {2, {3, 20}}, mixed = {2, {4, 15}};
    cr_assert_eq(independence_even_reshaped(7, &before, &after), 1);
    cr_assert_eq(independence_even_reshaped(7, &before, &mixed), 0);
    cr_assert_eq(independence_even_reshaped(6, &before, &after), 0);
}
