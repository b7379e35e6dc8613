#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "kernels/ref/ref_binary.h"

static void run(enum binary_kind kind, struct view a, struct view b, struct view y) {
    struct operation operation = {.kind = OPERATION_BINARY, .binary = kind};
    struct view inputs[2] = {a, b};
    ref_binary(&operation, inputs, &y, NULL);
}

static float of_floats(enum binary_kind kind, float a, float b) {
    float y = 0;
    run(kind, (struct view){&a, ELEMENT_F32, 0, {0}}, (struct view){&b, ELEMENT_F32, 0, {0}},
        (struct view){&y, ELEMENT_F32, 0, {0}});
    return y;
}

static int64_t of_integers(enum binary_kind kind, int64_t a, int64_t b) {
    int64_t y = 0;
    run(kind, (struct view){&a, ELEMENT_I64, 0, {0}}, (struct view){&b, ELEMENT_I64, 0, {0}},
        (struct view){&y, ELEMENT_I64, 0, {0}});
    return y;
}

Test(ref_binary, floats_are_combined) {
    cr_assert(of_floats(BINARY_ADD, 1, 2) == 3);
    cr_assert(of_floats(BINARY_SUBTRACT, 1, 2) == -1);
    cr_assert(of_floats(BINARY_MULTIPLY, 3, 2) == 6);
    cr_assert(of_floats(BINARY_DIVIDE, 1, 3) == 1.0f / 3);
    cr_assert(isinf(of_floats(BINARY_DIVIDE, 1, 0)));
    cr_assert(of_floats(BINARY_POWER, 2, 0.5f) == sqrtf(2));
    cr_assert(of_floats(BINARY_MINIMUM, -1, 2) == -1 && of_floats(BINARY_MAXIMUM, -1, 2) == 2);
    cr_assert(of_floats(BINARY_MODULO, -5, 3) == 1 && of_floats(BINARY_MODULO, 5, -3) == -1);
    cr_assert(of_floats(BINARY_REMAINDER, -5, 3) == -2 && of_floats(BINARY_REMAINDER, 5.5f, -3) == 2.5f);
    cr_assert(of_floats(BINARY_PRELU, -2, 0.25f) == -0.5f && of_floats(BINARY_PRELU, 2, 0.25f) == 2);
}

Test(ref_binary, nan_comes_through_on_both_sides) {
    cr_assert(isnan(of_floats(BINARY_MINIMUM, NAN, 1)) && isnan(of_floats(BINARY_MINIMUM, 1, NAN)));
    cr_assert(isnan(of_floats(BINARY_MAXIMUM, NAN, 1)) && isnan(of_floats(BINARY_MAXIMUM, 1, NAN)));
    cr_assert(isnan(of_floats(BINARY_ADD, 1, NAN)) && isnan(of_floats(BINARY_PRELU, NAN, 1)));
}

Test(ref_binary, integers_truncate_and_wrap) {
    cr_assert_eq(of_integers(BINARY_DIVIDE, -7, 2), -3);
    cr_assert_eq(of_integers(BINARY_DIVIDE, 7, 0), 0);
    cr_assert_eq(of_integers(BINARY_DIVIDE, INT64_MIN, -1), INT64_MIN);
    cr_assert_eq(of_integers(BINARY_MODULO, -7, 3), 2);
    cr_assert_eq(of_integers(BINARY_MODULO, 7, -3), -2);
    cr_assert_eq(of_integers(BINARY_REMAINDER, -7, 3), -1);
    cr_assert_eq(of_integers(BINARY_MODULO, 7, 0), 0);
    cr_assert_eq(of_integers(BINARY_MODULO, INT64_MIN, -1), 0);
    cr_assert_eq(of_integers(BINARY_ADD, INT64_MAX, 1), INT64_MIN);
    cr_assert_eq(of_integers(BINARY_MULTIPLY, INT64_MAX, 2), -2);
    cr_assert_eq(of_integers(BINARY_MINIMUM, -4, 2), -4);
    cr_assert_eq(of_integers(BINARY_MAXIMUM, -4, 2), 2);
    cr_assert_eq(of_integers(BINARY_PRELU, -4, 2), -8);
    uint8_t a = 200, b = 100, y;
    struct view left = {&a, ELEMENT_U8, 0, {0}}, right = {&b, ELEMENT_U8, 0, {0}}, out = {&y, ELEMENT_U8, 0, {0}};
    run(BINARY_ADD, left, right, out);
    cr_assert_eq(y, 44);
    run(BINARY_SUBTRACT, right, left, out);
    cr_assert_eq(y, 156);
}

Test(ref_binary, powers_of_integers_are_exact) {
    cr_assert_eq(of_integers(BINARY_POWER, 3, 39), 4052555153018976267);
    cr_assert_eq(of_integers(BINARY_POWER, -3, 3), -27);
    cr_assert_eq(of_integers(BINARY_POWER, 7, 0), 1);
    cr_assert_eq(of_integers(BINARY_POWER, 7, -1), 0);
    cr_assert_eq(of_integers(BINARY_POWER, -1, -3), -1);
    cr_assert_eq(of_integers(BINARY_POWER, -1, -2), 1);
}

