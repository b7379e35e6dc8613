#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "engine/device/backend_cpu_dnnl_matmul.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_dnnl_matmul, .fini = release);

static struct operation product(bool transpose_a, bool transpose_b) {
    return (struct operation){
        .kind = OPERATION_MATMUL,
        .matmul = {.transpose_a = transpose_a, .transpose_b = transpose_b, .alpha = 1, .beta = 1}};
}

Test(backend_cpu_dnnl_matmul, packed_weights_give_the_oracles_numbers_for_every_number_of_rows) {
    for (int rows = 1; rows <= 33; rows++) {
        char dims[32], out[32];
        snprintf(dims, sizeof dims, "%d,70", rows);
        snprintf(out, sizeof out, "%d,37", rows);
        int x = program_case_floats(&test, PROGRAM_INPUT, dims),
            w = program_case_floats(&test, PROGRAM_CONSTANT, "70,37");
        int c = program_case_floats(&test, PROGRAM_CONSTANT, "37"), y = program_case_floats(&test, PROGRAM_OUTPUT, out);
        struct operation operation = product(false, false);
        operation.then.kind = UNARY_RELU;
        program_case_step(&test, &operation, (int[]){x, w, c, -2}, y);
        double error = program_case_error(&test);
        cr_assert(error >= 0 && error < 1e-6, "%d rows: %g", rows, error);
        program_case_release(&test);
    }
}

Test(backend_cpu_dnnl_matmul, many_rows_give_the_oracles_numbers_with_every_function) {
    static const enum unary_kind kinds[] = {UNARY_NONE, UNARY_RELU, UNARY_GELU_ERF};
    for (int which = 0; which < 6; which++) {
        test.strict = which > 2;
        int x = program_case_floats(&test, PROGRAM_INPUT, "3,50,70"),
            w = program_case_floats(&test, PROGRAM_CONSTANT, "70,137");
        int c = program_case_floats(&test, PROGRAM_CONSTANT, "137"),
            y = program_case_floats(&test, PROGRAM_OUTPUT, "3,50,137");
        struct operation operation = product(false, false);
        operation.then.kind = kinds[which % 3];
        program_case_step(&test, &operation, (int[]){x, w, which % 2 ? c : -1, -2}, y);
        double error = program_case_error(&test);
        cr_assert(error >= 0 && error < 1e-6, "%d: %g", which, error);
        if (backend_cpu_dnnl_has_avx512())
            cr_assert_eq(test.built_steps, 1, "%d", which);
        program_case_release(&test);
    }
}

Test(backend_cpu_dnnl_matmul, a_bias_may_be_an_input) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "7,33"),
        w = program_case_floats(&test, PROGRAM_CONSTANT, "33,20");
    int c = program_case_floats(&test, PROGRAM_INPUT, "20"), y = program_case_floats(&test, PROGRAM_OUTPUT, "7,20");
    struct operation operation = product(false, false);
    program_case_step(&test, &operation, (int[]){x, w, c, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-6, "%g", error);
}

Test(backend_cpu_dnnl_matmul, transposed_weights_and_inputs_are_read_where_they_lie) {
    for (int which = 0; which < 4; which++) {
        int x = program_case_floats(&test, PROGRAM_INPUT, which & 1 ? "24,9" : "9,24");
        int w = program_case_floats(&test, PROGRAM_CONSTANT, which & 2 ? "31,24" : "24,31");
        int y = program_case_floats(&test, PROGRAM_OUTPUT, "9,31");
        struct operation operation = product(which & 1, which & 2);
        program_case_step(&test, &operation, (int[]){x, w, -2}, y);
        double error = program_case_error(&test);
        cr_assert(error >= 0 && error < 1e-6, "%d: %g", which, error);
        cr_assert_eq(test.built_steps, 1);
        program_case_release(&test);
    }
}

Test(backend_cpu_dnnl_matmul, a_transposed_input_of_more_dimensions_is_right_for_one_and_for_many) {
    static const char *const shapes[][2] = {{"1,24,9", "1,9,31"}, {"3,24,9", "3,9,31"}, {"1,1,24,9", "1,1,9,31"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int x = program_case_floats(&test, PROGRAM_INPUT, shapes[i][0]);
        int w = program_case_floats(&test, PROGRAM_CONSTANT, "24,31"),
            c = program_case_floats(&test, PROGRAM_CONSTANT, "31");
        int y = program_case_floats(&test, PROGRAM_OUTPUT, shapes[i][1]);
        struct operation operation = product(true, false);
        program_case_step(&test, &operation, (int[]){x, w, c, -2}, y);
        double error = program_case_error(&test);
        cr_assert(error >= 0 && error < 1e-6, "%s: %g", shapes[i][0], error);
        program_case_release(&test);
    }
}

Test(backend_cpu_dnnl_matmul, factors_and_every_shape_of_c_are_added) {
    static const char *const shapes[] = {"31", "1,31", "6,1", "6,31", "", "5,6,31"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int scaled = 0; scaled < 2; scaled++) {
            int x = program_case_floats(&test, PROGRAM_INPUT, "5,6,24"),
                w = program_case_floats(&test, PROGRAM_CONSTANT, "24,31");
            int c = program_case_floats(&test, scaled ? PROGRAM_INPUT : PROGRAM_CONSTANT, shapes[i]);
            int y = program_case_floats(&test, PROGRAM_OUTPUT, "5,6,31");
            struct operation operation = product(false, false);
            operation.then.kind = UNARY_TANH;
            if (scaled) {
                operation.matmul.alpha = 0.5f;
                operation.matmul.beta = -2;
            }
            program_case_step(&test, &operation, (int[]){x, w, c, -2}, y);
            double error = program_case_error(&test);
            cr_assert(error >= 0 && error < 1e-6, "%s, %d: %g", shapes[i], scaled, error);
            program_case_release(&test);
        }
}

Test(backend_cpu_dnnl_matmul, every_function_behind_a_product_keeps_nan) {
    for (int kind = 0; kind < UNARY_KINDS; kind++) {
        if (kind == UNARY_NOT || kind == UNARY_IS_NAN || kind == UNARY_IS_INF)
            continue;
        int x = program_case_floats(&test, PROGRAM_INPUT, "4,20"),
            w = program_case_floats(&test, PROGRAM_CONSTANT, "20,17");
        int y = program_case_floats(&test, PROGRAM_OUTPUT, "4,17");
        program_case_values(&test, w)[3] = NAN;
        struct operation operation = product(false, false);
        operation.then = (struct unary){.kind = (enum unary_kind)kind, .a = 0.25f, .b = 0.75f};
        program_case_step(&test, &operation, (int[]){x, w, -2}, y);
        double error = program_case_error(&test);
        cr_assert(error >= 0 && error < 1e-5, "%s: %g", operation_unary_text((enum unary_kind)kind), error);
        program_case_release(&test);
    }
}

Test(backend_cpu_dnnl_matmul, bfloat16_is_near) {
    if (!backend_cpu_dnnl_has_bf16())
        cr_skip_test("this processor has no bfloat16");
    test.bf16 = true;
    int x = program_case_floats(&test, PROGRAM_INPUT, "7,96"),
        w = program_case_floats(&test, PROGRAM_CONSTANT, "96,64");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "7,64");
    struct operation operation = product(false, false);
    program_case_step(&test, &operation, (int[]){x, w, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error > 1e-5 && error < 1e-2, "%g", error);
}
