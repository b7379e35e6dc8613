#include "engine/graph/lower_reduce.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float six[6] = {1, 2, 3, 4, 5, 6};
static const struct tensor_shape two_by_three = {2, {2, 3}};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_reduce, .fini = end);

static void begin(const char *op, int opset) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, two_by_three, six, false);
}

static enum weir_status lower(int outputs) {
    return one_node_lower(&one, &lower_reduce_family, outputs, &err);
}

static const float *floats(void) {
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    return one_node_output(&one, 0);
}

static void assert_shape(int output, const char *expected) {
    char text[96];
    tensor_shape_text(&one_node_fact(&one, output)->shape, text, sizeof text);
    cr_assert_str_eq(text, expected);
}

static void refuses(enum weir_status status, const char *what) {
    cr_assert_eq(lower(1), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(lower_reduce, axes_are_an_attribute_or_an_input) {
    static const int64_t last[1] = {-1};
    begin("ReduceSum", 11);
    one_node_ints(&one, "axes", last, 1);
    const float *y = floats();
    cr_assert(y[0] == 6 && y[1] == 15);
    assert_shape(0, "[2,1]");
    begin("ReduceSum", 13);
    one_node_integers(&one, last, 1);
    one_node_int(&one, "keepdims", 0);
    y = floats();
    cr_assert(y[0] == 6 && y[1] == 15);
    assert_shape(0, "[2]");
}

Test(lower_reduce, every_operator_has_its_kind) {
    static const struct {
        const char *op;
        float result;
    } cases[] = {{"ReduceSum", 21},
                 {"ReduceMean", 3.5f},
                 {"ReduceMax", 6},
                 {"ReduceMin", 1},
                 {"ReduceProd", 720},
                 {"ReduceL1", 21},
                 {"ReduceL2", 9.539392f},
                 {"ReduceSumSquare", 91},
                 {"ReduceLogSum", 3.0445224f},
                 {"ReduceLogSumExp", 6.4561934f}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].op, 18);
        cr_assert_float_eq(floats()[0], cases[i].result, 1e-5, "%s", cases[i].op);
        assert_shape(0, "[1,1]");
    }
}

Test(lower_reduce, empty_axes_mean_all_or_none) {
    static const int64_t none[1] = {0};
    begin("ReduceMax", 18);
    one_node_integers(&one, none, 0);
    cr_assert_eq(floats()[0], 6);
    begin("ReduceMax", 18);
    one_node_integers(&one, none, 0);
    one_node_int(&one, "noop_with_empty_axes", 1);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    assert_shape(0, "[2,3]");
    cr_assert_eq(one.program.step_count, 0);
}

Test(lower_reduce, integers_stay_integers_and_other_types_are_named) {
    static const int64_t numbers[3] = {5, -7, 3};
    static const uint8_t bytes[3] = {5, 7, 3};
    one_node_begin(&one, "ReduceProd", 13);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){1, {3}}, numbers, false);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(*(const int64_t *)one_node_output(&one, 0), -105);
    one_node_begin(&one, "ReduceMin", 13);
    one_node_input(&one, TENSOR_U8, (struct tensor_shape){1, {3}}, bytes, false);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(*(const uint8_t *)one_node_output(&one, 0), 3);
    one_node_begin(&one, "ReduceSum", 13);
    one_node_input(&one, TENSOR_U8, (struct tensor_shape){1, {3}}, bytes, false);
    refuses(WEIR_UNSUPPORTED, "uint8");
}

Test(lower_reduce, axes_outside_or_unknown_are_named) {
    static const int64_t axes[1] = {2};
    begin("ReduceSum", 13);
    one_node_integers(&one, axes, 1);
    refuses(WEIR_INVALID, "axis 2 of 2 dimensions");
    begin("ReduceSum", 13);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){1, {1}}, axes, false);
    refuses(WEIR_UNSUPPORTED, "input 1");
}

Test(lower_reduce, global_pools_keep_batch_and_channels) {
    static const struct {
        const char *op;
        float results[2];
    } cases[] = {{"GlobalAveragePool", {2, 5}}, {"GlobalMaxPool", {3, 6}}, {"GlobalLpPool", {3.7416574f, 8.774964f}}};
    for (size_t i = 0; i < 3; i++) {
        one_node_begin(&one, cases[i].op, 13);
        one_node_input(&one, TENSOR_F32, (struct tensor_shape){4, {1, 2, 3, 1}}, six, false);
        const float *y = floats();
        cr_assert(fabsf(y[0] - cases[i].results[0]) < 1e-6f && fabsf(y[1] - cases[i].results[1]) < 1e-6f);
        assert_shape(0, "[1,2,1,1]");
    }
    one_node_begin(&one, "GlobalLpPool", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {1, 2, 3}}, six, false);
    one_node_int(&one, "p", 3);
    refuses(WEIR_UNSUPPORTED, "p=3");
    one_node_begin(&one, "GlobalMaxPool", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {6}}, six, false);
    refuses(WEIR_INVALID, "no channels");
}

Test(lower_reduce, argmax_and_argmin_count_along_an_axis) {
    static const float ties[6] = {1, 9, 9, 0, 0, 4};
    one_node_begin(&one, "ArgMax", 13);
    one_node_input(&one, TENSOR_F32, two_by_three, ties, false);
    one_node_int(&one, "axis", -1);
    one_node_int(&one, "keepdims", 0);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    const int64_t *y = one_node_output(&one, 0);
    cr_assert(y[0] == 1 && y[1] == 2);
    assert_shape(0, "[2]");
    one_node_begin(&one, "ArgMin", 13);
    one_node_input(&one, TENSOR_F32, two_by_three, ties, false);
    one_node_int(&one, "axis", 1);
    one_node_int(&one, "select_last_index", 1);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    y = one_node_output(&one, 0);
    cr_assert(y[0] == 0 && y[1] == 1);
    assert_shape(0, "[2,1]");
    one_node_begin(&one, "ArgMax", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {0, 3}}, ties, false);
    refuses(WEIR_INVALID, "empty");
}

Test(lower_reduce, topk_has_its_number_as_attribute_or_input) {
    static const int64_t two[1] = {2}, four[1] = {4};
    begin("TopK", 7);
    one_node_int(&one, "k", 2);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    const float *values = one_node_output(&one, 0);
    const int64_t *indices = one_node_output(&one, 1);
    cr_assert(values[0] == 3 && values[1] == 2 && values[3] == 5 && indices[0] == 2 && indices[3] == 1);
    assert_shape(1, "[2,2]");
    begin("TopK", 11);
    one_node_integers(&one, two, 1);
    one_node_int(&one, "largest", 0);
    one_node_int(&one, "sorted", 0);
    one_node_int(&one, "axis", 0);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    values = one_node_output(&one, 0);
    cr_assert(values[0] == 1 && values[3] == 4);
    assert_shape(0, "[2,3]");
    begin("TopK", 11);
    one_node_integers(&one, four, 1);
    refuses(WEIR_INVALID, "k is 4, the dimension has 3 elements");
    begin("TopK", 7);
    refuses(WEIR_INVALID, "k is -1");
}

Test(lower_reduce, cumsum_has_its_axis_as_input) {
    static const int64_t axis[1] = {-2}, wrong[1] = {2};
    begin("CumSum", 14);
    one_node_integers(&one, axis, 1);
    one_node_int(&one, "reverse", 1);
    const float *y = floats();
    cr_assert(y[0] == 5 && y[2] == 9 && y[3] == 4);
    begin("CumSum", 14);
    one_node_integers(&one, wrong, 1);
    refuses(WEIR_INVALID, "axis 2 of 2 dimensions");
}
