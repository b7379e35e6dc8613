#include "engine/graph/fuse.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/fakes/program_case.h"

static struct program_case test;

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

static const struct operation matmul = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1}};
static const struct operation add = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
static const struct operation multiply = {.kind = OPERATION_BINARY, .binary = BINARY_MULTIPLY};
static const struct operation divide = {.kind = OPERATION_BINARY, .binary = BINARY_DIVIDE};
static const struct operation relu = {.kind = OPERATION_UNARY, .unary = {UNARY_RELU, 0, 0}};
static const struct operation conv = {
    .kind = OPERATION_CONV,
    .window = {.spatial = 2, .kernel = {1, 1}, .strides = {1, 1}, .dilations = {1, 1}, .groups = 1}};
static const struct operation turn = {.kind = OPERATION_TRANSPOSE, .transpose = {{0, 2, 1}}};

static void destroy(void) {
    program_case_release(&test);
}

TestSuite(fuse, .fini = destroy);

static int put(enum program_place place, const char *dims) {
    return program_case_floats(&test, place, dims);
}

static void step(struct operation operation, const int *inputs, int output) {
    program_case_step(&test, &operation, inputs, output);
}

static const struct program_step *at(size_t number) {
    return &test.program.steps[number];
}

/* Runs the program before and after it is fused; the outputs must agree and `steps` steps be left. */
static void fuses_to(size_t steps) {
    float before[512];
    size_t bytes = 0;
    for (int i = 0; i < test.program.buffer_count; i++)
        if (test.program.buffers[i].place == PROGRAM_OUTPUT && test.program.buffers[i].index == 0)
            bytes = test.program.buffers[i].bytes;
    cr_assert(bytes <= sizeof before);
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-5, "%g", error);
    memcpy(before, test.results[0], bytes);
    cr_assert(fuse_program(&test.program));
    cr_assert_eq(test.program.step_count, steps, "%zu", test.program.step_count);
    error = program_case_error(&test);
    cr_assert(error >= 0 && error < 1e-5, "%g", error);
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        float after = ((const float *)(const void *)test.results[0])[i];
        cr_assert(fabsf(after - before[i]) <= 1e-5f * (1 + fabsf(before[i])), "%g %g", (double)after,
                  (double)before[i]);
    }
}

Test(fuse, a_product_takes_its_bias_and_its_activation) {
    int x = put(PROGRAM_INPUT, "2,5,4"), w = put(PROGRAM_CONSTANT, "4,3"), c = put(PROGRAM_CONSTANT, "3");
    int t = put(PROGRAM_ARENA, "2,5,3"), u = put(PROGRAM_ARENA, "2,5,3"), y = put(PROGRAM_OUTPUT, "2,5,3");
    step(matmul, INPUTS(x, w), t);
    step(add, INPUTS(c, t), u);
    step(relu, INPUTS(u), y);
    fuses_to(1);
    cr_assert(at(0)->input_count == 3 && at(0)->inputs[2] == c && at(0)->outputs[0] == y);
    cr_assert(at(0)->operation.matmul.beta == 1.0f && at(0)->operation.then.kind == UNARY_RELU);
    cr_assert(test.program.buffers[t].place == PROGRAM_UNUSED && test.program.buffers[u].place == PROGRAM_UNUSED);
}

Test(fuse, only_a_bias_along_the_columns_is_taken) {
    static const char *const dims[] = {"5,1", "5,3", "1"};
    for (int i = 0; i < 3; i++) {
        int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), c = put(PROGRAM_CONSTANT, dims[i]);
        int t = put(PROGRAM_ARENA, "5,3"), y = put(PROGRAM_OUTPUT, "5,3");
        step(matmul, INPUTS(x, w), t);
        step(add, INPUTS(t, c), y);
        fuses_to(2);
        program_case_release(&test);
    }
}

Test(fuse, a_bias_that_widens_the_product_is_not_taken) {
    int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), c = put(PROGRAM_CONSTANT, "2,1,3");
    int t = put(PROGRAM_ARENA, "5,3"), y = put(PROGRAM_OUTPUT, "2,5,3");
    step(matmul, INPUTS(x, w), t);
    step(add, INPUTS(t, c), y);
    fuses_to(2);
}

Test(fuse, a_value_that_others_read_stays) {
    int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), t = put(PROGRAM_ARENA, "5,3");
    int u = put(PROGRAM_ARENA, "5,3"), y = put(PROGRAM_OUTPUT, "5,3");
    step(matmul, INPUTS(x, w), t);
    step(relu, INPUTS(t), u);
    step(add, INPUTS(t, u), y);
    fuses_to(3);
}

