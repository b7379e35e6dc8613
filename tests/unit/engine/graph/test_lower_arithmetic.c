#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/graph/lower_arithmetic.h"
#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float a[6] = {1, -2, 3, -4, 5, -6}, b[3] = {2, 4, 8};
static const int64_t integers[6] = {7, -7, 8, -8, 9, -9}, divisors[3] = {3, 3, -5};
static const unsigned char bools[2] = {1, 0}, others[2] = {1, 1};
static const struct tensor_shape matrix = {2, {2, 3}}, row = {1, {3}}, two = {1, {2}}, scalar = {0, {0}};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_arithmetic, .fini = end);

static void begin(const char *op, int opset) {
    one_node_begin(&one, op, opset);
}

static void take(enum tensor_dtype dtype, struct tensor_shape shape, const void *elements) {
    one_node_input(&one, dtype, shape, elements, false);
}

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_elementwise_family, 1, &err);
}

static const void *output(enum tensor_dtype dtype, size_t elements) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    cr_assert_eq(one_node_fact(&one, 0)->dtype, dtype);
    cr_assert_eq(one_node_fact(&one, 0)->elements, elements);
    return one_node_output(&one, 0);
}

static void assert_refused(enum weir_status status, const char *what) {
    cr_assert_eq(lower(), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s", err.text);
}

Test(lower_arithmetic, two_tensors_broadcast) {
    static const struct {
        const char *op;
        float expected[6];
    } rows[] = {{"Add", {3, 2, 11, -2, 9, 2}},
                {"Sub", {-1, -6, -5, -6, 1, -14}},
                {"Mul", {2, -8, 24, -8, 20, -48}},
                {"Div", {0.5f, -0.5f, 0.375f, -2, 1.25f, -0.75f}},
                {"PRelu", {1, -8, 3, -8, 5, -48}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].op, 13);
        take(TENSOR_F32, matrix, a);
        take(TENSOR_F32, row, b);
        const float *y = output(TENSOR_F32, 6);
        cr_assert_arr_eq(y, rows[i].expected, sizeof rows[i].expected, "%s", rows[i].op);
    }
    begin("Sub", 13);
    take(TENSOR_F32, row, b);
    take(TENSOR_F32, matrix, a);
    cr_assert(((const float *)output(TENSOR_F32, 6))[1] == 6);
}

Test(lower_arithmetic, comparisons_and_logic_give_bools) {
    static const struct {
        const char *op;
        unsigned char expected[3];
    } rows[] = {{"Equal", {0, 0, 0}},
                {"Less", {1, 1, 1}},
                {"LessOrEqual", {1, 1, 1}},
                {"Greater", {0, 0, 0}},
                {"GreaterOrEqual", {0, 0, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].op, 16);
        take(TENSOR_F32, row, a);
        take(TENSOR_F32, row, b);
        const unsigned char *y = output(TENSOR_BOOL, 3);
        cr_assert_arr_eq(y, rows[i].expected, 3, "%s", rows[i].op);
    }
    static const struct {
        const char *op;
        unsigned char expected[2];
    } logic[] = {{"And", {1, 0}}, {"Or", {1, 1}}, {"Xor", {0, 1}}, {"Equal", {1, 0}}};
    for (size_t i = 0; i < sizeof logic / sizeof logic[0]; i++) {
        begin(logic[i].op, 13);
        take(TENSOR_BOOL, two, bools);
        take(TENSOR_BOOL, two, others);
        const unsigned char *y = output(TENSOR_BOOL, 2);
        cr_assert_arr_eq(y, logic[i].expected, 2, "%s", logic[i].op);
    }
}

Test(lower_arithmetic, types_must_agree_and_fit) {
    begin("Add", 13);
    take(TENSOR_F32, row, b);
    take(TENSOR_I64, row, integers);
    assert_refused(WEIR_INVALID, "float32 and int64");
    begin("Add", 13);
    take(TENSOR_BOOL, two, bools);
    take(TENSOR_BOOL, two, bools);
    assert_refused(WEIR_INVALID, "expected numbers");
    begin("And", 13);
    take(TENSOR_F32, row, b);
    take(TENSOR_F32, row, b);
    assert_refused(WEIR_INVALID, "expected bool");
    begin("Mul", 13);
    take(TENSOR_F32, matrix, a);
    take(TENSOR_F32, two, b);
    assert_refused(WEIR_INVALID, "[2,3] and [2] do not broadcast");
    begin("Mul", 13);
    take(TENSOR_F32, matrix, a);
    one_node_omit(&one);
    assert_refused(WEIR_INVALID, "missing");
    begin("PRelu", 13);
    take(TENSOR_F32, row, b);
    take(TENSOR_F32, matrix, a);
    assert_refused(WEIR_INVALID, "slope");
}

Test(lower_arithmetic, lists_are_chained) {
    static const float c = 4;
    static const struct {
        const char *op;
        float expected[6];
    } rows[] = {{"Sum", {7, 6, 15, 2, 13, 6}},
                {"Mean", {7 / 3.0f, 2, 5, 2 / 3.0f, 13 / 3.0f, 2}},
                {"Min", {1, -2, 3, -4, 4, -6}},
                {"Max", {4, 4, 8, 4, 5, 8}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].op, 13);
        take(TENSOR_F32, scalar, &c);
        take(TENSOR_F32, row, b);
        take(TENSOR_F32, matrix, a);
        const float *y = output(TENSOR_F32, 6);
        cr_assert_arr_eq(y, rows[i].expected, sizeof rows[i].expected, "%s", rows[i].op);
        begin(rows[i].op, 13);
        take(TENSOR_F32, matrix, a);
        cr_assert_arr_eq(output(TENSOR_F32, 6), a, sizeof a);
        cr_assert_eq(one.program.step_count, 0);
    }
    begin("Max", 13);
    take(TENSOR_I64, matrix, integers);
    take(TENSOR_I64, row, divisors);
    cr_assert_eq(((const int64_t *)output(TENSOR_I64, 6))[1], 3);
    begin("Sum", 13);
    take(TENSOR_I64, matrix, integers);
    assert_refused(WEIR_UNSUPPORTED, "int64");
    begin("Min", 13);
    take(TENSOR_F32, row, b);
    take(TENSOR_I64, row, divisors);
    assert_refused(WEIR_INVALID, "float32 and int64");
}

