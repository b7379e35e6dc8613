#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/lower.h"
#include "engine/graph/plan_parts.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;
static struct plan *plan;

static void destroy(void) {
    plan_destroy(plan);
}

TestSuite(lower, .fini = destroy);

static void add(const char *op, const char *in, const char *out) {
    onnx_add_node(&model, (struct onnx_node){op, in, out, NULL, NULL, NULL});
}

static enum weir_status read(void) {
    return model_plan(&model, 13, &plan, &err);
}

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(lower, an_input_that_is_not_float32_is_named) {
    static const int types[] = {10, 11, 7, 8, 0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        onnx_begin(&model);
        add("Relu", "x", "y");
        onnx_add_port(&model, 11, "x", types[i], "N,4");
        onnx_add_output(&model, "y", "N,4");
        cr_assert_eq(read(), WEIR_UNSUPPORTED);
        names("'x'");
        names("float32");
    }
}

Test(lower, none_or_two_inputs_are_unsupported) {
    add("Add", "x z", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_input(&model, "z", "N,4");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("2 inputs");
    names("'z'");
    onnx_begin(&model);
    onnx_add_node(&model, (struct onnx_node){"Constant", "", "y", "value_float:f=1", NULL, NULL});
    onnx_add_output(&model, "y", "1");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
}

Test(lower, a_free_dimension_besides_the_batch_is_named) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,T,4");
    onnx_add_output(&model, "y", "N,T,4");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("dimension 1");
}

Test(lower, an_input_without_dimensions_is_unsupported) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "");
    onnx_add_output(&model, "y", "");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
}

Test(lower, a_row_beyond_the_cap_is_too_large) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,100000,100000");
    onnx_add_output(&model, "y", "N,100000,100000");
    cr_assert_eq(read(), WEIR_TOO_LARGE);
    onnx_begin(&model);
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4294967296,4294967296,4294967296");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(read(), WEIR_TOO_LARGE);
}

Test(lower, an_output_that_contradicts_its_declaration_is_invalid) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,5");
    cr_assert_eq(read(), WEIR_INVALID);
    names("[-1,5]");
    names("[-1,4]");
}

Test(lower, an_output_may_leave_dimensions_open) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "M,K");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    cr_assert(plan_signature(plan)->outputs[0].shape.dims[1] == 4);
}

Test(lower, an_output_that_is_constant_or_of_another_type_is_unsupported) {
    static const float c[4] = {0};
    onnx_add_floats(&model, "y", "1,4", c, 4);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "1,4");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("does not depend");
    onnx_begin(&model);
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_port(&model, 12, "y", 10, "N,4");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
}

Test(lower, a_model_without_outputs_is_invalid) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    cr_assert_eq(read(), WEIR_INVALID);
}

Test(lower, outputs_that_share_a_value_each_get_it) {
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float y[8];
    add("Identity", "x", "same");
    add("Relu", "x", "y");
    add("Flatten", "y", "again");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "same", "N,4");
    onnx_add_output(&model, "y", "N,4");
    onnx_add_output(&model, "again", "N,4");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    for (int output = 0; output < 3; output++) {
        memset(y, 0, sizeof y);
        cr_assert_eq(model_run_plan(plan, x, 2, output, y, &err), WEIR_OK);
        cr_assert_arr_eq(y, x, sizeof x, "output %d", output);
    }
}

Test(lower, an_output_that_is_also_used_inside_is_kept) {
    static const float x[4] = {-1, 2, -3, 4}, relu[4] = {0, 2, 0, 4}, minus[4] = {-5, -3, -5, -1};
    static const float five = 5;
    float y[4];
    onnx_add_floats(&model, "five", "", &five, 1);
    add("Relu", "x", "y");
    add("Sub", "y five", "z");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    onnx_add_output(&model, "z", "N,4");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    cr_assert_eq(model_run_plan(plan, x, 1, 0, y, &err), WEIR_OK);
    cr_assert_arr_eq(y, relu, sizeof y);
    cr_assert_eq(model_run_plan(plan, x, 1, 1, y, &err), WEIR_OK);
    cr_assert_arr_eq(y, minus, sizeof y);
}

Test(lower, a_second_output_of_an_operator_is_unsupported) {
    onnx_add_node(&model, (struct onnx_node){"Dropout", "x", "y mask", NULL, "drop", NULL});
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("'mask'");
}