Test(fuse, a_value_that_is_an_output_stays) {
    int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), y = put(PROGRAM_OUTPUT, "5,3");
    int t = program_case_alias(&test, y, "5,3"), z = put(PROGRAM_OUTPUT, "5,3");
    step(matmul, INPUTS(x, w), t);
    step(relu, INPUTS(t), z);
    fuses_to(2);
}

Test(fuse, a_value_that_is_read_under_another_shape_stays) {
    int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), t = put(PROGRAM_ARENA, "5,3");
    int flat = program_case_alias(&test, t, "15"), u = put(PROGRAM_ARENA, "5,3");
    int y = put(PROGRAM_OUTPUT, "5,3"), z = put(PROGRAM_OUTPUT, "15");
    step(matmul, INPUTS(x, w), t);
    step(relu, INPUTS(t), u);
    step(relu, INPUTS(flat), z);
    step(relu, INPUTS(u), y);
    fuses_to(4);
}

Test(fuse, factors_go_into_the_product) {
    int x = put(PROGRAM_INPUT, "2,5,4"), z = put(PROGRAM_INPUT, "2,4,6"), t = put(PROGRAM_ARENA, "2,5,4");
    int s = put(PROGRAM_CONSTANT, ""), u = put(PROGRAM_ARENA, "2,5,6"), y = put(PROGRAM_OUTPUT, "2,5,6");
    const struct operation scale = {.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 0.5f, 0}};
    program_case_values(&test, s)[0] = 4;
    step(scale, INPUTS(x), t);
    step(matmul, INPUTS(t, z), u);
    step(divide, INPUTS(u, s), y);
    fuses_to(1);
    cr_assert(at(0)->operation.matmul.alpha == 0.125f && at(0)->inputs[0] == x);
}

Test(fuse, a_factor_that_is_shared_or_divided_stays) {
    int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), s = put(PROGRAM_CONSTANT, "");
    int t = put(PROGRAM_ARENA, "5,3"), y = put(PROGRAM_OUTPUT, "5,3"), other = put(PROGRAM_INPUT, "5,3");
    step(matmul, INPUTS(x, w), t);
    step(divide, INPUTS(s, t), y);
    fuses_to(2);
    program_case_release(&test);
    x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), t = put(PROGRAM_ARENA, "5,3");
    y = put(PROGRAM_OUTPUT, "5,3"), other = put(PROGRAM_INPUT, "5,3");
    step(matmul, INPUTS(x, w), t);
    step(multiply, INPUTS(t, other), y);
    fuses_to(2);
}

Test(fuse, transpositions_of_operands_become_flags) {
    int x = put(PROGRAM_INPUT, "2,5,4"), z = put(PROGRAM_INPUT, "2,6,4"), t = put(PROGRAM_ARENA, "2,4,6");
    int y = put(PROGRAM_OUTPUT, "2,5,6");
    step(turn, INPUTS(z), t);
    step(matmul, INPUTS(x, t), y);
    fuses_to(1);
    cr_assert(at(0)->operation.matmul.transpose_b && !at(0)->operation.matmul.transpose_a && at(0)->inputs[1] == z);
}

Test(fuse, a_transposition_that_others_read_is_still_computed) {
    int x = put(PROGRAM_INPUT, "2,5,4"), z = put(PROGRAM_INPUT, "2,6,4"), t = put(PROGRAM_ARENA, "2,4,6");
    int y = put(PROGRAM_OUTPUT, "2,5,6"), also = put(PROGRAM_OUTPUT, "2,4,6");
    step(turn, INPUTS(z), t);
    step(matmul, INPUTS(x, t), y);
    step(relu, INPUTS(t), also);
    fuses_to(3);
    cr_assert(at(1)->operation.matmul.transpose_b);
}

Test(fuse, a_convolution_takes_a_bias_by_channel) {
    int x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "4,3,1,1"), c = put(PROGRAM_CONSTANT, "1,4,1,1");
    int t = put(PROGRAM_ARENA, "2,4,2,2"), u = put(PROGRAM_ARENA, "2,4,2,2"), y = put(PROGRAM_OUTPUT, "2,4,2,2");
    step(conv, INPUTS(x, w), t);
    step(add, INPUTS(t, c), u);
    step(relu, INPUTS(u), y);
    fuses_to(1);
    cr_assert(at(0)->input_count == 3 && test.program.buffers[at(0)->inputs[2]].shape.rank == 1);
}

