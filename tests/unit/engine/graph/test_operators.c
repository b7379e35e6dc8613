#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/operators.h"
#include "engine/graph/plan.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;

/* Plans a model with that one node between x and y. */
static enum weir_status plan(struct onnx_node node) {
    struct plan *made;
    onnx_begin(&model);
    onnx_add_node(&model, node);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    enum weir_status status = model_plan(&model, 13, &made, &err);
    if (status == WEIR_OK)
        plan_destroy(made);
    return status;
}

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(operators, an_unknown_operator_is_named_with_node_domain_and_opset) {
    cr_assert_eq(plan((struct onnx_node){"NonMaxSuppression", "x", "y", NULL, "nms_7", NULL}), WEIR_UNSUPPORTED);
    names("NonMaxSuppression");
    names("nms_7");
    names("opset 13");
    names("ai.onnx");
}

Test(operators, an_unnamed_node_shows_its_index_and_output) {
    cr_assert_eq(plan((struct onnx_node){"Unique", "x", "y", NULL, NULL, NULL}), WEIR_UNSUPPORTED);
    names("node 0");
    names("Unique -> y");
}

Test(operators, another_domain_is_named_also_for_a_known_operator) {
    cr_assert_eq(plan((struct onnx_node){"MagicGelu", "x", "y", NULL, "mg", "com.example"}), WEIR_UNSUPPORTED);
    names("com.example");
    names("MagicGelu");
    cr_assert_eq(plan((struct onnx_node){"Relu", "x", "y", NULL, NULL, "com.example"}), WEIR_UNSUPPORTED);
}

Test(operators, the_nearest_supported_operator_is_named_where_there_is_one) {
    cr_assert_eq(plan((struct onnx_node){"Elu", "x", "y", NULL, NULL, NULL}), WEIR_UNSUPPORTED);
    names("nearest: LeakyRelu");
}

Test(operators, an_attribute_that_is_not_known_is_refused_not_passed_over) {
    cr_assert_eq(plan((struct onnx_node){"Relu", "x", "y", "alpha:f=1", NULL, NULL}), WEIR_UNSUPPORTED);
    names("'alpha'");
    cr_assert_eq(plan((struct onnx_node){"LeakyRelu", "x", "y", "alph:f=1", NULL, NULL}), WEIR_UNSUPPORTED);
    cr_assert_eq(plan((struct onnx_node){"LeakyRelu", "x", "y", "alpha:f=1", NULL, NULL}), WEIR_OK);
}

Test(operators, too_few_or_too_many_inputs_are_invalid) {
    cr_assert_eq(plan((struct onnx_node){"Relu", "x x", "y", NULL, NULL, NULL}), WEIR_INVALID);
    cr_assert_eq(plan((struct onnx_node){"Add", "x", "y", NULL, NULL, NULL}), WEIR_INVALID);
    cr_assert_eq(plan((struct onnx_node){"Relu", "-", "y", NULL, NULL, NULL}), WEIR_INVALID);
}
