#include <criterion/criterion.h>

#include "engine/device/backend_cpu_dnnl_products.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_dnnl_products, .fini = release);

static const struct operation plain = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};

static struct operation transpose(int a, int b, int c, int d) {
    return (struct operation){.kind = OPERATION_TRANSPOSE, .transpose = {.order = {a, b, c, d}}};
}

static double run(const char *a_dims, const char *b_dims, const char *y_dims, struct matmul how) {
    int a = program_case_floats(&test, PROGRAM_INPUT, a_dims), b = program_case_floats(&test, PROGRAM_INPUT, b_dims);
    int y = program_case_floats(&test, PROGRAM_OUTPUT, y_dims);
    struct operation operation = {.kind = OPERATION_MATMUL, .matmul = how};
    program_case_step(&test, &operation, (int[]){a, b, -2}, y);
    double error = program_case_error(&test);
    program_case_release(&test);
    return error >= 0 ? error : 1;
}

Test(backend_cpu_dnnl_products, batches_broadcast_and_vectors_count_as_rows_and_columns) {
    const struct matmul how = {.alpha = 1};
    cr_assert_lt(run("5,6", "6,7", "5,7", how), 1e-6);
    cr_assert_lt(run("3,5,6", "3,6,7", "3,5,7", how), 1e-6);
    cr_assert_lt(run("3,5,6", "6,7", "3,5,7", how), 1e-6);
    cr_assert_lt(run("5,6", "3,6,7", "3,5,7", how), 1e-6);
    cr_assert_lt(run("2,1,5,6", "3,6,7", "2,3,5,7", how), 1e-6);
    cr_assert_lt(run("2,3,1,6", "2,3,6,7", "2,3,1,7", how), 1e-6);
    cr_assert_lt(run("2,3,4,5,6", "2,1,4,6,1", "2,3,4,5,1", how), 1e-6);
    cr_assert_lt(run("6", "6,7", "7", how), 1e-6);
    cr_assert_lt(run("5,6", "6", "5", how), 1e-6);
    cr_assert_lt(run("3,5,6", "6", "3,5", how), 1e-6);
    cr_assert_lt(run("6", "3,6,7", "3,7", how), 1e-6);
    cr_assert_lt(run("6", "6", "", how), 1e-6);
    cr_assert_lt(run("4,5,1", "4,1,7", "4,5,7", how), 1e-6);
}

Test(backend_cpu_dnnl_products, the_last_two_dimensions_may_be_exchanged) {
    const struct matmul a = {.transpose_a = true, .alpha = 2}, b = {.transpose_b = true, .alpha = 1},
                        both = {.transpose_a = true, .transpose_b = true, .alpha = -1};
    cr_assert_lt(run("3,6,5", "3,6,7", "3,5,7", a), 1e-6);
    cr_assert_lt(run("3,5,6", "3,7,6", "3,5,7", b), 1e-6);
    cr_assert_lt(run("3,6,5", "7,6", "3,5,7", both), 1e-6);
    cr_assert_lt(run("3,6,1", "3,1,6", "3,1,1", both), 1e-6);
}

/* Attention: queries, keys and values of 2 x 7 tokens in 3 heads of 4. */
Test(backend_cpu_dnnl_products, transpositions_around_attention_cost_no_step) {
    int q = program_case_floats(&test, PROGRAM_INPUT, "2,7,3,4"),
        k = program_case_floats(&test, PROGRAM_INPUT, "2,7,3,4");
    int v = program_case_floats(&test, PROGRAM_INPUT, "2,7,3,4"),
        qt = program_case_floats(&test, PROGRAM_ARENA, "2,3,7,4");
    int kt = program_case_floats(&test, PROGRAM_ARENA, "2,3,4,7"),
        vt = program_case_floats(&test, PROGRAM_ARENA, "2,3,7,4");
    int s = program_case_floats(&test, PROGRAM_ARENA, "2,3,7,7"),
        o = program_case_floats(&test, PROGRAM_ARENA, "2,3,7,4");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "2,7,3,4");
    struct operation heads = transpose(0, 2, 1, 3), keys = transpose(0, 2, 3, 1);
    program_case_step(&test, &heads, (int[]){q, -2}, qt);
    program_case_step(&test, &keys, (int[]){k, -2}, kt);
    program_case_step(&test, &heads, (int[]){v, -2}, vt);
    program_case_step(&test, &plain, (int[]){qt, kt, -2}, s);
    program_case_step(&test, &plain, (int[]){s, vt, -2}, o);
    program_case_step(&test, &heads, (int[]){o, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-6, "%g", error);
    cr_assert_eq(test.built_steps, 2);
}

Test(backend_cpu_dnnl_products, a_transposition_that_others_read_stays) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "2,7,3,4"),
        b = program_case_floats(&test, PROGRAM_INPUT, "2,3,4,5");
    int t = program_case_floats(&test, PROGRAM_ARENA, "2,3,7,4"),
        y = program_case_floats(&test, PROGRAM_OUTPUT, "2,3,7,5");
    int z = program_case_floats(&test, PROGRAM_OUTPUT, "2,3,7,4");
    struct operation heads = transpose(0, 2, 1, 3);
    const struct operation negate = {.kind = OPERATION_UNARY, .unary = {.kind = UNARY_NEGATE}};
    program_case_step(&test, &heads, (int[]){x, -2}, t);
    program_case_step(&test, &plain, (int[]){t, b, -2}, y);
    program_case_step(&test, &negate, (int[]){t, -2}, z);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-6, "%g", error);
    cr_assert_eq(test.built_steps, 3);
}

Test(backend_cpu_dnnl_products, rows_and_columns_that_are_both_scattered_are_moved_first) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "2,7,3,4"),
        b = program_case_floats(&test, PROGRAM_INPUT, "4,2,3,5");
    int t = program_case_floats(&test, PROGRAM_ARENA, "4,2,7,3"),
        y = program_case_floats(&test, PROGRAM_OUTPUT, "4,2,7,5");
    struct operation scatter = transpose(3, 0, 1, 2);
    program_case_step(&test, &scatter, (int[]){x, -2}, t);
    program_case_step(&test, &plain, (int[]){t, b, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-6, "%g", error);
    cr_assert_eq(test.built_steps, 2);
}

Test(backend_cpu_dnnl_products, what_is_added_and_the_function_come_behind) {
    int a = program_case_floats(&test, PROGRAM_INPUT, "2,5,6"), b = program_case_floats(&test, PROGRAM_INPUT, "2,6,7");
    int c = program_case_floats(&test, PROGRAM_INPUT, "5,1"), y = program_case_floats(&test, PROGRAM_OUTPUT, "2,5,7");
    struct operation operation = plain;
    operation.matmul.beta = 3;
    operation.then = (struct unary){.kind = UNARY_CLIP, .a = -1, .b = 1};
    program_case_step(&test, &operation, (int[]){a, b, c, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-6, "%g", error);
}