Test(lower_arithmetic, remainders_come_in_two_forms) {
    static const int64_t python[6] = {1, 2, -2, 1, 0, -4}, c[6] = {1, -1, 3, -2, 0, -4};
    begin("Mod", 13);
    take(TENSOR_I64, matrix, integers);
    take(TENSOR_I64, row, divisors);
    cr_assert_arr_eq(output(TENSOR_I64, 6), python, sizeof python);
    begin("Mod", 13);
    take(TENSOR_I64, matrix, integers);
    take(TENSOR_I64, row, divisors);
    one_node_int(&one, "fmod", 1);
    cr_assert_arr_eq(output(TENSOR_I64, 6), c, sizeof c);
    begin("Mod", 13);
    take(TENSOR_F32, matrix, a);
    take(TENSOR_F32, row, b);
    assert_refused(WEIR_INVALID, "fmod=1");
    begin("Mod", 13);
    take(TENSOR_F32, matrix, a);
    take(TENSOR_F32, row, b);
    one_node_int(&one, "fmod", 1);
    cr_assert(((const float *)output(TENSOR_F32, 6))[5] == -6);
}

Test(lower_arithmetic, powers_may_mix_types_since_opset_12) {
    static const float two_and_half = 0.5f;
    static const int64_t exponent = 3;
    begin("Pow", 13);
    take(TENSOR_F32, matrix, a);
    take(TENSOR_F32, row, b);
    cr_assert(((const float *)output(TENSOR_F32, 6))[1] == 16);
    begin("Pow", 13);
    take(TENSOR_F32, matrix, a);
    take(TENSOR_I64, scalar, &exponent);
    cr_assert(((const float *)output(TENSOR_F32, 6))[5] == -216);
    begin("Pow", 13);
    take(TENSOR_F32, matrix, a);
    one_node_input(&one, TENSOR_I64, scalar, &exponent, true); /* becomes a float */
    cr_assert(((const float *)output(TENSOR_F32, 6))[5] == -216);
    const struct program_step *step = &one.program.steps[0];
    cr_assert_eq(one.program.buffers[step->inputs[1]].dtype, TENSOR_F32);
    begin("Pow", 13);
    take(TENSOR_I64, matrix, integers);
    take(TENSOR_F32, scalar, &two_and_half);
    cr_assert_eq(((const int64_t *)output(TENSOR_I64, 6))[4], 3);
    begin("Pow", 11);
    take(TENSOR_F32, matrix, a);
    take(TENSOR_I64, scalar, &exponent);
    assert_refused(WEIR_INVALID, "one type");
    begin("Pow", 13);
    take(TENSOR_BOOL, two, bools);
    take(TENSOR_I64, scalar, &exponent);
    assert_refused(WEIR_INVALID, "bool");
}

Test(lower_arithmetic, bits_of_bytes_are_shifted) {
    static const unsigned char bytes[2] = {0x81, 6}, by[2] = {1, 1};
    begin("BitShift", 11);
    take(TENSOR_U8, two, bytes);
    take(TENSOR_U8, two, by);
    one_node_text(&one, "direction", "LEFT");
    const unsigned char *y = output(TENSOR_U8, 2);
    cr_assert(y[0] == 2 && y[1] == 12);
    begin("BitShift", 11);
    take(TENSOR_U8, two, bytes);
    take(TENSOR_U8, two, by);
    one_node_text(&one, "direction", "RIGHT");
    y = output(TENSOR_U8, 2);
    cr_assert(y[0] == 0x40 && y[1] == 3);
    begin("BitShift", 11);
    take(TENSOR_U8, two, bytes);
    take(TENSOR_U8, two, by);
    assert_refused(WEIR_INVALID, "direction");
    begin("BitShift", 11);
    take(TENSOR_I64, row, divisors);
    take(TENSOR_I64, row, divisors);
    one_node_text(&one, "direction", "LEFT");
    assert_refused(WEIR_INVALID, "int64");
}

Test(lower_arithmetic, where_chooses_and_broadcasts) {
    static const float other = -1;
    static const struct tensor_shape column = {2, {2, 1}};
    begin("Where", 16);
    take(TENSOR_BOOL, column, bools);
    take(TENSOR_F32, row, b);
    take(TENSOR_F32, scalar, &other);
    static const float expected[6] = {2, 4, 8, -1, -1, -1};
    cr_assert_arr_eq(output(TENSOR_F32, 6), expected, sizeof expected);
    begin("Where", 16);
    take(TENSOR_F32, row, b);
    take(TENSOR_F32, row, b);
    take(TENSOR_F32, row, b);
    assert_refused(WEIR_INVALID, "condition");
    begin("Where", 16);
    take(TENSOR_BOOL, column, bools);
    take(TENSOR_F32, row, b);
    take(TENSOR_I64, row, integers);
    assert_refused(WEIR_INVALID, "one type");
}
