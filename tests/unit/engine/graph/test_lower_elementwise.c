#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/graph/lower_elementwise.h"
#include "engine/graph/plan.h"
#include "kernels/ref/ref_softmax.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;
static const float x[12] = {1, -2, 3, -4, 5, -6, 0.5f, -0.5f, 9, -9, 11, 12};

static void add(const char *op, const char *in, const char *attributes) {
    onnx_add_node(&model, (struct onnx_node){op, in, "y", attributes, NULL, NULL});
}

static enum weir_status run(int opset, const char *dims, uint32_t rows, float *y) {
    onnx_add_input(&model, "x", dims);
    onnx_add_output(&model, "y", dims);
    return model_run(&model, opset, x, rows, y, &err);
}

Test(lower_elementwise, activations_take_their_parameters) {
    float y[12];
    add("LeakyRelu", "x", "alpha:f=0.5");
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK);
    cr_assert(y[0] == 1 && y[1] == -1 && y[3] == -2);
    onnx_begin(&model);
    add("LeakyRelu", "x", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK);
    cr_assert(y[1] == -2 * 0.01f);
    onnx_begin(&model);
    add("Sigmoid", "x", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK);
    cr_assert_float_eq(y[0], 0.7310586f, 1e-6);
    onnx_begin(&model);
    add("Tanh", "x", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK);
    cr_assert_float_eq(y[1], -0.9640276f, 1e-6);
}

Test(lower_elementwise, clip_has_attributes_before_opset_11_and_inputs_since) {
    static const float low = -1, high = 3;
    float y[12];
    add("Clip", "x", "min:f=-1 max:f=3");
    cr_assert_eq(run(10, "N,4", 3, y), WEIR_OK, "%s", err.text);
    cr_assert(y[0] == 1 && y[1] == -1 && y[4] == 3);
    onnx_begin(&model);
    add("Clip", "x", "min:f=-1 max:f=3");
    cr_assert_eq(run(11, "N,4", 3, y), WEIR_INVALID);
    onnx_begin(&model);
    onnx_add_floats(&model, "low", "", &low, 1);
    onnx_add_floats(&model, "high", "", &high, 1);
    add("Clip", "x low high", NULL);
    cr_assert_eq(run(11, "N,4", 3, y), WEIR_OK, "%s", err.text);
    cr_assert(y[0] == 1 && y[1] == -1 && y[4] == 3);
    onnx_begin(&model);
    onnx_add_floats(&model, "high", "", &high, 1);
    add("Clip", "x - high", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK);
    cr_assert(y[3] == -4 && y[4] == 3);
    onnx_begin(&model);
    onnx_add_floats(&model, "low", "", &low, 1);
    add("Clip", "x low", NULL);
    cr_assert_eq(run(10, "N,4", 3, y), WEIR_INVALID);
}

Test(lower_elementwise, arithmetic_with_a_constant_knows_its_sides) {
    static const float c[4] = {1, 2, 4, 8};
    static const struct {
        const char *op, *in;
        float first, second;
    } rows[] = {{"Add", "x c", 2, 0},  {"Add", "c x", 2, 0},  {"Sub", "x c", 0, -4}, {"Sub", "c x", 0, 4},
                {"Mul", "x c", 1, -4}, {"Mul", "c x", 1, -4}, {"Div", "x c", 1, -1}, {"Div", "c x", 1, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float y[12];
        onnx_begin(&model);
        onnx_add_floats(&model, "c", "1,4", c, 4);
        add(rows[i].op, rows[i].in, NULL);
        cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK, "%s", err.text);
        cr_assert(y[0] == rows[i].first && y[1] == rows[i].second, "row %zu: %g %g", i, y[0], y[1]);
    }
}

Test(lower_elementwise, a_constant_per_inner_row_is_spread) {
    static const float c[2] = {100, 1000};
    float y[12];
    onnx_add_floats(&model, "c", "2,1", c, 2);
    add("Add", "x c", NULL);
    cr_assert_eq(run(13, "N,2,3", 2, y), WEIR_OK, "%s", err.text);
    for (size_t i = 0; i < 12; i++)
        cr_assert(y[i] == x[i] + c[i / 3 % 2]);
}

Test(lower_elementwise, two_computed_values_of_one_shape_are_combined) {
    float y[12];
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "t", NULL, NULL, NULL});
    add("Sub", "t x", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK, "%s", err.text);
    for (size_t i = 0; i < 12; i++)
        cr_assert(y[i] == (x[i] > 0 ? 0 : -x[i]));
    onnx_begin(&model);
    add("Mul", "x x", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_OK);
    cr_assert(y[1] == 4 && y[11] == 144);
}

