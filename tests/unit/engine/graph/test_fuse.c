#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/graph/fuse.h"
#include "engine/graph/plan_parts.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;
static struct plan *plan;
static const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, c[3] = {1, -2, 4};
static const float x[8] = {1, 2, 3, 4, -2, 0.5f, 8, 1};

static void destroy(void) {
    plan_destroy(plan);
}

TestSuite(fuse, .fini = destroy);

static void add(const char *op, const char *in, const char *out) {
    onnx_add_node(&model, (struct onnx_node){op, in, out, NULL, NULL, NULL});
}

static void read(void) {
    plan_destroy(plan);
    plan = NULL;
    onnx_add_floats(&model, "W", "4,3", w, 12);
    onnx_add_floats(&model, "c", "3", c, 3);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,3");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    onnx_begin(&model);
}

/* What the row gives before anything follows the product. */
static float product(size_t row, size_t col) {
    return x[row * 4 + col] + x[row * 4 + 3];
}

Test(fuse, matmul_add_and_an_activation_become_one_step) {
    float y[6];
    add("MatMul", "x W", "t");
    add("Add", "c t", "u");
    add("Relu", "u", "y");
    read();
    cr_assert_eq(plan->program.step_count, 1);
    const struct program_step *step = &plan->program.steps[0];
    cr_assert(step->kind == PROGRAM_DENSE && step->dense.bias && step->activation.kind == ACTIVATION_RELU);
    cr_assert_eq(plan->program.arena_row_bytes, 0);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 6; i++)
        cr_assert(y[i] == fmaxf(product(i / 3, i % 3) + c[i % 3], 0));
}

Test(fuse, constants_on_either_side_and_of_every_operation_are_absorbed) {
    static const struct {
        const char *op, *in;
        size_t steps;
    } rows[] = {{"Add", "t c", 1}, {"Sub", "t c", 1}, {"Mul", "t c", 1}, {"Div", "t c", 1},
                {"Sub", "c t", 1}, {"Mul", "c t", 1}, {"Div", "c t", 2}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        float y[6];
        add("MatMul", "x W", "t");
        add(rows[r].op, rows[r].in, "y");
        read();
        cr_assert_eq(plan->program.step_count, rows[r].steps, "row %zu", r);
        cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
        for (size_t i = 0; i < 6; i++) {
            float p = product(i / 3, i % 3), a = rows[r].in[0] == 't' ? p : c[i % 3],
                  b = rows[r].in[0] == 't' ? c[i % 3] : p;
            float expected = rows[r].op[0] == 'A'   ? a + b
                             : rows[r].op[0] == 'S' ? a - b
                             : rows[r].op[0] == 'M' ? a * b
                                                    : a / b;
            cr_assert(y[i] == expected, "row %zu, element %zu: %g, not %g", r, i, y[i], expected);
        }
    }
}

Test(fuse, a_batch_normalization_after_a_dense_step_disappears) {
    static const float four[3] = {4, 4, 4}, zero[3] = {0, 0, 0};
    float y[6];
    onnx_add_floats(&model, "four", "3", four, 3);
    onnx_add_floats(&model, "zero", "3", zero, 3);
    add("Gemm", "x W c", "t");
    onnx_add_node(&model,
                  (struct onnx_node){"BatchNormalization", "t c zero zero four", "y", "epsilon:f=0", NULL, NULL});
    read();
    cr_assert_eq(plan->program.step_count, 1);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 6; i++)
        cr_assert(y[i] == (product(i / 3, i % 3) + c[i % 3]) * c[i % 3] / 2);
}

Test(fuse, a_result_that_others_read_too_is_kept) {
    float y[6];
    add("MatMul", "x W", "t");
    add("Relu", "t", "u");
    add("Sub", "u t", "y");
    read();
    cr_assert_eq(plan->program.step_count, 3);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 6; i++)
        cr_assert(y[i] == fmaxf(product(i / 3, i % 3), 0) - product(i / 3, i % 3));
}

Test(fuse, a_result_that_is_an_output_is_kept) {
    float y[6];
    onnx_add_output(&model, "t", "N,3");
    add("MatMul", "x W", "t");
    add("Relu", "t", "y");
    read();
    cr_assert_eq(plan->program.step_count, 2);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK); /* t, which is listed first */
    for (size_t i = 0; i < 6; i++)
        cr_assert(y[i] == product(i / 3, i % 3));
}

Test(fuse, nothing_is_added_behind_an_activation) {
    float y[6];
    add("MatMul", "x W", "t");
    add("Relu", "t", "u");
    add("Add", "u c", "v");
    add("Relu", "v", "y");
    read();
    cr_assert_eq(plan->program.step_count, 3);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 6; i++)
        cr_assert(y[i] == fmaxf(fmaxf(product(i / 3, i % 3), 0) + c[i % 3], 0));
}

Test(fuse, elementwise_steps_write_over_what_nobody_reads_again) {
    float y[6];
    add("Gemm", "x W c", "t");
    add("Sigmoid", "t", "u");
    add("Mul", "u c", "v");
    add("Tanh", "v", "y");
    read();
    cr_assert_eq(plan->program.step_count, 3);
    cr_assert_eq(plan->program.arena_row_bytes, 0); /* all in the output's own memory */
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 6; i++) {
        double t = product(i / 3, i % 3) + c[i % 3];
        cr_assert_float_eq(y[i], tanh(c[i % 3] / (1 + exp(-t))), 2e-6);
    }
}

Test(fuse, the_input_is_never_written_over) {
    float y[4];
    add("Relu", "x", "t");
    add("Add", "t x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(model_run_plan(plan, x + 4, 1, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 4; i++)
        cr_assert(y[i] == fmaxf(x[4 + i], 0) + x[4 + i]);
}
