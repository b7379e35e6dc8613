#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/describe.h"
#include "engine/graph/plan.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct plan *plan;

static void make(void) {
    struct weir_error err;
    static const float w[12] = {0}, b[3] = {0};
    onnx_add_node(&model, (struct onnx_node){"MatMul", "x W", "t", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Add", "t b", "u", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Relu", "u", "v", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Softmax", "v", "y", NULL, NULL, NULL});
    onnx_add_floats(&model, "W", "4,3", w, 12);
    onnx_add_floats(&model, "b", "3", b, 3);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,3");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
}

static void destroy(void) {
    plan_destroy(plan);
}

TestSuite(describe, .init = make, .fini = destroy);

Test(describe, the_text_holds_what_people_ask_for) {
    char text[2048];
    size_t length = plan_describe(plan, text, sizeof text);
    cr_assert_eq(length, strlen(text));
    cr_assert_str_eq(text, "input      x float32 [-1,4]\n"
                           "output     y float32 [-1,3]\n"
                           "opset      ai.onnx 13, IR version 8, made by test\n"
                           "operators  MatMul x 1, Add x 1, Relu x 1, Softmax x 1\n"
                           "parameters 15\n"
                           "flops/row  42\n"
                           "arena      0 bytes a row\n"
                           "steps      2\n"
                           "  0 dense 4 -> 3 + bias + relu, input -> output 0\n"
                           "  1 softmax over 3, output 0 -> output 0\n");
}

Test(describe, a_text_that_does_not_fit_is_cut_and_its_length_told) {
    char whole[2048], part[100];
    size_t length = plan_describe(plan, whole, sizeof whole);
    cr_assert_eq(plan_describe(plan, part, sizeof part), length);
    cr_assert_eq(strlen(part), sizeof part - 1);
    cr_assert(memcmp(whole, part, sizeof part - 1) == 0);
    cr_assert_eq(plan_describe(plan, NULL, 0), length);
}
