#include "engine/graph/lower_integer.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/node_run.h"

static const uint8_t a[6] = {1, 2, 3, 4, 5, 6}, a_zero[2] = {1, 0}, y_zero = 10;
static const int8_t b[4] = {1, -1, 0, 2}, b_zero[2] = {0, 1};
static const float one = 1, rows[2] = {1, 2}, cols[2] = {1, 10}, y_scale = 4;
static const int32_t bias[2] = {7, 0};
static struct node_result result;

static void run(const struct node_case *node) {
    cr_assert_eq(node_run(&lower_quantize_family, node, &result), WEIR_OK, "%s", result.err.text);
}

static void refuses(const struct node_case *node, enum weir_status status, const char *what) {
    cr_assert_eq(node_run(&lower_quantize_family, node, &result), status, "%s: %s", what, result.err.text);
    cr_assert_not_null(strstr(result.err.text, what), "%s is not in: %s", what, result.err.text);
}

static struct node_case matmul_integer(void) {
    return (struct node_case){
        "MatMulInteger",
        NULL,
        {{TENSOR_U8, "2,2", a}, {TENSOR_I8, "2,2", b}, {TENSOR_U8, "2", a_zero}, {TENSOR_I8, "2", b_zero}},
        4,
        1};
}

static struct node_case qlinear_matmul(void) {
    return (struct node_case){"QLinearMatMul",
                              NULL,
                              {{TENSOR_U8, "2,2", a},
                               {TENSOR_F32, "", &one},
                               {TENSOR_U8, "", a_zero + 1},
                               {TENSOR_I8, "2,2", b},
                               {TENSOR_F32, "", &one},
                               {TENSOR_I8, "", b_zero},
                               {TENSOR_F32, "", &y_scale},
                               {TENSOR_U8, "", &y_zero}},
                              8,
                              1};
}

static struct node_case qlinear_conv(void) {
    return (struct node_case){"QLinearConv",
                              NULL,
                              {{TENSOR_U8, "1,1,3", a},
                               {TENSOR_F32, "", &one},
                               {TENSOR_U8, "", a_zero + 1},
                               {TENSOR_I8, "2,1,2", b},
                               {TENSOR_F32, "2", cols},
                               {TENSOR_I8, "", b_zero},
                               {TENSOR_F32, "", &y_scale},
                               {TENSOR_U8, "", &y_zero},
                               {TENSOR_I32, "2", bias}},
                              9,
                              1};
}

Test(lower_integer, lists_of_zero_points_are_for_rows_and_columns) {
    static const int32_t expected[4] = {0, 1, 3, -2}; /* {0,1; 3,4} * {1,-2; 0,1} */
    struct node_case node = matmul_integer();
    run(&node);
    cr_assert(result.outputs[0].dtype == TENSOR_I32);
    cr_assert_arr_eq(result.outputs[0].ints, expected, sizeof expected);
    node.inputs[2].dims = "2,1";
    node.inputs[3].dims = "1,2";
    run(&node);
    cr_assert_arr_eq(result.outputs[0].ints, expected, sizeof expected);
    node.input_count = 2;
    run(&node);
    cr_assert(result.outputs[0].ints[0] == 1 && result.outputs[0].ints[1] == 3);
    node.input_count = 4;
    node.inputs[2].dims = NULL;
    run(&node); /* {1,2; 3,4} * {1,-2; 0,1} */
    cr_assert(result.outputs[0].ints[1] == 0 && result.outputs[0].ints[3] == -2);
}

Test(lower_integer, a_list_of_another_length_is_named) {
    struct node_case node = matmul_integer();
    node.inputs[2].dims = "3";
    node.inputs[2].data = a;
    refuses(&node, WEIR_INVALID, "input 2 has the shape [3], expected one number, or one for each row of [2,2]");
    node = matmul_integer();
    node.inputs[3].dims = "2,1";
    refuses(&node, WEIR_INVALID, "each column of [2,2]");
    node = matmul_integer();
    node.inputs[3].dtype = TENSOR_U8;
    refuses(&node, WEIR_INVALID, "B is int8, but its zero point uint8");
    node.inputs[1] = (struct node_tensor){TENSOR_I32, "2,2", bias};
    refuses(&node, WEIR_UNSUPPORTED, "B is int32");
}

