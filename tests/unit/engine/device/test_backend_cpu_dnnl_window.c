#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "engine/device/backend_cpu_dnnl_window.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_dnnl_window, .fini = release);

struct shape {
    const char *x, *w, *y;
    struct window window;
};

#define WINDOW2(k, s, d, p, g)                                                                                         \
    {                                                                                                                  \
        .spatial = 2, .kernel = {k, k}, .strides = {s, s}, .dilations = {d, d}, .pads = {p, p}, .pads_end = {p, p},    \
        .groups = g                                                                                                    \
    }

static double run(const struct shape *shape, enum operation_kind kind, const char *bias, enum unary_kind then) {
    int x = program_case_floats(&test, PROGRAM_INPUT, shape->x),
        w = program_case_floats(&test, PROGRAM_CONSTANT, shape->w);
    int b = bias ? program_case_floats(&test, PROGRAM_CONSTANT, bias) : -1;
    int y = program_case_floats(&test, PROGRAM_OUTPUT, shape->y);
    const struct operation operation = {.kind = kind, .window = shape->window, .then = {.kind = then, .a = 0.1f}};
    program_case_step(&test, &operation, (int[]){x, w, b, -2}, y);
    double error = program_case_error(&test);
    program_case_release(&test);
    return error >= 0 ? error : 1;
}

Test(backend_cpu_dnnl_window, convolutions_of_many_shapes_give_the_oracles_numbers) {
    static const struct shape shapes[] = {
        {"2,3,12,12", "16,3,3,3", "2,16,12,12", WINDOW2(3, 1, 1, 1, 1)},
        {"1,1,9,9", "5,1,2,2", "1,5,8,8", WINDOW2(2, 1, 1, 0, 1)},
        {"3,16,8,8", "32,16,1,1", "3,32,8,8", WINDOW2(1, 1, 1, 0, 1)},
        {"2,32,9,9", "32,1,3,3", "2,32,5,5", WINDOW2(3, 2, 1, 1, 32)},
        {"2,12,7,7", "18,4,3,3", "2,18,3,3", WINDOW2(3, 1, 2, 0, 3)},
        {"1,17,10,10", "19,17,5,5", "1,19,5,5", WINDOW2(5, 2, 1, 2, 1)},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double error = run(&shapes[i], OPERATION_CONV, NULL, UNARY_NONE);
        cr_assert_lt(error, 1e-5, "shape %zu: %g", i, error);
    }
    cr_assert_lt(run(&shapes[0], OPERATION_CONV, "16", UNARY_RELU), 1e-5);
    cr_assert_lt(run(&shapes[1], OPERATION_CONV, "5", UNARY_SIGMOID), 1e-5);
    cr_assert_lt(run(&shapes[1], OPERATION_CONV, "5", UNARY_EXP), 1e-5);
    cr_assert_lt(run(&shapes[4], OPERATION_CONV, "18", UNARY_LEAKY_RELU), 1e-5);
}

Test(backend_cpu_dnnl_window, one_and_three_dimensions_of_space_and_uneven_pads) {
    static const struct shape line = {
        "2,6,20",
        "8,6,3",
        "2,8,20",
        {.spatial = 1, .kernel = {3}, .strides = {1}, .dilations = {2}, .pads = {4}, .groups = 1}};
    static const struct shape solid = {
        "1,4,5,6,7",
        "8,4,2,2,2",
        "1,8,4,5,6",
        {.spatial = 3, .kernel = {2, 2, 2}, .strides = {1, 1, 1}, .dilations = {1, 1, 1}, .groups = 1}};
    cr_assert_lt(run(&line, OPERATION_CONV, "8", UNARY_NONE), 1e-5);
    cr_assert_lt(run(&solid, OPERATION_CONV, NULL, UNARY_TANH), 1e-5);
}

