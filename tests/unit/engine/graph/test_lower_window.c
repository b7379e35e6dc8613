#include "engine/graph/lower_window.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/node_run.h"

static const float nine[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const float w[8] = {1, 0, 0, -1, 2, 0, 0, 0}, bias[2] = {10, 0};
static const uint8_t bytes[9] = {1, 2, 3, 4, 5, 6, 7, 8, 250};
static struct node_result result;

static void run(const struct node_case *node) {
    cr_assert_eq(node_run(&lower_window_family, node, &result), WEIR_OK, "%s", result.err.text);
}

static void refuses(const struct node_case *node, enum weir_status status, const char *what) {
    cr_assert_eq(node_run(&lower_window_family, node, &result), status, "%s: %s", what, result.err.text);
    cr_assert_not_null(strstr(result.err.text, what), "%s is not in: %s", what, result.err.text);
}

static struct node_case conv(const char *op, const char *attributes, const char *x, const char *weights,
                             const char *b) {
    return (struct node_case){
        op, attributes, {{TENSOR_F32, x, nine}, {TENSOR_F32, weights, w}, {TENSOR_F32, b, bias}}, 3, 1};
}

static struct node_case pool(const char *op, const char *attributes, int output_count) {
    return (struct node_case){op, attributes, {{TENSOR_F32, "1,1,3,3", nine}}, 1, output_count};
}

Test(lower_window, a_convolution_has_filters_and_a_bias) {
    static const float expected[8] = {6, 6, 6, 6, 2, 4, 8, 10};
    struct node_case node = conv("Conv", NULL, "1,1,3,3", "2,1,2,2", "2");
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,2,2,2"));
    cr_assert_arr_eq(result.outputs[0].floats, expected, sizeof expected);
    node.inputs[2].dims = NULL;
    run(&node);
    cr_assert(result.outputs[0].floats[0] == -4);
}

Test(lower_window, groups_and_padding_are_those_of_the_attributes) {
    static const float expected[6] = {1, 2, 3, -4, -5, -6};
    static const float ends[2] = {1, -1};
    struct node_case node = conv("Conv", "group:i=2", "1,2,3", "2,1,1", NULL);
    node.inputs[1].data = ends;
    run(&node);
    cr_assert_arr_eq(result.outputs[0].floats, expected, sizeof expected);
    node.attributes = "group:i=2 pads:l=1,0 strides:l=2";
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,2,2"));
    cr_assert(result.outputs[0].floats[0] == 0 && result.outputs[0].floats[1] == 2);
}

Test(lower_window, channels_groups_and_biases_that_do_not_fit_are_named) {
    struct node_case node = conv("Conv", NULL, "1,2,3,2", "2,1,2,2", NULL);
    refuses(&node, WEIR_INVALID, "dimension 1 of X is 2, that of the weights 1 in 1 groups");
    node = conv("Conv", "group:i=2", "1,2,3,2", "1,1,2,2", NULL);
    refuses(&node, WEIR_INVALID, "cannot be cut into 2 groups");
    node = conv("Conv", "group:i=0", "1,1,3,3", "2,1,2,2", NULL);
    refuses(&node, WEIR_INVALID, "group is 0");
    node = conv("Conv", NULL, "1,1,3,3", "2,1,2,2", "1");
    refuses(&node, WEIR_INVALID, "the bias has the shape [1], expected [2]");
    node = conv("ConvTranspose", NULL, "1,1,3,3", "2,1,2,2", NULL);
    refuses(&node, WEIR_INVALID, "dimension 1 of X is 1, dimension 0 of the weights 2");
    node.inputs[0] = (struct node_tensor){TENSOR_U8, "1,1,3,3", bytes};
    refuses(&node, WEIR_UNSUPPORTED, "uint8");
}

Test(lower_window, a_transposed_convolution_spreads_its_input) {
    static const float expected[6] = {11, 12, 13, 9, 8, 7};
    static const float ends[2] = {1, -1};
    struct node_case node = conv("ConvTranspose", NULL, "1,1,3", "1,2,1", "2");
    node.inputs[1].data = ends;
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,2,3"));
    static const float no_bias[2] = {10, 10};
    node.inputs[2].data = no_bias;
    run(&node);
    cr_assert_arr_eq(result.outputs[0].floats, expected, sizeof expected);
    node.attributes = "strides:l=2 output_padding:l=1";
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,2,6"));
    cr_assert(result.outputs[0].floats[1] == 10 && result.outputs[0].floats[2] == 12 &&
              result.outputs[0].floats[5] == 10);
}

Test(lower_window, max_pools_give_places_where_they_are_asked_for) {
    static const int64_t places[4] = {4, 7, 5, 8};
    struct node_case node = pool("MaxPool", "kernel_shape:l=2,2 storage_order:i=1", 2);
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,1,2,2") && result.outputs[1].dtype == TENSOR_I64);
    cr_assert(result.outputs[0].floats[0] == 5 && result.outputs[0].floats[3] == 9);
    cr_assert_arr_eq(result.outputs[1].longs, places, sizeof places);
    node.output_count = 1;
    run(&node);
    cr_assert(result.outputs[0].floats[2] == 8);
}

Test(lower_window, max_pools_take_bytes_and_no_wide_integers) {
    struct node_case node = pool("MaxPool", "kernel_shape:l=3,3", 1);
    node.inputs[0] = (struct node_tensor){TENSOR_U8, "1,1,3,3", bytes};
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_U8 && result.outputs[0].bytes[0] == 250);
    node.inputs[0] = (struct node_tensor){TENSOR_I64, "1,1,1,1", (const int64_t[]){1}};
    refuses(&node, WEIR_UNSUPPORTED, "X is int64");
}

Test(lower_window, averages_and_norms_follow_their_attributes) {
    struct node_case node = pool("AveragePool", "kernel_shape:l=2,2 pads:l=1,1,0,0 strides:l=2,2", 1);
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,1,2,2"));
    cr_assert(result.outputs[0].floats[0] == 1 && result.outputs[0].floats[1] == 2.5f);
    node.attributes = "kernel_shape:l=2,2 pads:l=1,1,0,0 strides:l=2,2 count_include_pad:i=1";
    run(&node);
    cr_assert(result.outputs[0].floats[0] == 0.25f && result.outputs[0].floats[1] == 1.25f);
    node = pool("LpPool", "kernel_shape:l=1,2", 1);
    node.inputs[0] = (struct node_tensor){TENSOR_F32, "1,1,1,2", (const float[]){3, 4}};
    run(&node);
    cr_assert(result.outputs[0].floats[0] == 5);
    node.attributes = "kernel_shape:l=1,2 p:i=1";
    run(&node);
    cr_assert(result.outputs[0].floats[0] == 7);
    node.attributes = "kernel_shape:l=1,2 p:i=0";
    refuses(&node, WEIR_INVALID, "p is 0");
}