Test(lower_integer, quantized_products_are_scaled) {
    static const uint8_t expected[4] = {10, 11, 11, 11}; /* {1,3; 3,5} / 4 */
    struct node_case node = qlinear_matmul();
    run(&node);
    cr_assert_eq(result.outputs[0].dtype, TENSOR_U8);
    cr_assert_arr_eq(result.outputs[0].bytes, expected, sizeof expected);
    node.inputs[1] = (struct node_tensor){TENSOR_F32, "2", rows};
    node.inputs[2] = (struct node_tensor){TENSOR_U8, "2", (const uint8_t[]){0, 0}};
    node.inputs[4] = (struct node_tensor){TENSOR_F32, "2", cols};
    node.inputs[5] = (struct node_tensor){TENSOR_I8, "2", (const int8_t[]){0, 0}};
    run(&node); /* {1,30; 6,100} / 4 */
    cr_assert(result.outputs[0].bytes[1] == 18 && result.outputs[0].bytes[2] == 12 && result.outputs[0].bytes[3] == 35);
}

Test(lower_integer, the_result_has_one_scale_and_one_zero_point) {
    struct node_case node = qlinear_matmul();
    node.inputs[6] = (struct node_tensor){TENSOR_F32, "2", rows};
    refuses(&node, WEIR_UNSUPPORTED, "2 scales and 1 zero points of y");
    node = qlinear_matmul();
    node.inputs[7] = (struct node_tensor){TENSOR_I32, "", bias};
    refuses(&node, WEIR_UNSUPPORTED, "y would be int32");
}

Test(lower_integer, quantized_convolutions_scale_by_filter) {
    static const uint8_t expected[4] = {12, 12, 20, 25}; /* ({-1,-1} + 7) / 4 and {4,6} * 10 / 4 */
    struct node_case node = qlinear_conv();
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,2,2"));
    cr_assert_arr_eq(result.outputs[0].bytes, expected, sizeof expected);
    node.inputs[5] = (struct node_tensor){TENSOR_I8, "2", b_zero};
    run(&node); /* the second filter is -1 1 */
    cr_assert(result.outputs[0].bytes[2] == 12 && result.outputs[0].bytes[3] == 12);
}

Test(lower_integer, convolutions_without_scales_give_sums) {
    struct node_case node = {
        "ConvInteger", "pads:l=1,0", {{TENSOR_U8, "1,1,3", a}, {TENSOR_I8, "2,1,2", b}, {TENSOR_U8, "", a_zero}}, 3, 1};
    static const int32_t expected[6] = {0, -1, -1, 0, 2, 4}; /* 0 0 1 2 under 1 -1 and 0 2 */
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "1,2,3"));
    cr_assert_arr_eq(result.outputs[0].ints, expected, sizeof expected);
}

Test(lower_integer, faults_of_convolutions_are_named) {
    struct node_case node = qlinear_conv();
    node.inputs[4] = (struct node_tensor){TENSOR_F32, "", &one};
    node.inputs[8] = (struct node_tensor){TENSOR_F32, "2", rows};
    refuses(&node, WEIR_INVALID, "the bias is float32");
    node.inputs[8] = (struct node_tensor){TENSOR_I32, "1", bias};
    refuses(&node, WEIR_INVALID, "expected [2]");
    node = qlinear_conv();
    node.inputs[4] = (struct node_tensor){TENSOR_F32, "3", (const float[]){1, 1, 1}};
    node.inputs[5] = (struct node_tensor){TENSOR_I8, "3", b};
    refuses(&node, WEIR_INVALID, "one for each of the 2 filters");
    node = qlinear_conv();
    node.inputs[1] = (struct node_tensor){TENSOR_F32, "2", rows};
    node.inputs[2] = (struct node_tensor){TENSOR_U8, "2", a_zero};
    refuses(&node, WEIR_INVALID, "the scale of x has 2 elements");
}
