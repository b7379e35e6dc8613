#include <criterion/criterion.h>

#include "engine/device/backend_cpu_layout.h"
#include "tests/fakes/program_case.h"

static struct program_case test;

static void release(void) {
    program_case_release(&test);
}

TestSuite(backend_cpu_layout, .fini = release);

static const struct operation negate = {.kind = OPERATION_UNARY, .unary = {.kind = UNARY_NEGATE}};
static const struct operation product = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1, .beta = 1}};
static const struct operation pointwise = {
    .kind = OPERATION_CONV,
    .window = {.spatial = 2, .kernel = {1, 1}, .strides = {1, 1}, .dilations = {1, 1}, .groups = 1}};

static void expect(double tolerance) {
    double error = program_case_error(&test);
    cr_assert(error >= 0 && error <= tolerance, "%g", error);
}

Test(backend_cpu_layout, a_layout_is_turned_back_once_for_all_that_need_it_row_major) {
    const struct operation last = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = 3}};
    const struct operation transposition = {.kind = OPERATION_TRANSPOSE, .transpose = {.order = {0, 2, 3, 1}}};
    int x = program_case_floats(&test, PROGRAM_INPUT, "2,8,5,6"),
        w = program_case_floats(&test, PROGRAM_CONSTANT, "32,8,1,1");
    int c = program_case_floats(&test, PROGRAM_ARENA, "2,32,5,6"),
        y = program_case_floats(&test, PROGRAM_OUTPUT, "2,32,5,6");
    int z = program_case_floats(&test, PROGRAM_OUTPUT, "2,5,6,32"), flat = program_case_alias(&test, c, "2,960");
    int s = program_case_floats(&test, PROGRAM_OUTPUT, "2,960");
    program_case_step(&test, &pointwise, (int[]){x, w, -2}, c);
    program_case_step(&test, &last, (int[]){c, -2}, y);
    program_case_step(&test, &transposition, (int[]){c, -2}, z);
    program_case_step(&test, &negate, (int[]){flat, -2}, s);
    expect(1e-5);
    cr_assert_leq(test.built_steps, 6); /* x reordered, the convolution, its result reordered, and three */
}

Test(backend_cpu_layout, two_convolutions_share_one_reorder_of_their_input) {
    int x = program_case_floats(&test, PROGRAM_INPUT, "2,32,5,6");
    int v = program_case_floats(&test, PROGRAM_CONSTANT, "16,32,1,1"),
        w = program_case_floats(&test, PROGRAM_CONSTANT, "16,32,1,1");
    int a = program_case_floats(&test, PROGRAM_ARENA, "2,16,5,6"),
        b = program_case_floats(&test, PROGRAM_ARENA, "2,16,5,6");
    int y = program_case_floats(&test, PROGRAM_OUTPUT, "2,16,5,6");
    const struct operation add = {.kind = OPERATION_BINARY, .binary = BINARY_ADD};
    program_case_step(&test, &pointwise, (int[]){x, v, -2}, a);
    program_case_step(&test, &pointwise, (int[]){x, w, -2}, b);
    program_case_step(&test, &add, (int[]){a, b, -2}, y);
    expect(1e-5);
    cr_assert_leq(test.built_steps, 6);
}

Test(backend_cpu_layout, the_rows_of_a_product_may_be_dimensions_that_lay_in_blocks) {
    for (int bf16 = 0; bf16 < 1 + backend_cpu_dnnl_has_bf16(); bf16++) {
        test.bf16 = bf16;
        int x = program_case_floats(&test, PROGRAM_INPUT, "2,8,5,6"),
            v = program_case_floats(&test, PROGRAM_CONSTANT, "16,8,1,1");
        int w = program_case_floats(&test, PROGRAM_CONSTANT, "6,7"),
            u = program_case_floats(&test, PROGRAM_CONSTANT, "30,3");
        int c = program_case_floats(&test, PROGRAM_ARENA, "2,16,5,6"),
            y = program_case_floats(&test, PROGRAM_OUTPUT, "2,16,5,7");
        int flat = program_case_alias(&test, c, "32,30"), z = program_case_floats(&test, PROGRAM_OUTPUT, "32,3");
        program_case_step(&test, &pointwise, (int[]){x, v, -2}, c);
        program_case_step(&test, &product, (int[]){c, w, -2}, y);
        program_case_step(&test, &product, (int[]){flat, u, -2}, z);
        expect(bf16 ? 1e-2 : 1e-5);
        program_case_release(&test);
    }
}
