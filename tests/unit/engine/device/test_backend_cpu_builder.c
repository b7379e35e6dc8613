#include <criterion/criterion.h>

#include "engine/device/backend_cpu_builder.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_builder, .fini = release);

static const struct operation negate = {.kind = OPERATION_UNARY, .unary = {.kind = UNARY_NEGATE}};
static const struct operation add = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
static const struct operation copy = {.kind = OPERATION_COPY};
static void expect(double tolerance) {
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error <= tolerance, "%g", error);
}

Test(backend_cpu_builder, a_chain_of_functions_is_done_in_place) {
    struct backend_cpu_device device;
    struct backend_cpu_constants constants = {.device = &device};
    const struct backend_cpu_build how = {&device, &constants, false, false};
    struct backend_cpu_program *built;
    struct weir_error err;
    char text[64];
    int last = program_case_floats(&test, PROGRAM_INPUT, "100");
    for (int i = 0; i < 6; i++) {
        int next = program_case_floats(&test, i < 5 ? PROGRAM_ARENA : PROGRAM_OUTPUT, "100");
        program_case_step(&test, &negate, (int[]){last, -2}, next);
        last = next;
    }
    expect(0);
    cr_assert_eq(backend_cpu_dnnl_open(&device, text, sizeof text, &err), WEIR_OK);
    cr_assert_eq(backend_cpu_builder_make(&how, &test.program, &built, &err), WEIR_OK);
    cr_assert_eq(built->arena_bytes, 448); /* 100 floats in whole lines, once */
    backend_cpu_program_destroy(built);
    backend_cpu_constants_release(&constants);
    backend_cpu_dnnl_close(&device);
}

Test(backend_cpu_builder, what_is_read_later_is_not_overwritten) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "50"), a = program_case_floats(&test, PROGRAM_ARENA, "50");
    int b = program_case_floats(&test, PROGRAM_ARENA, "50"), c = program_case_floats(&test, PROGRAM_ARENA, "50");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "50");
    program_case_step(&test, &negate, (int[]){x, -2}, a);
    program_case_step(&test, &negate, (int[]){a, -2}, b);
    program_case_step(&test, &add, (int[]){b, a, -2}, c);
    program_case_step(&test, &add, (int[]){c, a, -2}, y);
    expect(0);
}

Test(backend_cpu_builder, a_copy_of_what_is_not_read_later_is_no_step) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "50"), a = program_case_floats(&test, PROGRAM_ARENA, "50");
    int b = program_case_floats(&test, PROGRAM_ARENA, "5,10"), y = program_case_floats(&test, PROGRAM_OUTPUT, "5,10");
    program_case_step(&test, &negate, (int[]){x, -2}, a);
    program_case_step(&test, &copy, (int[]){a, -2}, b);
    program_case_step(&test, &negate, (int[]){b, -2}, y);
    expect(0);
    cr_assert_eq(test.built_steps, 2);
}

Test(backend_cpu_builder, the_input_stays_as_it_was_given) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "50"), a = program_case_floats(&test, PROGRAM_ARENA, "50");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "50"), z = program_case_floats(&test, PROGRAM_OUTPUT, "50");
    program_case_step(&test, &negate, (int[]){x, -2}, a);
    program_case_step(&test, &negate, (int[]){a, -2}, y);
    program_case_step(&test, &copy, (int[]){x, -2}, z);
    expect(0); /* also in its second run */
}

Test(backend_cpu_builder, tensors_without_elements_are_left_to_the_oracle) {
    const struct operation product = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
    int x = program_case_floats(&test, PROGRAM_INPUT, "0,8"), w = program_case_floats(&test, PROGRAM_CONSTANT, "8,4");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "0,4"), e = program_case_floats(&test, PROGRAM_INPUT, "3,0");
    int v = program_case_floats(&test, PROGRAM_CONSTANT, "0,4"), z = program_case_floats(&test, PROGRAM_OUTPUT, "3,4");
    program_case_step(&test, &product, (int[]){x, w, -2}, y);
    program_case_step(&test, &product, (int[]){e, v, -2}, z);
    expect(0);
}

Test(backend_cpu_builder, scratch_memory_is_part_of_the_arena) {
    const struct operation lstm = {
        .kind = OPERATION_RECURRENT,
        .recurrent = {.kind = RECURRENT_LSTM,
                      .directions = 1,
                      .functions = {{{.kind = UNARY_SIGMOID}, {.kind = UNARY_TANH}, {.kind = UNARY_TANH}}}}};
    int x = program_case_floats(&test, PROGRAM_INPUT, "5,2,6"),
        w = program_case_floats(&test, PROGRAM_CONSTANT, "1,16,6");
    int r = program_case_floats(&test, PROGRAM_CONSTANT, "1,16,4"),
        y = program_case_floats(&test, PROGRAM_OUTPUT, "5,1,2,4");
    program_case_step(&test, &lstm, (int[]){x, w, r, -2}, y);
    expect(1e-5);
}
