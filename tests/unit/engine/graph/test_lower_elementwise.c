#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/graph/lower_elementwise.h"
#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[6] = {-4, -1, -0.25f, 0, 0.5f, 3};
static const struct tensor_shape shape = {2, {2, 3}};
static const struct tensor_shape scalar = {0, {0}};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_elementwise, .fini = end);

static void begin(const char *op, int opset) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, shape, x, false);
}

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_elementwise_family, 1, &err);
}

/* The unary step that the node became. */
static struct unary lowered(void) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.step_count, 1);
    cr_assert_eq(one.program.steps[0].operation.kind, OPERATION_UNARY);
    return one.program.steps[0].operation.unary;
}

static void assert_refused(enum weir_status status, const char *what) {
    cr_assert_eq(lower(), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s", err.text);
}

Test(lower_elementwise, the_table_is_sorted_by_name) {
    for (size_t i = 1; i < lower_elementwise_family.count; i++)
        cr_assert_lt(strcmp(lower_elementwise_family.entries[i - 1].name, lower_elementwise_family.entries[i].name), 0,
                     "%s", lower_elementwise_family.entries[i].name);
}

Test(lower_elementwise, every_function_of_one_number_becomes_its_step) {
    static const struct {
        const char *op;
        struct unary unary;
    } rows[] = {
        {"Abs", {UNARY_ABSOLUTE, 0, 0}},
        {"Acos", {UNARY_ACOS, 0, 0}},
        {"Acosh", {UNARY_ACOSH, 0, 0}},
        {"Asin", {UNARY_ASIN, 0, 0}},
        {"Asinh", {UNARY_ASINH, 0, 0}},
        {"Atan", {UNARY_ATAN, 0, 0}},
        {"Atanh", {UNARY_ATANH, 0, 0}},
        {"Ceil", {UNARY_CEIL, 0, 0}},
        {"Celu", {UNARY_CELU, 1, 0}},
        {"Cos", {UNARY_COS, 0, 0}},
        {"Cosh", {UNARY_COSH, 0, 0}},
        {"Elu", {UNARY_ELU, 1, 0}},
        {"Erf", {UNARY_ERF, 0, 0}},
        {"Exp", {UNARY_EXP, 0, 0}},
        {"Floor", {UNARY_FLOOR, 0, 0}},
        {"Gelu", {UNARY_GELU_ERF, 0, 0}},
        {"HardSigmoid", {UNARY_HARD_SIGMOID, 0.2f, 0.5f}},
        {"HardSwish", {UNARY_HARD_SWISH, 0, 0}},
        {"IsInf", {UNARY_IS_INF, 1, 1}},
        {"IsNaN", {UNARY_IS_NAN, 0, 0}},
        {"LeakyRelu", {UNARY_LEAKY_RELU, 0.01f, 0}},
        {"Log", {UNARY_LOG, 0, 0}},
        {"Mish", {UNARY_MISH, 0, 0}},
        {"Neg", {UNARY_NEGATE, 0, 0}},
        {"Reciprocal", {UNARY_RECIPROCAL, 0, 0}},
        {"Relu", {UNARY_RELU, 0, 0}},
        {"Round", {UNARY_ROUND, 0, 0}},
        {"Selu", {UNARY_SELU, 1.6732632f, 1.050701f}},
        {"Shrink", {UNARY_SHRINK, 0.5f, 0}},
        {"Sigmoid", {UNARY_SIGMOID, 0, 0}},
        {"Sign", {UNARY_SIGN, 0, 0}},
        {"Sin", {UNARY_SIN, 0, 0}},
        {"Sinh", {UNARY_SINH, 0, 0}},
        {"Softplus", {UNARY_SOFTPLUS, 0, 0}},
        {"Softsign", {UNARY_SOFTSIGN, 0, 0}},
        {"Sqrt", {UNARY_SQRT, 0, 0}},
        {"Swish", {UNARY_SILU, 1, 0}},
        {"Tan", {UNARY_TAN, 0, 0}},
        {"Tanh", {UNARY_TANH, 0, 0}},
        {"ThresholdedRelu", {UNARY_THRESHOLDED_RELU, 1, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].op, 20);
        struct unary unary = lowered();
        cr_assert_eq(unary.kind, rows[i].unary.kind, "%s", rows[i].op);
        cr_assert_float_eq(unary.a, rows[i].unary.a, 1e-6, "%s", rows[i].op);
        cr_assert_float_eq(unary.b, rows[i].unary.b, 1e-6, "%s", rows[i].op);
        cr_assert(one_node_fact(&one, 0)->shape.rank == 2 && one_node_fact(&one, 0)->elements == 6);
    }
}

Test(lower_elementwise, attributes_take_the_place_of_defaults) {
    begin("HardSigmoid", 13);
    one_node_float(&one, "alpha", 0.25f);
    one_node_float(&one, "beta", 0.125f);
    struct unary unary = lowered();
    cr_assert(unary.a == 0.25f && unary.b == 0.125f);
    begin("Selu", 13);
    one_node_float(&one, "gamma", 3);
    unary = lowered();
    cr_assert(unary.a > 1.67f && unary.a < 1.68f && unary.b == 3);
    begin("Shrink", 13);
    one_node_float(&one, "bias", 0.25f);
    one_node_float(&one, "lambd", 2);
    unary = lowered();
    cr_assert(unary.a == 2 && unary.b == 0.25f);
    begin("IsInf", 13);
    one_node_int(&one, "detect_negative", 0);
    unary = lowered();
    cr_assert(unary.a == 0 && unary.b == 1);
    begin("LeakyRelu", 13);
    one_node_int(&one, "alpha", 1);
    assert_refused(WEIR_INVALID, "alpha");
}

Test(lower_elementwise, gelu_comes_in_two_forms) {
    begin("Gelu", 20);
    one_node_text(&one, "approximate", "tanh");
    cr_assert_eq(lowered().kind, UNARY_GELU_TANH);
    begin("Gelu", 20);
    one_node_text(&one, "approximate", "none");
    cr_assert_eq(lowered().kind, UNARY_GELU_ERF);
    begin("Gelu", 20);
    one_node_text(&one, "approximate", "sigmoid");
    assert_refused(WEIR_UNSUPPORTED, "sigmoid");
}

Test(lower_elementwise, the_steps_compute) {
    begin("LeakyRelu", 13);
    one_node_float(&one, "alpha", 0.5f);
    cr_assert_eq(lower(), WEIR_OK);
    const float *y = one_node_output(&one, 0);
    cr_assert(y[0] == -2 && y[1] == -0.5f && y[3] == 0 && y[5] == 3);
    begin("IsNaN", 13);
    cr_assert_eq(lower(), WEIR_OK);
    cr_assert_eq(one_node_fact(&one, 0)->dtype, TENSOR_BOOL);
    cr_assert_eq(((const unsigned char *)one_node_output(&one, 0))[0], 0);
}

Test(lower_elementwise, some_functions_take_integers_or_bools) {
    static const int64_t integers[3] = {-5, 0, 7};
    static const unsigned char bools[3] = {1, 0, 1};
    static const struct tensor_shape three = {1, {3}};
    one_node_begin(&one, "Neg", 13);
    one_node_input(&one, TENSOR_I64, three, integers, false);
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const int64_t *y = one_node_output(&one, 0);
    cr_assert(one_node_fact(&one, 0)->dtype == TENSOR_I64 && y[0] == 5 && y[2] == -7);
    one_node_begin(&one, "Not", 13);
    one_node_input(&one, TENSOR_BOOL, three, bools, false);
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const unsigned char *not = one_node_output(&one, 0);
    cr_assert(not [0] == 0 && not [1] == 1 && not [2] == 0);
    one_node_begin(&one, "Not", 13);
    one_node_input(&one, TENSOR_I64, three, integers, false);
    assert_refused(WEIR_INVALID, "int64");
    one_node_begin(&one, "Relu", 14);
    one_node_input(&one, TENSOR_BOOL, three, bools, false);
    assert_refused(WEIR_INVALID, "bool");
    one_node_begin(&one, "Exp", 13);
    one_node_input(&one, TENSOR_I64, three, integers, false);
    assert_refused(WEIR_UNSUPPORTED, "int64");
}

Test(lower_elementwise, clip_has_attributes_before_opset_11) {
    begin("Clip", 10);
    one_node_float(&one, "min", -1);
    struct unary unary = lowered();
    cr_assert(unary.kind == UNARY_CLIP && unary.a == -1 && unary.b == FLT_MAX);
    begin("Clip", 11);
    one_node_float(&one, "min", -1);
    assert_refused(WEIR_INVALID, "inputs in this opset");
    begin("Clip", 10);
    one_node_input(&one, TENSOR_F32, scalar, x, true);
    assert_refused(WEIR_INVALID, "attributes in this opset");
}

Test(lower_elementwise, clip_has_inputs_since) {
    static const float low = -1, high = 2;
    begin("Clip", 13);
    one_node_input(&one, TENSOR_F32, scalar, &low, true);
    one_node_input(&one, TENSOR_F32, scalar, &high, true);
    struct unary unary = lowered();
    cr_assert(unary.kind == UNARY_CLIP && unary.a == -1 && unary.b == 2);
    cr_assert_eq(one.program.steps[0].input_count, 1);
    begin("Clip", 13);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {1}}, &high, true);
    unary = lowered();
    cr_assert(unary.a == -FLT_MAX && unary.b == 2);
    begin("Clip", 13);
    cr_assert_eq(lower(), WEIR_OK);
    cr_assert_eq(one.program.step_count, 0);
    cr_assert(((const float *)one_node_output(&one, 0))[0] == -4);
    begin("Clip", 13);
    one_node_input(&one, TENSOR_F32, shape, x, true);
    assert_refused(WEIR_INVALID, "scalar");
    begin("Clip", 13);
    one_node_input(&one, TENSOR_I64, scalar, x, true);
    assert_refused(WEIR_INVALID, "int64");
}

Test(lower_elementwise, computed_bounds_become_steps) {
    static const float low = -1, high = 2;
    begin("Clip", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {1}}, &low, false);
    one_node_input(&one, TENSOR_F32, scalar, &high, true);
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.step_count, 2);
    const float *y = one_node_output(&one, 0);
    static const float expected[6] = {-1, -1, -0.25f, 0, 0.5f, 2};
    cr_assert_arr_eq(y, expected, sizeof expected);
    begin("Clip", 13);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_F32, scalar, &high, false);
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.step_count, 1);
    y = one_node_output(&one, 0);
    cr_assert(y[0] == -4 && y[5] == 2);
}

Test(lower_elementwise, integers_are_clipped_exactly) {
    static const int64_t values[3] = {9007199254740993, -9007199254740993, 5}, high = 9007199254740992, low = 3;
    one_node_begin(&one, "Clip", 13);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){1, {3}}, values, false);
    one_node_input(&one, TENSOR_I64, scalar, &low, true);
    one_node_input(&one, TENSOR_I64, scalar, &high, true);
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const int64_t *y = one_node_output(&one, 0);
    cr_assert(y[0] == high && y[1] == 3 && y[2] == 5);
}
