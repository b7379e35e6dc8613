#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/lower_layout.h"
#include "engine/graph/plan_parts.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;
static struct plan *plan;
static const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void destroy(void) {
    plan_destroy(plan);
}

TestSuite(lower_layout, .fini = destroy);

static void add(const char *op, const char *in, const char *out, const char *attributes) {
    onnx_add_node(&model, (struct onnx_node){op, in, out, attributes, NULL, NULL});
}

static enum weir_status read(int opset, const char *in_dims, const char *out_dims) {
    plan_destroy(plan);
    plan = NULL;
    onnx_add_input(&model, "x", in_dims);
    onnx_add_output(&model, "y", out_dims);
    enum weir_status status = model_plan(&model, opset, &plan, &err);
    onnx_begin(&model);
    return status;
}

Test(lower_layout, a_chain_that_only_reshapes_costs_no_step) {
    static const int64_t wanted[2] = {0, 6}, axes[1] = {1};
    static const uint8_t no = 0;
    onnx_add_integers(&model, "wanted", "2", wanted, 2);
    onnx_add_integers(&model, "axes", "1", axes, 1);
    onnx_add_tensor(&model, "training", 9, "", &no, 1);
    add("Identity", "x", "a", NULL);
    add("Dropout", "a - training", "b", NULL);
    add("Cast", "b", "c", "to:i=10");
    add("Cast", "c", "d", "to:i=1");
    add("Reshape", "d wanted", "e", NULL);
    add("Unsqueeze", "e axes", "f", NULL);
    add("Transpose", "f", "g", "perm:l=0,2,1");
    add("Flatten", "g", "h", NULL);
    add("Squeeze", "f axes", "i", NULL);
    add("Add", "h i", "y", NULL);
    cr_assert_eq(read(13, "N,2,3", "N,6"), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan->program.step_count, 1);
    float y[12];
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 12; i++)
        cr_assert(y[i] == 2 * x[i]);
}

Test(lower_layout, a_fixed_batch_is_told_and_its_reshapes_are_followed) {
    static const int64_t wanted[2] = {1, -1};
    onnx_add_integers(&model, "wanted", "2", wanted, 2);
    add("Relu", "x", "a", NULL);
    add("Reshape", "a wanted", "y", NULL);
    cr_assert_eq(read(13, "1,2,3", "1,6"), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_fixed_batch(plan), 1);
    cr_assert(plan_signature(plan)->inputs[0].shape.dims[0] == -1);
    cr_assert(plan_signature(plan)->outputs[0].shape.dims[0] == -1);
    cr_assert(plan_signature(plan)->outputs[0].row_elements == 6);
}

Test(lower_layout, what_would_mix_rows_is_unsupported) {
    static const int64_t wanted[2] = {-1, 3};
    onnx_add_integers(&model, "wanted", "2", wanted, 2);
    add("Reshape", "x wanted", "y", NULL);
    cr_assert_eq(read(13, "N,2,3", "M,3"), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "[-1,2,3]"), "%s", err.text);
    add("Transpose", "x", "y", NULL);
    cr_assert_eq(read(13, "N,2,3", "3,2,N"), WEIR_UNSUPPORTED);
    add("Flatten", "x", "y", "axis:i=0");
    cr_assert_eq(read(13, "N,2,3", "1,M"), WEIR_UNSUPPORTED);
    add("Relu", "x", "shape", NULL);
    add("Reshape", "x shape", "y", NULL);
    cr_assert_eq(read(13, "N,6", "N,6"), WEIR_UNSUPPORTED);
}

Test(lower_layout, a_cast_to_an_integer_and_training_are_unsupported) {
    static const uint8_t yes = 1;
    add("Cast", "x", "y", "to:i=7");
    cr_assert_eq(read(13, "N,6", "N,6"), WEIR_UNSUPPORTED);
    add("Cast", "x", "y", NULL);
    cr_assert_eq(read(13, "N,6", "N,6"), WEIR_UNSUPPORTED);
    onnx_add_tensor(&model, "training", 9, "", &yes, 1);
    add("Dropout", "x - training", "y", NULL);
    cr_assert_eq(read(13, "N,6", "N,6"), WEIR_UNSUPPORTED);
    add("Dropout", "x", "y", "ratio:f=0.3");
    cr_assert_eq(read(10, "N,6", "N,6"), WEIR_OK, "%s", err.text);
}

Test(lower_layout, concat_puts_rows_side_by_side_along_any_inner_axis) {
    float y[36];
    add("Relu", "x", "a", NULL);
    add("Concat", "x a x", "y", "axis:i=-1");
    cr_assert_eq(read(13, "N,2,3", "N,2,9"), WEIR_OK, "%s", err.text);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t row = 0; row < 4; row++)
        for (size_t i = 0; i < 9; i++)
            cr_assert(y[row * 9 + i] == x[row * 3 + i % 3]);
    add("Concat", "x x", "y", "axis:i=1");
    cr_assert_eq(read(13, "N,2,3", "N,4,3"), WEIR_OK, "%s", err.text);
    cr_assert_eq(model_run_plan(plan, x, 2, 0, y, &err), WEIR_OK);
    for (size_t i = 0; i < 24; i++)
        cr_assert(y[i] == x[i / 12 * 6 + i % 6]);
}

Test(lower_layout, concat_along_the_batch_or_of_unfitting_values_is_refused) {
    add("Concat", "x x", "y", "axis:i=0");
    cr_assert_eq(read(13, "N,2,3", "M,2,3"), WEIR_UNSUPPORTED);
    add("Concat", "x x", "y", NULL);
    cr_assert_eq(read(13, "N,2,3", "N,2,6"), WEIR_INVALID);
    add("Flatten", "x", "a", NULL);
    add("Concat", "x a", "y", "axis:i=1");
    cr_assert_eq(read(13, "N,2,3", "N,2,6"), WEIR_INVALID);
}