Test(fuse, a_residual_is_added_within_the_convolution) {
    int x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "3,3,1,1"), b = put(PROGRAM_CONSTANT, "3");
    int t = put(PROGRAM_ARENA, "2,3,2,2"), u = put(PROGRAM_ARENA, "2,3,2,2"), y = put(PROGRAM_OUTPUT, "2,3,2,2");
    step(conv, INPUTS(x, w, b), t);
    step(add, INPUTS(x, t), u);
    step(relu, INPUTS(u), y);
    fuses_to(1);
    cr_assert(at(0)->input_count == 4 && at(0)->inputs[3] == x && at(0)->operation.then.kind == UNARY_RELU);
}

Test(fuse, of_two_convolutions_the_later_one_adds) {
    int x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "3,3,1,1"), v = put(PROGRAM_CONSTANT, "3,3,1,1");
    int t = put(PROGRAM_ARENA, "2,3,2,2"), u = put(PROGRAM_ARENA, "2,3,2,2"), y = put(PROGRAM_OUTPUT, "2,3,2,2");
    step(conv, INPUTS(x, w), t);
    step(conv, INPUTS(x, v), u);
    step(add, INPUTS(t, u), y);
    fuses_to(2);
    cr_assert(at(1)->inputs[1] == v && at(1)->inputs[3] == t && at(0)->outputs[0] == t);
}

Test(fuse, a_convolution_waits_for_a_residual_that_comes_later) {
    int x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "3,3,1,1"), t = put(PROGRAM_ARENA, "2,3,2,2");
    int u = put(PROGRAM_ARENA, "2,3,2,2"), y = put(PROGRAM_OUTPUT, "2,3,2,2");
    const struct operation tanh_of = {.kind = OPERATION_UNARY, .unary = {UNARY_TANH, 0, 0}};
    step(conv, INPUTS(x, w), t);
    step(tanh_of, INPUTS(x), u);
    step(add, INPUTS(t, u), y);
    fuses_to(2);
    cr_assert(at(0)->operation.kind == OPERATION_UNARY && at(1)->operation.kind == OPERATION_CONV);
    cr_assert(at(1)->inputs[3] == u && at(1)->outputs[0] == y);
}

Test(fuse, a_residual_behind_an_activation_or_of_another_shape_stays) {
    int x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "3,3,1,1"), t = put(PROGRAM_ARENA, "2,3,2,2");
    int u = put(PROGRAM_ARENA, "2,3,2,2"), y = put(PROGRAM_OUTPUT, "2,3,2,2");
    step(conv, INPUTS(x, w), t);
    step(relu, INPUTS(t), u);
    step(add, INPUTS(u, x), y);
    fuses_to(2);
    program_case_release(&test);
    int row = put(PROGRAM_INPUT, "1,3,2,2");
    x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "3,3,1,1"), t = put(PROGRAM_ARENA, "2,3,2,2");
    y = put(PROGRAM_OUTPUT, "2,3,2,2");
    step(conv, INPUTS(x, w), t);
    step(add, INPUTS(t, row), y);
    fuses_to(2);
}

Test(fuse, a_sum_of_a_value_with_itself_stays) {
    int x = put(PROGRAM_INPUT, "2,3,2,2"), w = put(PROGRAM_CONSTANT, "3,3,1,1"), t = put(PROGRAM_ARENA, "2,3,2,2");
    int y = put(PROGRAM_OUTPUT, "2,3,2,2");
    step(conv, INPUTS(x, w), t);
    step(add, INPUTS(t, t), y);
    fuses_to(2);
}

Test(fuse, two_scales_are_one) {
    int x = put(PROGRAM_INPUT, "4"), t = put(PROGRAM_ARENA, "4"), y = put(PROGRAM_OUTPUT, "4");
    step((struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 2, 3}}, INPUTS(x), t);
    step((struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 5, 7}}, INPUTS(t), y);
    fuses_to(1);
    cr_assert(at(0)->operation.unary.a == 10.0f && at(0)->operation.unary.b == 22.0f);
}

Test(fuse, functions_that_give_bools_are_no_activations) {
    int x = put(PROGRAM_INPUT, "5,4"), w = put(PROGRAM_CONSTANT, "4,3"), t = put(PROGRAM_ARENA, "5,3");
    int y = program_case_buffer(&test, PROGRAM_OUTPUT, TENSOR_BOOL, "5,3");
    step(matmul, INPUTS(x, w), t);
    step((struct operation){.kind = OPERATION_UNARY, .unary = {UNARY_IS_NAN, 0, 0}}, INPUTS(t), y);
    cr_assert(fuse_program(&test.program));
    cr_assert_eq(test.program.step_count, 2);
}

Test(fuse, an_empty_program_stays_empty) {
    cr_assert(fuse_program(&test.program));
    cr_assert_eq(test.program.step_count, 0);
}
