#include "engine/graph/describe.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/plan.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct plan *plan;
static struct weir_error err;
static char text[4096];

static void destroy(void) {
    plan_destroy(plan);
}

TestSuite(describe, .fini = destroy);

static void add(const char *op, const char *inputs, const char *outputs, const char *attributes) {
    onnx_add_node(&model, (struct onnx_node){op, inputs, outputs, attributes, NULL, NULL});
}

static void make_layer(void) {
    static const float w[12] = {0}, b[3] = {0};
    add("MatMul", "x W", "t", NULL);
    add("Add", "t b", "u", NULL);
    add("Relu", "u", "v", NULL);
    add("Softmax", "v", "y", NULL);
    onnx_add_floats(&model, "W", "4,3", w, 12);
    onnx_add_floats(&model, "b", "3", b, 3);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,3");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
}

static void holds(const char *line) {
    cr_assert_not_null(strstr(text, line), "%s is not in:\n%s", line, text);
}

Test(describe, the_text_holds_what_people_ask_for) {
    make_layer();
    size_t length = plan_describe(plan, text, sizeof text);
    cr_assert_eq(length, strlen(text));
    cr_assert_str_eq(text, "input      x float32 [batch,4]\n"
                           "output     y float32 [batch,3]\n"
                           "batch      rows stay apart and run together\n"
                           "opset      ai.onnx 13, IR version 8, made by test\n"
                           "operators  MatMul x 1, Add x 1, Relu x 1, Softmax x 1\n"
                           "parameters 15\n"
                           "flops/row  27\n"
                           "arena      64 bytes for 1 row, 384 for 32\n"
                           "steps      2\n"
                           "  0 matmul + bias + relu: input [1,4], constant [4,3], constant [3] -> [1,3]\n"
                           "  1 softmax: [1,3] -> output [1,3]\n");
}

Test(describe, a_text_that_does_not_fit_is_cut_and_its_length_told) {
    char part[100];
    make_layer();
    size_t length = plan_describe(plan, text, sizeof text);
    cr_assert_eq(plan_describe(plan, part, sizeof part), length);
    cr_assert_eq(strlen(part), sizeof part - 1);
    cr_assert(memcmp(text, part, sizeof part - 1) == 0);
    cr_assert_eq(plan_describe(plan, NULL, 0), length);
}

Test(describe, free_dimensions_have_their_names_and_the_example_their_sizes) {
    add("Tanh", "x", "y", NULL);
    onnx_add_input(&model, "x", "batch,length,4");
    onnx_add_output(&model, "y", "batch,length,4");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    plan_describe(plan, text, sizeof text);
    holds("x float32 [batch,length,4]\n");
    holds("example    length=16\n");
    holds("  0 tanh: input [1,16,4] -> output [1,16,4]\n");
}

Test(describe, why_rows_may_not_run_together_is_said) {
    add("ReduceSum", "x", "s", "keepdims:i=1");
    add("Add", "x s", "y", NULL);
    onnx_add_input(&model, "x", "batch,4");
    onnx_add_output(&model, "y", "batch,4");
    cr_assert_eq(model_plan(&model, 11, &plan, &err), WEIR_OK, "%s", err.text);
    plan_describe(plan, text, sizeof text);
    holds("batch      at most 1 row together: ");
    holds("it reduces over the rows");
}