Test(backend_cpu_dnnl_window, transposed_convolutions_give_the_oracles_numbers) {
    static const struct shape doubling = {"2,16,5,5", "16,8,2,2", "2,8,10,10", WINDOW2(2, 2, 1, 0, 1)};
    static const struct shape grouped = {"1,6,4,4", "6,2,3,3", "1,4,9,9", WINDOW2(3, 2, 1, 0, 2)};
    static const struct shape padded = {"1,4,4,4", "4,3,3,3", "1,3,8,8", WINDOW2(3, 2, 1, 1, 1)}; /* output padding 1 */
    cr_assert_lt(run(&doubling, OPERATION_CONV_TRANSPOSE, "8", UNARY_NONE), 1e-5);
    cr_assert_lt(run(&grouped, OPERATION_CONV_TRANSPOSE, NULL, UNARY_NONE), 1e-5);
    cr_assert_lt(run(&padded, OPERATION_CONV_TRANSPOSE, "3", UNARY_NONE), 1e-5);
}

Test(backend_cpu_dnnl_window, averages_count_padding_as_they_are_told) {
    for (int count = 0; count < 2; count++)
        for (int ceil = 0; ceil < 2; ceil++) {
            int x = program_case_floats(&test, PROGRAM_INPUT, "2,20,10,10");
            int y = program_case_floats(&test, PROGRAM_OUTPUT, ceil ? "2,20,6,6" : "2,20,5,5");
            struct operation operation = {
                .kind = OPERATION_POOL,
                .pool = {.kind = POOL_AVERAGE, .count_padding = count, .window = WINDOW2(3, 2, 1, 1, 1)}};
            program_case_step(&test, &operation, (int[]){x, -2}, y);
            double error = program_case_error(&test);
            cr_assert(error >= 0 && error < 1e-6, "%d %d: %g", count, ceil, error);
            program_case_release(&test);
        }
}

/* The first block of a residual network: conv, relu, max pool, conv, conv + what went in, relu, mean, product. */
static void residual(int batch, const char *channels, bool keep_input) {
    char d[8][64];
    snprintf(d[0], 64, "%d,3,18,18", batch);
    snprintf(d[1], 64, "%d,%s,9,9", batch, channels);
    snprintf(d[2], 64, "%d,%s,5,5", batch, channels);
    snprintf(d[3], 64, "%s,3,3,3", channels);
    snprintf(d[4], 64, "%s,%s,3,3", channels, channels);
    snprintf(d[5], 64, "%d,%s,1,1", batch, channels);
    snprintf(d[6], 64, "%d,%s", batch, channels);
    snprintf(d[7], 64, "%s,10", channels);
    char out[16];
    snprintf(out, sizeof out, "%d,10", batch);
    int x = program_case_floats(&test, PROGRAM_INPUT, d[0]), w1 = program_case_floats(&test, PROGRAM_CONSTANT, d[3]);
    int w2 = program_case_floats(&test, PROGRAM_CONSTANT, d[4]),
        w3 = program_case_floats(&test, PROGRAM_CONSTANT, d[4]);
    int b = program_case_floats(&test, PROGRAM_CONSTANT, channels),
        w4 = program_case_floats(&test, PROGRAM_CONSTANT, d[7]);
    int c1 = program_case_floats(&test, PROGRAM_ARENA, d[1]), p = program_case_floats(&test, PROGRAM_ARENA, d[2]);
    int c2 = program_case_floats(&test, PROGRAM_ARENA, d[2]), c3 = program_case_floats(&test, PROGRAM_ARENA, d[2]);
    int m = program_case_floats(&test, PROGRAM_ARENA, d[5]), flat = program_case_alias(&test, m, d[6]);
    int y = program_case_floats(&test, PROGRAM_OUTPUT, out);
    const struct operation first = {
        .kind = OPERATION_CONV, .window = WINDOW2(3, 2, 1, 1, 1), .then = {.kind = UNARY_RELU}};
    const struct operation other = {
        .kind = OPERATION_CONV, .window = WINDOW2(3, 1, 1, 1, 1), .then = {.kind = UNARY_RELU}};
    const struct operation pool = {.kind = OPERATION_POOL,
                                   .pool = {.kind = POOL_MAX, .window = WINDOW2(3, 2, 1, 1, 1)}};
    const struct operation mean = {.kind = OPERATION_REDUCE, .reduce = {.kind = REDUCE_MEAN, .axes = 12}};
    const struct operation product = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
    program_case_step(&test, &first, (int[]){x, w1, b, -2}, c1);
    program_case_step(&test, &pool, (int[]){c1, -2}, p);
    program_case_step(&test, &other, (int[]){p, w2, b, -2}, c2);
    program_case_step(&test, &other, (int[]){c2, w3, b, p, -2}, c3);
    program_case_step(&test, &mean, (int[]){c3, -2}, m);
    program_case_step(&test, &product, (int[]){flat, w4, -2}, y);
    if (keep_input) {
        int z = program_case_floats(&test, PROGRAM_OUTPUT, d[2]);
        const struct operation copy = {.kind = OPERATION_COPY};
        program_case_step(&test, &copy, (int[]){p, -2}, z);
    }
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-5, "%d, %s: %g", batch, channels, error);
}