Test(ref_binary, base_and_exponent_may_differ_in_type) {
    float base = 2, half = 0.5f, y;
    int64_t exponent = 3;
    int32_t number = 17, root;
    run(BINARY_POWER, (struct view){&base, ELEMENT_F32, 0, {0}}, (struct view){&exponent, ELEMENT_I64, 0, {0}},
        (struct view){&y, ELEMENT_F32, 0, {0}});
    cr_assert(y == 8);
    run(BINARY_POWER, (struct view){&number, ELEMENT_I32, 0, {0}}, (struct view){&half, ELEMENT_F32, 0, {0}},
        (struct view){&root, ELEMENT_I32, 0, {0}});
    cr_assert_eq(root, 4);
}

static bool compare(enum binary_kind kind, float a, float b) {
    uint8_t y, of_integer;
    int64_t left = (int64_t)a, right = (int64_t)b;
    run(kind, (struct view){&a, ELEMENT_F32, 0, {0}}, (struct view){&b, ELEMENT_F32, 0, {0}},
        (struct view){&y, ELEMENT_BOOL, 0, {0}});
    run(kind, (struct view){&left, ELEMENT_I64, 0, {0}}, (struct view){&right, ELEMENT_I64, 0, {0}},
        (struct view){&of_integer, ELEMENT_BOOL, 0, {0}});
    cr_assert_eq(y, of_integer);
    return y;
}

Test(ref_binary, comparisons_give_bools) {
    cr_assert(compare(BINARY_EQUAL, 2, 2) && !compare(BINARY_EQUAL, 2, 3));
    cr_assert(compare(BINARY_LESS, 2, 3) && !compare(BINARY_LESS, 2, 2));
    cr_assert(compare(BINARY_LESS_EQUAL, 2, 2) && !compare(BINARY_LESS_EQUAL, 3, 2));
    cr_assert(compare(BINARY_GREATER, 3, 2) && !compare(BINARY_GREATER, 2, 2));
    cr_assert(compare(BINARY_GREATER_EQUAL, 2, 2) && !compare(BINARY_GREATER_EQUAL, 1, 2));
    for (int kind = BINARY_EQUAL; kind <= BINARY_GREATER_EQUAL; kind++) {
        float a = NAN, b = 1;
        uint8_t y = 1;
        run((enum binary_kind)kind, (struct view){&a, ELEMENT_F32, 0, {0}}, (struct view){&b, ELEMENT_F32, 0, {0}},
            (struct view){&y, ELEMENT_BOOL, 0, {0}});
        cr_assert_eq(y, 0);
    }
}

Test(ref_binary, bools_are_combined) {
    uint8_t a[4] = {0, 0, 1, 1}, b[4] = {0, 1, 0, 1}, y[4];
    struct view left = {a, ELEMENT_BOOL, 1, {4}}, right = {b, ELEMENT_BOOL, 1, {4}}, out = {y, ELEMENT_BOOL, 1, {4}};
    run(BINARY_AND, left, right, out);
    cr_assert_arr_eq(y, ((uint8_t[]){0, 0, 0, 1}), 4);
    run(BINARY_OR, left, right, out);
    cr_assert_arr_eq(y, ((uint8_t[]){0, 1, 1, 1}), 4);
    run(BINARY_XOR, left, right, out);
    cr_assert_arr_eq(y, ((uint8_t[]){0, 1, 1, 0}), 4);
    run(BINARY_EQUAL, left, right, out);
    cr_assert_arr_eq(y, ((uint8_t[]){1, 0, 0, 1}), 4);
}

Test(ref_binary, bits_are_shifted_out) {
    uint8_t a[3] = {0x81, 0x81, 0xff}, b[3] = {1, 8, 70}, y[3];
    struct view left = {a, ELEMENT_U8, 1, {3}}, right = {b, ELEMENT_U8, 1, {3}}, out = {y, ELEMENT_U8, 1, {3}};
    run(BINARY_SHIFT_LEFT, left, right, out);
    cr_assert(y[0] == 0x02 && y[1] == 0 && y[2] == 0);
    run(BINARY_SHIFT_RIGHT, left, right, out);
    cr_assert(y[0] == 0x40 && y[1] == 0 && y[2] == 0);
}

Test(ref_binary, shapes_broadcast) {
    float a[2] = {10, 20}, b[3] = {1, 2, 3}, y[6];
    static const float expected[6] = {9, 8, 7, 19, 18, 17};
    run(BINARY_SUBTRACT, (struct view){a, ELEMENT_F32, 2, {2, 1}}, (struct view){b, ELEMENT_F32, 1, {3}},
        (struct view){y, ELEMENT_F32, 2, {2, 3}});
    cr_assert_arr_eq(y, expected, sizeof y);
}
