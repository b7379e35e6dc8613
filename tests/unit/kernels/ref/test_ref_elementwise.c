#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ref/ref_elementwise.h"

static float value(enum unary_kind kind, float a, float b, float x) {
    return ref_unary_value(&(struct unary){kind, a, b}, x);
}

Test(ref_elementwise, activations_have_the_values_of_their_formulas) {
    static const struct {
        struct unary unary;
        float x;
        double y;
    } rows[] = {
        {{UNARY_NONE, 0, 0}, -3, -3},
        {{UNARY_RELU, 0, 0}, -3, 0},
        {{UNARY_RELU, 0, 0}, 3, 3},
        {{UNARY_LEAKY_RELU, 0.5f, 0}, -3, -1.5},
        {{UNARY_CLIP, -1, 2}, 5, 2},
        {{UNARY_CLIP, -1, 2}, -5, -1},
        {{UNARY_SIGMOID, 0, 0}, 1, 0.7310585786300049},
        {{UNARY_TANH, 0, 0}, 0.5f, 0.46211715726000973},
        {{UNARY_ELU, 2, 0}, -1, -1.2642411176571153},
        {{UNARY_SELU, 1.5f, 2}, -1, -1.8963616764856730},
        {{UNARY_SELU, 1.5f, 2}, 3, 6},
        {{UNARY_CELU, 2, 0}, -1, -0.7869386805747332},
        {{UNARY_HARD_SIGMOID, 0.25f, 0.5f}, 1, 0.75},
        {{UNARY_HARD_SIGMOID, 0.25f, 0.5f}, 9, 1},
        {{UNARY_HARD_SWISH, 0, 0}, 1.5f, 1.125},
        {{UNARY_HARD_SWISH, 0, 0}, -4, 0},
        {{UNARY_SOFTPLUS, 0, 0}, 0, 0.6931471805599453},
        {{UNARY_SOFTPLUS, 0, 0}, 200, 200},
        {{UNARY_SOFTSIGN, 0, 0}, -3, -0.75},
        {{UNARY_THRESHOLDED_RELU, 2, 0}, 2, 0},
        {{UNARY_THRESHOLDED_RELU, 2, 0}, 3, 3},
        {{UNARY_SHRINK, 0.5f, 0.25f}, 2, 1.75},
        {{UNARY_SHRINK, 0.5f, 0.25f}, -2, -1.75},
        {{UNARY_SHRINK, 0.5f, 0.25f}, 0.5f, 0},
        {{UNARY_GELU_ERF, 0, 0}, 1, 0.8413447460685429},
        {{UNARY_GELU_TANH, 0, 0}, 1, 0.8411919906082768},
        {{UNARY_SILU, 1, 0}, 1, 0.7310585786300049},
        {{UNARY_MISH, 0, 0}, 1, 0.8650983882673103},
        {{UNARY_ERF, 0, 0}, 0.5f, 0.5204998778130465},
        {{UNARY_SCALE, 3, 1}, 2, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float y = ref_unary_value(&rows[i].unary, rows[i].x);
        cr_assert(fabs((double)y - rows[i].y) <= 1e-7 * fabs(rows[i].y), "row %zu: %.9g", i, (double)y);
    }
}

Test(ref_elementwise, the_mathematical_functions_are_those_of_the_library) {
    static const struct {
        enum unary_kind kind;
        float x;
        double y;
    } rows[] = {
        {UNARY_SQRT, 2, 1.4142135623730951},
        {UNARY_RECIPROCAL, 8, 0.125},
        {UNARY_EXP, 1, 2.718281828459045},
        {UNARY_LOG, 2, 0.6931471805599453},
        {UNARY_NEGATE, 3, -3},
        {UNARY_ABSOLUTE, -3, 3},
        {UNARY_SIGN, -7, -1},
        {UNARY_SIGN, 0, 0},
        {UNARY_FLOOR, -1.5f, -2},
        {UNARY_CEIL, -1.5f, -1},
        {UNARY_ROUND, 2.5f, 2},
        {UNARY_ROUND, -3.5f, -4},
        {UNARY_SIN, 1, 0.8414709848078965},
        {UNARY_COS, 1, 0.5403023058681398},
        {UNARY_TAN, 1, 1.5574077246549023},
        {UNARY_ASIN, 0.5f, 0.5235987755982989},
        {UNARY_ACOS, 0.5f, 1.0471975511965979},
        {UNARY_ATAN, 1, 0.7853981633974483},
        {UNARY_SINH, 1, 1.1752011936438014},
        {UNARY_COSH, 1, 1.5430806348152437},
        {UNARY_ASINH, 1, 0.881373587019543},
        {UNARY_ACOSH, 2, 1.3169578969248166},
        {UNARY_ATANH, 0.5f, 0.5493061443340548},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float y = value(rows[i].kind, 0, 0, rows[i].x);
        cr_assert(fabs((double)y - rows[i].y) <= 1e-7 * fabs(rows[i].y), "row %zu: %.9g", i, (double)y);
    }
}

Test(ref_elementwise, nan_stays_nan) {
    for (int kind = 0; kind < UNARY_KINDS; kind++) {
        float y = value((enum unary_kind)kind, 1, 1, NAN);
        if (kind == UNARY_IS_NAN)
            cr_assert(y == 1);
        else if (kind == UNARY_IS_INF || kind == UNARY_NOT)
            cr_assert(y == 0);
        else
            cr_assert(isnan(y), "kind %d", kind);
    }
}

Test(ref_elementwise, infinities_are_told_by_their_sign) {
    cr_assert(value(UNARY_IS_INF, 1, 1, INFINITY) == 1 && value(UNARY_IS_INF, 1, 1, -INFINITY) == 1);
    cr_assert(value(UNARY_IS_INF, 1, 0, INFINITY) == 0 && value(UNARY_IS_INF, 1, 0, -INFINITY) == 1);
    cr_assert(value(UNARY_IS_INF, 0, 1, INFINITY) == 1 && value(UNARY_IS_INF, 0, 1, -INFINITY) == 0);
    cr_assert(value(UNARY_IS_INF, 1, 1, FLT_MAX) == 0);
}

static void run_unary(struct unary unary, struct view x, struct view y) {
    struct operation operation = {.kind = OPERATION_UNARY, .unary = unary};
    ref_unary(&operation, &x, &y, NULL);
}

Test(ref_elementwise, integers_have_functions_too) {
    int8_t x[4] = {-128, -1, 0, 100}, y[4];
    struct view in = {x, ELEMENT_I8, 1, {4}}, out = {y, ELEMENT_I8, 1, {4}};
    run_unary((struct unary){UNARY_RELU, 0, 0}, in, out);
    cr_assert(y[0] == 0 && y[1] == 0 && y[2] == 0 && y[3] == 100);
    run_unary((struct unary){UNARY_NEGATE, 0, 0}, in, out);
    cr_assert(y[0] == -128 && y[1] == 1 && y[3] == -100);
    run_unary((struct unary){UNARY_ABSOLUTE, 0, 0}, in, out);
    cr_assert(y[0] == -128 && y[1] == 1 && y[3] == 100);
    run_unary((struct unary){UNARY_SIGN, 0, 0}, in, out);
    cr_assert(y[0] == -1 && y[2] == 0 && y[3] == 1);
    run_unary((struct unary){UNARY_CLIP, -5, 7}, in, out);
    cr_assert(y[0] == -5 && y[1] == -1 && y[3] == 7);
    run_unary((struct unary){UNARY_CLIP, -FLT_MAX, FLT_MAX}, in, out);
    cr_assert(y[0] == -128 && y[3] == 100);
    int64_t large = INT64_MAX, result;
    run_unary((struct unary){UNARY_CLIP, -FLT_MAX, FLT_MAX}, (struct view){&large, ELEMENT_I64, 0, {0}},
              (struct view){&result, ELEMENT_I64, 0, {0}});
    cr_assert_eq(result, INT64_MAX);
}

Test(ref_elementwise, some_functions_give_bools) {
    float x[3] = {NAN, INFINITY, 1};
    uint8_t bools[3] = {1, 0, 1}, y[3];
    struct view in = {x, ELEMENT_F32, 1, {3}}, out = {y, ELEMENT_BOOL, 1, {3}};
    run_unary((struct unary){UNARY_IS_NAN, 0, 0}, in, out);
    cr_assert(y[0] == 1 && y[1] == 0 && y[2] == 0);
    run_unary((struct unary){UNARY_IS_INF, 1, 1}, in, out);
    cr_assert(y[0] == 0 && y[1] == 1 && y[2] == 0);
    run_unary((struct unary){UNARY_NOT, 0, 0}, (struct view){bools, ELEMENT_BOOL, 1, {3}}, out);
    cr_assert(y[0] == 0 && y[1] == 1 && y[2] == 0);
}

Test(ref_elementwise, where_broadcasts_all_three) {
    uint8_t condition[2] = {1, 0};
    int64_t a[3] = {10, 20, 30}, b = -1, y[6];
    struct view inputs[3] = {{condition, ELEMENT_BOOL, 2, {2, 1}}, {a, ELEMENT_I64, 1, {3}}, {&b, ELEMENT_I64, 0, {0}}};
    struct view out = {y, ELEMENT_I64, 2, {2, 3}};
    struct operation operation = {.kind = OPERATION_WHERE};
    static const int64_t expected[6] = {10, 20, 30, -1, -1, -1};
    ref_where(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

static void run_cast(enum element through, struct view x, struct view y) {
    struct operation operation = {.kind = OPERATION_CAST, .through = through};
    ref_cast(&operation, &x, &y, NULL);
}

Test(ref_elementwise, floats_become_integers_by_truncation) {
    float x[5] = {-1.9f, 2.9f, NAN, 1e20f, -INFINITY};
    int32_t i32[5];
    uint8_t u8[5], bools[5];
    struct view in = {x, ELEMENT_F32, 1, {5}};
    run_cast(ELEMENT_F32, in, (struct view){i32, ELEMENT_I32, 1, {5}});
    cr_assert(i32[0] == -1 && i32[1] == 2 && i32[2] == 0 && i32[3] == INT32_MAX && i32[4] == INT32_MIN);
    run_cast(ELEMENT_F32, in, (struct view){u8, ELEMENT_U8, 1, {5}});
    cr_assert(u8[0] == 0 && u8[1] == 2 && u8[2] == 0 && u8[3] == 255 && u8[4] == 0);
    run_cast(ELEMENT_F32, in, (struct view){bools, ELEMENT_BOOL, 1, {5}});
    cr_assert(bools[0] == 1 && bools[2] == 1 && bools[4] == 1);
}

Test(ref_elementwise, integers_wrap_and_become_floats) {
    int64_t x[3] = {300, -1, 16777217}; /* the last one is between two float32 */
    uint8_t u8[3];
    float f32[3];
    uint16_t f16[3];
    struct view in = {x, ELEMENT_I64, 1, {3}};
    run_cast(ELEMENT_F32, in, (struct view){u8, ELEMENT_U8, 1, {3}});
    cr_assert(u8[0] == 44 && u8[1] == 255 && u8[2] == 1);
    run_cast(ELEMENT_F32, in, (struct view){f32, ELEMENT_F32, 1, {3}});
    cr_assert(f32[0] == 300 && f32[1] == -1 && f32[2] == 16777216);
    run_cast(ELEMENT_F32, in, (struct view){f16, ELEMENT_F16, 1, {3}});
    cr_assert(f16[0] == 0x5cb0 && f16[1] == 0xbc00 && f16[2] == 0x7c00);
}

Test(ref_elementwise, a_float_is_rounded_through_a_shorter_one) {
    float x[4] = {1.0f + 0x1p-12f, 70000, -0x1p-25f, 1 + 0x1p-7f}, y[4];
    struct view in = {x, ELEMENT_F32, 1, {4}}, out = {y, ELEMENT_F32, 1, {4}};
    run_cast(ELEMENT_F16, in, out);
    cr_assert(y[0] == 1 && isinf(y[1]) && y[2] == 0 && signbit(y[2]) && y[3] == x[3]);
    run_cast(ELEMENT_BF16, in, out);
    cr_assert(y[0] == 1 && y[1] == 70144 && y[2] == x[2] && y[3] == x[3]);
    int64_t integer = 2049;
    run_cast(ELEMENT_F16, (struct view){&integer, ELEMENT_I64, 0, {0}}, (struct view){y, ELEMENT_F32, 0, {0}});
    cr_assert(y[0] == 2048);
}

Test(ref_elementwise, doubles_and_bools_take_part) {
    double x[2] = {0.1, -3};
    uint8_t bools[2];
    float y[2];
    run_cast(ELEMENT_F32, (struct view){x, ELEMENT_F64, 1, {2}}, (struct view){y, ELEMENT_F32, 1, {2}});
    cr_assert(y[0] == 0.1f && y[1] == -3);
    run_cast(ELEMENT_F32, (struct view){x, ELEMENT_F64, 1, {2}}, (struct view){bools, ELEMENT_BOOL, 1, {2}});
    cr_assert(bools[0] == 1 && bools[1] == 1);
    run_cast(ELEMENT_F32, (struct view){bools, ELEMENT_BOOL, 1, {2}}, (struct view){x, ELEMENT_F64, 1, {2}});
    cr_assert(x[0] == 1 && x[1] == 1);
}

Test(ref_elementwise, a_copy_has_the_same_bytes) {
    float x[6] = {1, 2, 3, 4, 5, NAN}, y[6];
    struct view in = {x, ELEMENT_F32, 2, {2, 3}}, out = {y, ELEMENT_F32, 1, {6}};
    struct operation operation = {.kind = OPERATION_COPY};
    ref_copy(&operation, &in, &out, NULL);
    cr_assert(memcmp(x, y, sizeof x) == 0);
}
