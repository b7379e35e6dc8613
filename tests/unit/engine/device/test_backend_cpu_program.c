#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/device/backend_cpu_builder.h"
#include "tests/fakes/program_case.h"

static struct program_case test;
static struct backend_cpu_device device;
static struct backend_cpu_constants constants = {.device = &device};
static struct backend_cpu_program *built;
static struct weir_error err;

/* y = relu(x) + x * w, where the sum is taken in the arena. */
static void build(void) {
    char text[64];
    const struct backend_cpu_build how = {&device, &constants, false, false};
    const struct operation relu = {.kind = OPERATION_UNARY, .unary = {.kind = UNARY_RELU}};
    const struct operation product = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
    const struct operation add = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
    int x = program_case_floats(&test, PROGRAM_INPUT, "2,2"), w = program_case_floats(&test, PROGRAM_CONSTANT, "2,2");
    int r = program_case_floats(&test, PROGRAM_ARENA, "2,2"), p = program_case_floats(&test, PROGRAM_ARENA, "2,2");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "2,2");
    float *weights = program_case_values(&test, w);
    for (int i = 0; i < 4; i++)
        weights[i] = (float)(i + 1);
    program_case_step(&test, &relu, (int[]){x, -2}, r);
    program_case_step(&test, &product, (int[]){x, w, -2}, p);
    program_case_step(&test, &add, (int[]){r, p, -2}, y);
    cr_assert_eq(backend_cpu_dnnl_open(&device, text, sizeof text, &err), WEIR_OK);
    cr_assert_eq(backend_cpu_builder_make(&how, &test.program, &built, &err), WEIR_OK, "%s", err.text);
}

static void release(void) {
    backend_cpu_program_destroy(built);
    backend_cpu_constants_release(&constants);
    backend_cpu_dnnl_close(&device);
    program_case_release(&test);
}

TestSuite(backend_cpu_program, .init = build, .fini = release);

Test(backend_cpu_program, it_runs_wherever_its_memory_is) {
    static const float expected[] = {1 + 1 - 6, 0 + 2 - 8, 3 + 3 + 12, 4 + 6 + 16};
    for (int round = 0; round < 3; round++) {
        float *x = aligned_alloc(64, 64), *y = aligned_alloc(64, 64);
        unsigned char *arena = aligned_alloc(64, (built->arena_bytes / 64 + 1) * 64);
        const struct backend_cpu_memory memory = {arena, (void *[]){x}, (void *[]){y}};
        x[0] = 1;
        x[1] = -2;
        x[2] = 3;
        x[3] = 4;
        cr_assert_eq(backend_cpu_program_bind(built, &memory, &err), WEIR_OK);
        cr_assert_eq(backend_cpu_program_run(&device, built, &err), WEIR_OK);
        cr_assert_arr_eq(y, expected, sizeof expected);
        free(x);
        free(y);
        free(arena);
    }
}

Test(backend_cpu_program, nothing_is_destroyed_without_harm) {
    backend_cpu_program_destroy(NULL);
}
