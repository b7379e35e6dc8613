#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8];
static const float x[8] = {1, 3, 5, 9, 1, 1, 2, 4};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_norm, .fini = end);

static void begin(const char *op, int opset, struct tensor_shape shape) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, shape, x, false);
}

static void add(const float *values, int64_t count) {
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {count}}, values, true);
}

static const float *run(int outputs, int output) {
    cr_assert_eq(one_node_lower(&one, &lower_norm_family, outputs, &err), WEIR_OK, "%s", err.text);
    return one_node_output(&one, output);
}

static void refuses(enum weir_status status, const char *what) {
    cr_assert_eq(one_node_lower(&one, &lower_norm_family, 1, &err), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

static void assert_near(const float *y, const float *expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        cr_assert_float_eq(y[i], expected[i], 1e-5, "%zu: %g, not %g", i, (double)y[i], (double)expected[i]);
}

Test(lower_norm, softmax_is_flat_before_opset_13_and_of_one_axis_since) {
    begin("Softmax", 11, (struct tensor_shape){3, {1, 2, 2}});
    const float *y = run(1, 0);
    cr_assert_float_eq(y[0] + y[1] + y[2] + y[3], 1, 1e-6);
    cr_assert(one.program.steps[0].operation.softmax.flat);
    begin("Softmax", 13, (struct tensor_shape){3, {1, 2, 2}});
    y = run(1, 0);
    cr_assert_float_eq(y[0] + y[1], 1, 1e-6);
    cr_assert_float_eq(y[0], 0.1192029f, 1e-6);
    begin("LogSoftmax", 13, (struct tensor_shape){2, {2, 2}});
    one_node_int(&one, "axis", 0);
    cr_assert_float_eq(run(1, 0)[0], -4.01815f, 1e-5);
    begin("Hardmax", 11, (struct tensor_shape){2, {2, 2}});
    y = run(1, 0);
    cr_assert(y[0] == 0 && y[1] == 1 && !one.program.steps[0].operation.softmax.flat);
    begin("Softmax", 13, (struct tensor_shape){2, {2, 2}});
    one_node_int(&one, "axis", 2);
    refuses(WEIR_INVALID, "axis 2 of 2 dimensions");
}

Test(lower_norm, layer_normalization_has_three_outputs_at_most) {
    static const float scale[2] = {1, 2}, bias[2] = {0, 10}, expected[4] = {-1, 12, -1, 12};
    begin("LayerNormalization", 17, (struct tensor_shape){2, {2, 2}});
    add(scale, 2);
    add(bias, 2);
    one_node_float(&one, "epsilon", 0);
    assert_near(run(3, 0), expected, 4);
    assert_near(one_node_output(&one, 1), (float[]){2, 7}, 2);
    assert_near(one_node_output(&one, 2), (float[]){1, 0.5f}, 2);
    cr_assert_eq(one_node_fact(&one, 1)->shape.dims[1], 1);
}

Test(lower_norm, a_scale_that_broadcasts_is_spread) {
    static const float three[1] = {3}, expected[4] = {-3, 3, -3, 3};
    begin("LayerNormalization", 17, (struct tensor_shape){2, {2, 2}});
    add(three, 1);
    one_node_float(&one, "epsilon", 0);
    assert_near(run(1, 0), expected, 4);
    cr_assert_eq(one.program.step_count, 2);
    begin("LayerNormalization", 17, (struct tensor_shape){2, {2, 2}});
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {2, 2}}, ones, true);
    refuses(WEIR_UNSUPPORTED, "input 1 is [2,2]");
    begin("LayerNormalization", 17, (struct tensor_shape){2, {2, 2}});
    add(three, 1);
    one_node_int(&one, "stash_type", 10);
    refuses(WEIR_UNSUPPORTED, "stash_type=10");
}

static void begin_batch_norm(int64_t channels) {
    begin("BatchNormalization", 15, (struct tensor_shape){3, {1, 2, 2}});
    add(ones, channels);
    add(zeros, channels);
    add(x, channels);
    add(ones, channels);
}

