#include <criterion/criterion.h>

#include "engine/device/backend_cpu_choose.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_choose, .fini = release);

Test(backend_cpu_choose, weights_are_constant_matrices_and_kernels) {
    const struct operation product = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
    int x = program_case_floats(&test, PROGRAM_INPUT, "4,6"), w = program_case_floats(&test, PROGRAM_CONSTANT, "6,5");
    int stack = program_case_floats(&test, PROGRAM_CONSTANT, "3,6,5"),
        y = program_case_floats(&test, PROGRAM_OUTPUT, "4,5");
    int z = program_case_floats(&test, PROGRAM_OUTPUT, "3,4,5"), flat = program_case_alias(&test, stack, "18,5");
    program_case_step(&test, &product, (int[]){x, w, -2}, y);
    program_case_step(&test, &product, (int[]){x, stack, -2}, z);
    const struct program_step *steps = test.program.steps;
    cr_assert(backend_cpu_choose_is_weight(&test.program, &steps[0], 1));
    cr_assert_not(backend_cpu_choose_is_weight(&test.program, &steps[0], 0));
    cr_assert_not(backend_cpu_choose_is_weight(&test.program, &steps[1], 1));
    steps[1].inputs[1] = flat;
    cr_assert(backend_cpu_choose_is_weight(&test.program, &steps[1], 1));
}

Test(backend_cpu_choose, what_has_no_faster_kernel_is_done_by_the_oracle) {
    const struct operation running = {.kind = OPERATION_CUMSUM, .cumsum = {.axis = 1}};
    const struct operation lrn = {.kind = OPERATION_LRN, .norm = {.size = 3, .alpha = 0.5f, .beta = 0.75f, .bias = 1}};
    int x = program_case_floats(&test, PROGRAM_INPUT, "2,5,3,3"),
        c = program_case_floats(&test, PROGRAM_ARENA, "2,5,3,3");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "2,5,3,3");
    program_case_step(&test, &running, (int[]){x, -2}, c);
    program_case_step(&test, &lrn, (int[]){c, -2}, y);
    cr_assert_eq(program_case_error(&test), 0);
}

Test(backend_cpu_choose, integers_and_masks_pass_through_as_they_are) {
    const struct operation gather = {.kind = OPERATION_GATHER, .gather = {.axis = 0}};
    const struct operation where = {.kind = OPERATION_WHERE};
    const struct operation less = {.kind = OPERATION_BINARY, .binary = BINARY_LESS};
    int table = program_case_floats(&test, PROGRAM_CONSTANT, "2,7");
    int ids = program_case_buffer(&test, PROGRAM_INPUT, TENSOR_I64, "3,4");
    int rows = program_case_floats(&test, PROGRAM_ARENA, "3,4,7"),
        x = program_case_floats(&test, PROGRAM_INPUT, "3,4,7");
    int mask = program_case_buffer(&test, PROGRAM_ARENA, TENSOR_BOOL, "3,4,7");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "3,4,7");
    program_case_step(&test, &gather, (int[]){table, ids, -2}, rows);
    program_case_step(&test, &less, (int[]){rows, x, -2}, mask);
    program_case_step(&test, &where, (int[]){mask, rows, x, -2}, y);
    cr_assert_eq(program_case_error(&test), 0);
}

Test(backend_cpu_choose, convolutions_with_computed_weights_are_right) {
    const struct operation conv = {.kind = OPERATION_CONV,
                                   .window = {.spatial = 2,
                                              .kernel = {3, 3},
                                              .strides = {1, 1},
                                              .dilations = {1, 1},
                                              .pads = {1, 1},
                                              .pads_end = {1, 1},
                                              .groups = 1}};
    int x = program_case_floats(&test, PROGRAM_INPUT, "1,4,6,6"),
        w = program_case_floats(&test, PROGRAM_INPUT, "8,4,3,3");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "1,8,6,6");
    program_case_step(&test, &conv, (int[]){x, w, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-5, "%g", error);
}