Test(lower_elementwise, shapes_that_differ_are_refused_with_both) {
    static const float c[12] = {0};
    float y[12];
    onnx_add_node(&model, (struct onnx_node){"Unsqueeze", "x", "t", "axes:l=1", NULL, NULL});
    add("Add", "t x", NULL);
    cr_assert_eq(run(11, "N,4", 3, y), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "[-1,1,4] and [-1,4]"), "%s", err.text);
    onnx_begin(&model);
    onnx_add_floats(&model, "c", "3,4", c, 12);
    add("Add", "x c", NULL);
    cr_assert_eq(run(13, "3,4", 3, y), WEIR_UNSUPPORTED);
    onnx_begin(&model);
    onnx_add_floats(&model, "c", "5", c, 5);
    add("Add", "x c", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_INVALID);
    onnx_begin(&model);
    onnx_add_floats(&model, "c", "4", c, 4);
    onnx_add_floats(&model, "d", "4", c, 4);
    onnx_add_node(&model, (struct onnx_node){"Add", "c d", "e", NULL, NULL, NULL});
    add("Add", "x e", NULL);
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_UNSUPPORTED);
}

Test(lower_elementwise, softmax_has_two_meanings_by_opset) {
    float y[12], expected[12];
    add("Softmax", "x", "axis:i=1");
    cr_assert_eq(run(11, "N,2,3", 2, y), WEIR_OK, "%s", err.text);
    for (size_t row = 0; row < 2; row++)
        ref_softmax_run(x + row * 6, expected + row * 6, 6, false); /* everything from axis 1 on */
    for (size_t i = 0; i < 12; i++)
        cr_assert_float_eq(y[i], expected[i], 1e-6);
    onnx_begin(&model);
    add("Softmax", "x", NULL);
    cr_assert_eq(run(13, "N,2,3", 2, y), WEIR_OK);
    for (size_t row = 0; row < 4; row++)
        ref_softmax_run(x + row * 3, expected + row * 3, 3, false); /* the last axis alone */
    for (size_t i = 0; i < 12; i++)
        cr_assert_float_eq(y[i], expected[i], 1e-6);
    onnx_begin(&model);
    add("LogSoftmax", "x", "axis:i=1");
    cr_assert_eq(run(13, "N,2,3", 2, y), WEIR_OK);
    float pair[2] = {x[0], x[3]}, logs[2];
    ref_softmax_run(pair, logs, 2, true);
    cr_assert_float_eq(y[0], logs[0], 1e-6);
    cr_assert_float_eq(y[3], logs[1], 1e-6);
}

Test(lower_elementwise, a_softmax_over_the_batch_is_unsupported) {
    float y[12];
    add("Softmax", "x", "axis:i=0");
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_UNSUPPORTED);
    onnx_begin(&model);
    add("Softmax", "x", "axis:i=2");
    cr_assert_eq(run(13, "N,4", 3, y), WEIR_INVALID);
}

Test(lower_elementwise, batch_normalization_works_by_channel) {
    static const float scale[2] = {2, 3}, shift[2] = {1, -1}, mean[2] = {0.5f, -0.5f}, variance[2] = {4, 9};
    float y[12];
    onnx_add_floats(&model, "scale", "2", scale, 2);
    onnx_add_floats(&model, "B", "2", shift, 2);
    onnx_add_floats(&model, "mean", "2", mean, 2);
    onnx_add_floats(&model, "var", "2", variance, 2);
    add("BatchNormalization", "x scale B mean var", "epsilon:f=0.001");
    cr_assert_eq(run(13, "N,2,3", 2, y), WEIR_OK, "%s", err.text);
    for (size_t i = 0; i < 12; i++) {
        size_t c = i / 3 % 2;
        double expected = ((double)x[i] - mean[c]) / sqrt(variance[c] + 0.001) * scale[c] + shift[c];
        cr_assert_float_eq(y[i], (float)expected, 1e-5);
    }
    onnx_begin(&model);
    onnx_add_floats(&model, "s", "2", scale, 2);
    add("BatchNormalization", "x s s s s", "training_mode:i=1");
    cr_assert_eq(run(14, "N,2,3", 2, y), WEIR_UNSUPPORTED);
    onnx_begin(&model);
    onnx_add_floats(&model, "s", "2", scale, 2);
    add("BatchNormalization", "x s s s s", NULL);
    cr_assert_eq(run(14, "N,3,2", 2, y), WEIR_INVALID);
}