Test(lower_norm, batch_normalization_is_by_channel_and_not_for_training) {
    static const float expected[4] = {0, 2, 2, 6};
    begin_batch_norm(2);
    one_node_float(&one, "epsilon", 0);
    assert_near(run(1, 0), expected, 4);
    begin_batch_norm(2);
    one_node_int(&one, "training_mode", 1);
    refuses(WEIR_UNSUPPORTED, "training_mode=1");
    begin_batch_norm(2);
    one_node_int(&one, "spatial", 0);
    refuses(WEIR_UNSUPPORTED, "spatial=0");
    begin_batch_norm(3);
    refuses(WEIR_INVALID, "input 1 does not have 2 elements");
    begin_batch_norm(2);
    cr_assert_eq(one_node_lower(&one, &lower_norm_family, 2, &err), WEIR_UNSUPPORTED);
}

Test(lower_norm, instance_and_group_normalization_differ_in_what_they_take_together) {
    static const float by_channel[4] = {-1, 1, -1, 1};
    static const float together[4] = {-1.183216f, -0.507093f, 0.169031f, 1.521278f};
    static const float scales[1] = {1}, biases[1] = {0};
    begin("InstanceNormalization", 13, (struct tensor_shape){3, {1, 2, 2}});
    add(ones, 2);
    add(zeros, 2);
    one_node_float(&one, "epsilon", 0);
    assert_near(run(1, 0), by_channel, 4);
    for (int opset = 18; opset <= 21; opset += 3) {
        begin("GroupNormalization", opset, (struct tensor_shape){3, {1, 2, 2}});
        add(opset < 21 ? scales : ones, opset < 21 ? 1 : 2);
        add(opset < 21 ? biases : zeros, opset < 21 ? 1 : 2);
        one_node_int(&one, "num_groups", 1);
        one_node_float(&one, "epsilon", 0);
        assert_near(run(1, 0), together, 4);
    }
    begin("GroupNormalization", 21, (struct tensor_shape){3, {1, 2, 2}});
    add(ones, 2);
    add(zeros, 2);
    refuses(WEIR_INVALID, "num_groups is 0");
    begin("GroupNormalization", 21, (struct tensor_shape){3, {1, 2, 2}});
    add(ones, 2);
    add(zeros, 2);
    one_node_int(&one, "num_groups", 3);
    refuses(WEIR_INVALID, "not a multiple of 3");
}

Test(lower_norm, lrn_and_lp_normalization_take_their_parameters) {
    static const float expected[4] = {1 / 11.0f, 3 / 11.0f, 5 / 107.0f, 9 / 107.0f};
    begin("LRN", 13, (struct tensor_shape){3, {1, 4, 1}});
    one_node_int(&one, "size", 2);
    one_node_float(&one, "alpha", 2);
    one_node_float(&one, "beta", 1);
    const float *y = run(1, 0);
    cr_assert_float_eq(y[0], expected[0], 1e-6); /* 1 + 1 + 9 */
    cr_assert_float_eq(y[2], expected[2], 1e-6); /* 1 + 25 + 81 */
    begin("LRN", 13, (struct tensor_shape){3, {1, 4, 1}});
    refuses(WEIR_INVALID, "size is 0");
    begin("LpNormalization", 13, (struct tensor_shape){2, {2, 2}});
    one_node_int(&one, "p", 1);
    assert_near(run(1, 0), (float[]){0.25f, 0.75f, 5 / 14.0f, 9 / 14.0f}, 4);
    begin("LpNormalization", 13, (struct tensor_shape){2, {2, 2}});
    one_node_int(&one, "p", 3);
    refuses(WEIR_UNSUPPORTED, "p=3");
}

Test(lower_norm, mean_variance_normalization_takes_batch_and_space_together) {
    static const int64_t last[1] = {-1};
    begin("MeanVarianceNormalization", 13, (struct tensor_shape){4, {2, 2, 1, 2}});
    const float *y = run(1, 0); /* channel 0: 1 3 1 1, channel 1: 5 9 2 4 */
    cr_assert_float_eq(y[1], 1.7320508f, 1e-5);
    cr_assert_float_eq(y[2], 0, 1e-6);
    cr_assert_float_eq(y[3], 1.5689291f, 1e-5);
    begin("MeanVarianceNormalization", 13, (struct tensor_shape){2, {2, 2}});
    one_node_ints(&one, "axes", last, 1);
    assert_near(run(1, 0), (float[]){-1, 1, -1, 1}, 4);
    begin("MeanVarianceNormalization", 13, (struct tensor_shape){2, {2, 2}});
    refuses(WEIR_INVALID, "axis 2 of 2 dimensions");
}