Test(backend_cpu_dnnl_window, a_residual_block_stays_in_blocks) {
    residual(2, "32", false);
    cr_assert_leq(test.built_steps, 12);
}

Test(backend_cpu_dnnl_window, channels_that_fill_no_block_are_right_too) {
    residual(1, "20", false);
}

Test(backend_cpu_dnnl_window, what_is_added_is_not_overwritten_while_it_is_needed) {
    residual(3, "16", true);
}

Test(backend_cpu_dnnl_window, nan_goes_through_relu_and_max_pool) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "1,4,8,8"),
        w = program_case_floats(&test, PROGRAM_CONSTANT, "16,4,3,3");
    int c = program_case_floats(&test, PROGRAM_ARENA, "1,16,8,8"),
        y = program_case_floats(&test, PROGRAM_OUTPUT, "1,16,4,4");
    program_case_values(&test, w)[40] = NAN;
    const struct operation conv = {
        .kind = OPERATION_CONV, .window = WINDOW2(3, 1, 1, 1, 1), .then = {.kind = UNARY_RELU}};
    const struct operation pool = {.kind = OPERATION_POOL,
                                   .pool = {.kind = POOL_MAX, .window = WINDOW2(2, 2, 1, 0, 1)}};
    program_case_step(&test, &conv, (int[]){x, w, -2}, c);
    program_case_step(&test, &pool, (int[]){c, -2}, y);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-5, "%g", error);
    cr_assert(isnan(((float *)(void *)test.results[0])[16])); /* channel 1 */
}

Test(backend_cpu_dnnl_window, of_convolutions_in_bfloat16_only_long_sums_are_rounded) {
    static const struct shape wide = {"2,64,6,6", "32,64,3,3", "2,32,6,6", WINDOW2(3, 1, 1, 1, 1)};
    static const struct shape others[] = {
        {"2,3,20,20", "32,3,15,15", "2,32,6,6", WINDOW2(15, 1, 1, 0, 1)},
        {"2,64,6,6", "4,64,3,3", "2,4,6,6", WINDOW2(3, 1, 1, 1, 1)},
        {"2,64,6,6", "32,64,1,1", "2,32,6,6", WINDOW2(1, 1, 1, 0, 1)},
        {"2,64,6,6", "64,1,3,3", "2,64,6,6", WINDOW2(3, 1, 1, 1, 64)},
    };
    static const struct shape transposed = {"2,64,6,6", "64,32,3,3", "2,32,6,6", WINDOW2(3, 1, 1, 1, 1)};
    if (!backend_cpu_dnnl_has_bf16())
        cr_skip_test("this processor has no bfloat16");
    test.bf16 = true;
    double error = run(&wide, OPERATION_CONV, "32", UNARY_RELU);
    cr_assert(error > 1e-4 && error < 2e-2, "%g", error);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        test.bf16 = true;
        error = run(&others[i], OPERATION_CONV, NULL, UNARY_NONE);
        cr_assert_lt(error, 1e-5, "shape %zu: %g", i, error);
    }
    test.bf16 = true;
    cr_assert_lt(run(&transposed, OPERATION_CONV_TRANSPOSE, NULL, UNARY_NONE), 1e-5);
}
