#include <criterion/criterion.h>

#include "engine/graph/program.h"

Test(program, steps_and_buffers_are_numbered_in_order) {
    struct program program = {0};
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(program_add_buffer(&program, (size_t)i), i);
        struct program_step *step = program_add_step(&program, PROGRAM_ACTIVATE, i, i);
        cr_assert(step->x == i && step->y == i && step->x2 == -1 && step->activation.kind == ACTIVATION_NONE);
    }
    cr_assert(program.step_count == 100 && program.buffer_count == 100);
    cr_assert(program.buffers[42].place == PROGRAM_ARENA && program.buffers[42].row_elements == 42);
    program_release(&program);
    cr_assert(program.step_count == 0 && program.steps == NULL);
}

Test(program, operations_are_counted_per_row) {
    struct program program = {0};
    program_add_buffer(&program, 20);
    program_add_buffer(&program, 6);
    float bias[3];
    struct program_step dense = {.kind = PROGRAM_DENSE, .x = 0, .x2 = -1, .y = 1};
    dense.dense = (struct program_dense){.inner_rows = 2, .in = 10, .out = 3};
    cr_assert(program_row_flops(&dense, &program) == 2.0 * 10 * 6);
    dense.dense.bias = bias;
    dense.activation.kind = ACTIVATION_RELU;
    cr_assert(program_row_flops(&dense, &program) == 2.0 * 10 * 6 + 6 + 6);
    struct program_step copy = {.kind = PROGRAM_COPY, .x = 0, .x2 = -1, .y = 1};
    cr_assert(program_row_flops(&copy, &program) == 0);
    program_release(&program);
}

Test(program, every_kind_has_a_text) {
    for (int i = 0; i < PROGRAM_STEP_KINDS; i++)
        cr_assert_str_neq(program_step_text((enum program_step_kind)i), "unknown");
    for (int i = 0; i <= ACTIVATION_TANH; i++)
        cr_assert_str_neq(program_activation_text((enum activation_kind)i), "unknown");
    cr_assert_str_eq(program_step_text(PROGRAM_STEP_KINDS), "unknown");
}
