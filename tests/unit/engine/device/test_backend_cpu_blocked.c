#include <criterion/criterion.h>

#include "engine/device/backend_cpu_blocked.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_blocked, .fini = release);

static const struct window one = {.spatial = 2, .kernel = {1, 1}, .strides = {1, 1}, .dilations = {1, 1}, .groups = 1};

/* A convolution, whose output lies in blocks. */
static int conv(const char *x, const char *w, const char *y, enum program_place place) {
    const struct operation operation = {.kind = OPERATION_CONV, .window = one};
    int from = program_case_floats(&test, PROGRAM_INPUT, x), weights = program_case_floats(&test, PROGRAM_CONSTANT, w);
    int to = program_case_floats(&test, place, y);
    program_case_step(&test, &operation, (int[]){from, weights, -2}, to);
    return to;
}

static void conv_behind(int x, const char *w, const char *y) {
    const struct operation operation = {.kind = OPERATION_CONV, .window = one};
    int weights = program_case_floats(&test, PROGRAM_CONSTANT, w), to = program_case_floats(&test, PROGRAM_OUTPUT, y);
    program_case_step(&test, &operation, (int[]){x, weights, -2}, to);
}

static void expect_right(const char *what) {
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-5, "%s: %g", what, error);
    program_case_release(&test);
}

Test(backend_cpu_blocked, functions_run_over_whole_and_padded_blocks) {
    static const enum unary_kind kinds[] = {UNARY_RELU, UNARY_SIGMOID, UNARY_EXP, UNARY_COS, UNARY_SILU};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int padded = 0; padded < 2; padded++) {
            const char *shape = padded ? "2,5,6,6" : "2,32,6,6";
            const struct operation function = {.kind = OPERATION_UNARY, .unary = {.kind = kinds[i], .a = 1}};
            int c = conv("2,8,6,6", padded ? "5,8,1,1" : "32,8,1,1", shape, PROGRAM_ARENA);
            int f = program_case_floats(&test, PROGRAM_ARENA, shape);
            program_case_step(&test, &function, (int[]){c, -2}, f);
            conv_behind(f, padded ? "16,5,1,1" : "16,32,1,1", "2,16,6,6");
            expect_right(operation_unary_text(kinds[i]));
        }
}

Test(backend_cpu_blocked, arithmetic_takes_equal_tensors_channels_and_scalars_on_both_sides) {
    static const char *const shapes[] = {"2,32,6,6", "1,32,1,1", "32,1,1", "2,32,1,1", "", "1", "6,6", "2,1,6,6"};
    static const enum binary_kind kinds[] = {BINARY_ADD, BINARY_SUBTRACT, BINARY_MULTIPLY, BINARY_MAXIMUM};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (int flags = 0; flags < 8; flags++) {
                const struct operation operation = {.kind = OPERATION_BINARY, .binary = kinds[k]};
                int c = conv("2,8,6,6", "32,8,1,1", "2,32,6,6", PROGRAM_ARENA);
                int b = program_case_floats(&test, flags & 1 ? PROGRAM_CONSTANT : PROGRAM_INPUT, shapes[i]);
                int s = program_case_floats(&test, flags & 4 ? PROGRAM_OUTPUT : PROGRAM_ARENA, "2,32,6,6");
                program_case_step(&test, &operation, flags & 2 ? (int[]){b, c, -2} : (int[]){c, b, -2}, s);
                conv_behind(s, "16,32,1,1", "2,16,6,6");
                expect_right(shapes[i]);
            }
}

Test(backend_cpu_blocked, padded_channels_are_not_mixed_up_with_values) {
    static const char *const shapes[] = {"2,5,6,6", "5,1,1", ""};
    static const enum binary_kind kinds[] = {BINARY_ADD, BINARY_MULTIPLY, BINARY_DIVIDE};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            const struct operation operation = {.kind = OPERATION_BINARY, .binary = kinds[k]};
            int c = conv("2,8,6,6", "5,8,1,1", "2,5,6,6", PROGRAM_ARENA);
            int b = program_case_floats(&test, PROGRAM_INPUT, shapes[i]);
            int s = program_case_floats(&test, PROGRAM_ARENA, "2,5,6,6");
            program_case_step(&test, &operation, (int[]){c, b, -2}, s);
            conv_behind(s, "16,5,1,1", "2,16,6,6");
            double error = program_case_error(&test);
            cr_assert(error >= 0 && error < 1e-4, "%s %zu: %g", shapes[i], k, error);
            program_case_release(&test);
        }
}

Test(backend_cpu_blocked, channels_are_joined_whether_they_fill_blocks_or_not) {
    static const char *const widths[][4] = {{"16,8,1,1", "2,16,6,6", "2,32,6,6", "24,32,1,1"},
                                            {"5,8,1,1", "2,5,6,6", "2,21,6,6", "24,21,1,1"}};
    for (size_t i = 0; i < 2; i++)
        for (int input = 0; input < 2; input++) {
            const struct operation join = {.kind = OPERATION_CONCAT, .axis = 1};
            int a = conv("2,8,6,6", widths[i][0], widths[i][1], PROGRAM_ARENA);
            int b = input ? program_case_floats(&test, PROGRAM_INPUT, "2,16,6,6")
                          : conv("2,8,6,6", "16,8,1,1", "2,16,6,6", PROGRAM_ARENA);
            int joined = program_case_floats(&test, PROGRAM_ARENA, widths[i][2]);
            program_case_step(&test, &join, (int[]){a, b, -2}, joined);
            conv_behind(joined, widths[i][3], "2,24,6,6");
            expect_right(widths[i][2]);
        }
}

Test(backend_cpu_blocked, a_tensor_is_not_overwritten_while_it_is_needed) {
    const struct operation negate = {.kind = OPERATION_UNARY, .unary = {.kind = UNARY_NEGATE}};
    const struct operation product = {.kind = OPERATION_BINARY, .binary = BINARY_MULTIPLY};
    int c = conv("2,8,6,6", "32,8,1,1", "2,32,6,6", PROGRAM_ARENA);
    int n = program_case_floats(&test, PROGRAM_ARENA, "2,32,6,6"),
        p = program_case_floats(&test, PROGRAM_ARENA, "2,32,6,6");
    program_case_step(&test, &negate, (int[]){c, -2}, n);
    program_case_step(&test, &product, (int[]){n, c, -2}, p);
    conv_behind(p, "16,32,1,1", "2,16,6,6");
    expect_right("negate, multiply");
}

Test(backend_cpu_blocked, functions_that_are_zero_at_zero_are_known) {
    cr_assert(backend_cpu_blocked_keeps_zero(&(struct unary){.kind = UNARY_RELU}));
    cr_assert(backend_cpu_blocked_keeps_zero(&(struct unary){.kind = UNARY_CLIP, .a = -1, .b = 6}));
    cr_assert_not(backend_cpu_blocked_keeps_zero(&(struct unary){.kind = UNARY_CLIP, .a = 1, .b = 6}));
    cr_assert_not(backend_cpu_blocked_keeps_zero(&(struct unary){.kind = UNARY_SIGMOID}));
    cr_assert_not(backend_cpu_blocked_keeps_zero(&(struct unary){.kind = UNARY_SCALE, .a = 1, .b = 1}));
}
