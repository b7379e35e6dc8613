#include <criterion/criterion.h>
#include <string.h>

#include "engine/device/backend_cpu_steps.h"

enum { ROWS = 3, WIDTH = 4 };

static struct weir_error err;
static float input[ROWS * WIDTH], output[ROWS * WIDTH], wide[ROWS * 2 * WIDTH], arena[256];
static float *inputs[1] = {input}, *outputs[2] = {output, wide};
static struct backend_cpu_body body;

/* Buffers 0: the input, 1: the output, 2: the wide output, 3: 64 bytes of the arena, 4: the 64 bytes behind it. */
static void make(void) {
    body = (struct backend_cpu_body){.arena = arena, .inputs = inputs, .outputs = outputs};
    for (int i = 0; i < 5; i++)
        program_add_buffer(&body.program, i == 2 ? 2 * WIDTH : WIDTH);
    body.program.buffers[0].place = PROGRAM_INPUT;
    body.program.buffers[1].place = body.program.buffers[2].place = PROGRAM_OUTPUT;
    body.program.buffers[2].index = 1;
    body.program.buffers[4].row_offset_bytes = 64;
    for (int i = 0; i < ROWS * WIDTH; i++)
        input[i] = (float)(i - 5);
}

static void release(void) {
    program_release(&body.program);
}

TestSuite(backend_cpu_steps, .init = make, .fini = release);

static void run(size_t rows) {
    struct backend_cpu_steps *steps;
    cr_assert_eq(backend_cpu_steps_create(&body, rows, &steps, &err), WEIR_OK);
    cr_assert_eq(backend_cpu_steps_run(&body, steps, &err), WEIR_OK);
    backend_cpu_steps_destroy(steps);
}

Test(backend_cpu_steps, each_kind_of_step_runs_between_its_buffers) {
    static const float c[2] = {10, 20};
    struct program_step *step = program_add_step(&body.program, PROGRAM_ACTIVATE, 0, 3);
    step->activation.kind = ACTIVATION_RELU;
    step = program_add_step(&body.program, PROGRAM_COMBINE_CONSTANT, 0, 4);
    step->combine = (struct program_combine){COMBINATION_ADD, false, 2, c};
    step = program_add_step(&body.program, PROGRAM_COMBINE, 3, 1);
    step->x2 = 4;
    step->combine.op = COMBINATION_MULTIPLY;
    step = program_add_step(&body.program, PROGRAM_COPY, 1, 2);
    step->copy = (struct program_copy){.outer = 1, .chunk = WIDTH, .stride = 2 * WIDTH, .offset = WIDTH};
    step = program_add_step(&body.program, PROGRAM_COPY, 0, 2);
    step->copy = (struct program_copy){.outer = 1, .chunk = WIDTH, .stride = 2 * WIDTH};
    run(ROWS);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        float expected = (input[i] > 0 ? input[i] : 0) * (input[i] + c[i % 2]);
        cr_assert(output[i] == expected);
        cr_assert(wide[i / WIDTH * 2 * WIDTH + i % WIDTH] == input[i]);
        cr_assert(wide[i / WIDTH * 2 * WIDTH + WIDTH + i % WIDTH] == expected);
    }
}

Test(backend_cpu_steps, a_softmax_covers_every_row_and_no_more) {
    struct program_step *step = program_add_step(&body.program, PROGRAM_SOFTMAX, 0, 1);
    step->softmax = (struct program_softmax){.outer = 2, .length = 2, .inner = 1};
    memset(output, 0, sizeof output);
    run(ROWS - 1);
    for (int i = 0; i < (ROWS - 1) * WIDTH; i += 2)
        cr_assert_float_eq(output[i] + output[i + 1], 1, 1e-6);
    for (int i = (ROWS - 1) * WIDTH; i < ROWS * WIDTH; i++)
        cr_assert(output[i] == 0);
}

Test(backend_cpu_steps, a_program_without_steps_runs) {
    run(1);
    backend_cpu_steps_destroy(NULL);
}
