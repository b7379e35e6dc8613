#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/node_run.h"

static const float x[4] = {0, 3, -5, 1000}, scale[2] = {2, 0.5f};
static const uint8_t bytes[4] = {0, 130, 128, 255}, zero[2] = {128, 1};
static const int8_t chars[4] = {0, 2, -128, 127};
static struct node_result result;

static void run(const struct node_case *node) {
    cr_assert_eq(node_run(&lower_quantize_family, node, &result), WEIR_OK, "%s", result.err.text);
}

static void refuses(const struct node_case *node, enum weir_status status, const char *what) {
    cr_assert_eq(node_run(&lower_quantize_family, node, &result), status, "%s: %s", what, result.err.text);
    cr_assert_not_null(strstr(result.err.text, what), "%s is not in: %s", what, result.err.text);
}

static struct node_case quantize(void) {
    return (struct node_case){
        "QuantizeLinear", NULL, {{TENSOR_F32, "2,2", x}, {TENSOR_F32, "", scale}, {TENSOR_U8, "", zero}}, 3, 1};
}

Test(lower_quantize, the_zero_point_says_the_type_and_without_one_it_is_uint8) {
    static const uint8_t expected[4] = {128, 130, 126, 255};
    struct node_case node = quantize();
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_U8 && node_run_has_shape(&result.outputs[0], "2,2"));
    cr_assert_arr_eq(result.outputs[0].bytes, expected, sizeof expected);
    node.inputs[2] = (struct node_tensor){TENSOR_I8, "", chars};
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_I8 && result.outputs[0].chars[2] == -2 &&
              result.outputs[0].chars[3] == 127);
    node.inputs[2].dims = NULL;
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_U8 && result.outputs[0].bytes[2] == 0);
    node.attributes = "output_dtype:i=3";
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_I8 && result.outputs[0].chars[2] == -2);
}

Test(lower_quantize, scales_of_an_axis_may_count_it_from_the_end) {
    static const uint8_t expected[4] = {128, 7, 126, 255};
    struct node_case node = quantize();
    node.inputs[1].dims = node.inputs[2].dims = "2";
    node.attributes = "axis:i=-1";
    run(&node);
    cr_assert_arr_eq(result.outputs[0].bytes, expected, sizeof expected);
    node.attributes = "axis:i=0";
    run(&node);
    cr_assert_eq(result.outputs[0].bytes[1], 130);
    node.attributes = NULL;
    run(&node);
    cr_assert_eq(result.outputs[0].bytes[1], 7);
}

Test(lower_quantize, integers_are_made_floats_first) {
    static const int32_t numbers[4] = {4, -4, 1000, 7};
    struct node_case node = quantize();
    node.inputs[0] = (struct node_tensor){TENSOR_I32, "4", numbers};
    run(&node);
    cr_assert(result.step_count == 2 && result.steps[0].kind == OPERATION_CAST);
    cr_assert(result.outputs[0].bytes[0] == 130 && result.outputs[0].bytes[1] == 126);
}

Test(lower_quantize, dequantizing_gives_floats) {
    struct node_case node = {"DequantizeLinear",
                             "axis:i=0",
                             {{TENSOR_U8, "2,2", bytes}, {TENSOR_F32, "2", scale}, {TENSOR_U8, "2", zero}},
                             3,
                             1};
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_F32);
    cr_assert(result.outputs[0].floats[0] == -256 && result.outputs[0].floats[1] == 4);
    cr_assert(result.outputs[0].floats[2] == 63.5f && result.outputs[0].floats[3] == 127);
    node = (struct node_case){
        "DequantizeLinear", NULL, {{TENSOR_I32, "1", (const int32_t[]){-7}}, {TENSOR_F32, "", scale}}, 2, 1};
    run(&node);
    cr_assert(result.outputs[0].floats[0] == -14);
}

Test(lower_quantize, the_dynamic_one_gives_three_outputs) {
    static const float numbers[6] = {0, 2, -3, -2.5f, 1.34f, 0.5f};
    struct node_case node = {"DynamicQuantizeLinear", NULL, {{TENSOR_F32, "6", numbers}}, 1, 3};
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_U8 && result.outputs[0].bytes[0] == 153);
    cr_assert(node_run_has_shape(&result.outputs[1], "") && result.outputs[1].floats[0] == 5.0f / 255);
    cr_assert(result.outputs[2].dtype == TENSOR_U8 && result.outputs[2].bytes[0] == 153);
}

Test(lower_quantize, what_does_not_fit_is_named) {
    struct node_case node = quantize();
    node.inputs[1].dims = "3";
    node.inputs[2].dims = "3";
    refuses(&node, WEIR_INVALID, "3 scales, but dimension 1 of X is 2");
    node.inputs[2].dims = "";
    refuses(&node, WEIR_INVALID, "3 scales, but 1 zero points");
    node = quantize();
    node.inputs[1].dims = node.inputs[2].dims = "2";
    node.attributes = "axis:i=2";
    refuses(&node, WEIR_INVALID, "axis 2");
    node = quantize();
    node.attributes = "block_size:i=2";
    refuses(&node, WEIR_UNSUPPORTED, "scales by blocks");
    node = quantize();
    node.inputs[0] = (struct node_tensor){TENSOR_I64, "1", (const int64_t[]){1}};
    refuses(&node, WEIR_UNSUPPORTED, "X is int64");
    node = quantize();
    node.inputs[2].dims = NULL;
    node.attributes = "output_dtype:i=17";
    refuses(&node, WEIR_UNSUPPORTED, "output_dtype 17");
    node.attributes = "output_dtype:i=6";
    refuses(&node, WEIR_UNSUPPORTED, "would be int32");
    node = quantize();
    node.op = "DequantizeLinear";
    refuses(&node, WEIR_UNSUPPORTED, "X is float32");
    node.inputs[0] = (struct node_tensor){TENSOR_I8, "4", chars};
    refuses(&node, WEIR_INVALID, "X is int8, but its zero point uint8");
}
