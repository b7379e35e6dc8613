#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/independence.h"
#include "tests/fakes/program_case.h"

static struct program_case three, five;
static struct weir_error err;

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

static void destroy(void) {
    program_case_release(&three);
    program_case_release(&five);
}

TestSuite(independence_compare, .fini = destroy);

/* x + c, where every element of c is value. */
static void add(struct program_case *test, const char *x, const char *c, float value) {
    const struct operation operation = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
    int in = program_case_floats(test, PROGRAM_INPUT, x), constant = program_case_floats(test, PROGRAM_CONSTANT, c);
    for (size_t i = 0; i < test->program.buffers[constant].elements; i++)
        program_case_values(test, constant)[i] = value;
    program_case_step(test, &operation, INPUTS(in, constant), program_case_floats(test, PROGRAM_OUTPUT, x));
}

static void apply(struct program_case *test, const char *x, struct operation operation, const char *y) {
    int in = program_case_floats(test, PROGRAM_INPUT, x);
    program_case_step(test, &operation, INPUTS(in), program_case_floats(test, PROGRAM_OUTPUT, y));
}

static enum weir_status compare(void) {
    enum weir_status status = independence_compare(&three.program, &five.program, &err);
    destroy();
    return status;
}

Test(independence_compare, constants_with_the_same_numbers_are_the_same) {
    add(&three, "3,4", "4", 2);
    add(&five, "5,4", "4", 2);
    cr_assert_eq(compare(), WEIR_OK);
}

Test(independence_compare, a_constant_repeated_for_every_row_is_the_same) {
    add(&three, "2,3,4", "2,3,4", 2);
    add(&five, "2,5,4", "2,5,4", 2);
    cr_assert_eq(compare(), WEIR_OK);
}

Test(independence_compare, the_number_of_rows_as_a_constant_is_found) {
    add(&three, "3,4", "", 3);
    add(&five, "5,4", "", 5);
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "step 0 (binary"));
    add(&three, "3,4", "3,1", 3);
    add(&five, "5,4", "5,1", 5);
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
}

Test(independence_compare, the_number_of_rows_within_an_operation_is_found) {
    apply(&three, "3,4", (struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 3, 0}}, "3,4");
    apply(&five, "5,4", (struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 5, 0}}, "5,4");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    apply(&three, "3,8", (struct operation){.kind = OPERATION_SLICE, .slice = {{0, 3}, {1, 1}}}, "3,2");
    apply(&five, "5,8", (struct operation){.kind = OPERATION_SLICE, .slice = {{0, 5}, {1, 1}}}, "5,2");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
}

Test(independence_compare, a_start_in_the_dimension_of_the_rows_may_differ) {
    apply(&three, "6,4", (struct operation){.kind = OPERATION_SLICE, .slice = {{3, 0}, {1, 1}}}, "3,4");
    apply(&five, "10,4", (struct operation){.kind = OPERATION_SLICE, .slice = {{5, 0}, {1, 1}}}, "5,4");
    cr_assert_eq(compare(), WEIR_OK);
}

Test(independence_compare, other_steps_are_found) {
    add(&three, "3,4", "4", 2);
    apply(&five, "5,4", (struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_RELU, 0, 0}}, "5,4");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    add(&three, "3,4", "4", 2);
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
}

Test(independence_compare, a_constant_that_counts_the_rows_is_found) {
    add(&three, "3,4", "3,1", 2);
    add(&five, "5,4", "5,1", 2);
    for (int i = 0; i < 3; i++)
        program_case_values(&three, 1)[i] = (float)i;
    for (int i = 0; i < 5; i++)
        program_case_values(&five, 1)[i] = (float)i;
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
}

Test(independence_compare, a_second_dimension_of_the_size_of_the_batch_is_found) {
    apply(&three, "3,4", (struct operation){.kind = OPERATION_TILE}, "3,12");
    apply(&five, "5,4", (struct operation){.kind = OPERATION_TILE}, "5,20");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    apply(&three, "3,4", (struct operation){.kind = OPERATION_TILE}, "9,4");
    apply(&five, "5,4", (struct operation){.kind = OPERATION_TILE}, "25,4");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    apply(&three, "3,4", (struct operation){.kind = OPERATION_TILE}, "6,4");
    apply(&five, "5,4", (struct operation){.kind = OPERATION_TILE}, "10,4");
    cr_assert_eq(compare(), WEIR_OK);
}

/* A value that all rows share becomes as many of it as there are rows. */
Test(independence_compare, what_no_row_reaches_has_the_same_size_in_every_batch) {
    apply(&three, "4", (struct operation){.kind = OPERATION_EXPAND}, "3,4");
    apply(&five, "4", (struct operation){.kind = OPERATION_EXPAND}, "5,4");
    add(&three, "3,4", "4", 2);
    add(&five, "5,4", "4", 2);
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "step 0 (expand"));
}

Test(independence_compare, axes_that_are_computed_from_the_batch_are_found) {
    apply(&three, "3,4,4", (struct operation){.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 2}}, "3,4");
    apply(&five, "5,4,4", (struct operation){.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 4}}, "5,4");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
    apply(&three, "3,4,4", (struct operation){.kind = OPERATION_CUMSUM, .cumsum = {.axis = 1}}, "3,4,4");
    apply(&five, "5,4,4", (struct operation){.kind = OPERATION_CUMSUM, .cumsum = {.axis = 2}}, "5,4,4");
    cr_assert_eq(compare(), WEIR_UNSUPPORTED);
}

Test(independence_compare, what_is_computed_of_a_repeated_constant_is_repeated_too) {
    for (int sums = 0; sums < 2; sums++) {
        const struct operation operation = sums
                                               ? (struct operation){.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 1}}
                                               : (struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_RELU}};
        add(&three, "3,4", "4", 2);
        add(&five, "5,4", "4", 2);
        for (int i = 0; i < 2; i++) {
            struct program_case *test = i == 0 ? &three : &five;
            int constant = program_case_floats(test, PROGRAM_CONSTANT, i == 0 ? "3,4" : "5,4");
            for (size_t k = 0; k < test->program.buffers[constant].elements; k++)
                program_case_values(test, constant)[k] = 1;
            int y = program_case_floats(test, PROGRAM_OUTPUT, sums ? "4" : i == 0 ? "3,4" : "5,4");
            program_case_step(test, &operation, INPUTS(constant), y);
        }
        cr_assert_eq(compare(), sums ? WEIR_UNSUPPORTED : WEIR_OK);
    }
}
