#include "kernels/cpu/cpu_quantize.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"

enum { MOST = 40000 };

static uint8_t a[MOST], b[MOST];
static float numbers[MOST];

static uint32_t next(uint32_t *seed) {
    return *seed = *seed * 1664525u + 1013904223u;
}

static void fill(void) {
    uint32_t seed = 7;
    for (size_t i = 0; i < MOST; i++) {
        a[i] = (uint8_t)(next(&seed) >> 24);
        b[i] = (uint8_t)(next(&seed) >> 24);
        numbers[i] = (float)(int32_t)next(&seed) / 1e7f;
    }
    numbers[5] = NAN;
    numbers[6] = INFINITY;
    numbers[7] = -INFINITY;
}

/* Runs both kernels; the first output must be the same bytes. */
static void compare(const struct operation *operation, const struct view *inputs, struct view *outputs) {
    static unsigned char got[MOST * 4], expected[MOST * 4];
    operation_function kernel = cpu_quantize_find(operation, inputs, outputs);
    cr_assert_not_null(kernel);
    outputs[0].data = got;
    kernel(operation, inputs, outputs, NULL);
    outputs[0].data = expected;
    ref_find(operation->kind)(operation, inputs, outputs, NULL);
    cr_assert_eq(memcmp(got, expected, view_count(outputs) * view_element_bytes(outputs->element)), 0);
}

static struct view scalar_of(const void *data, enum element element) {
    return (struct view){(void *)(uintptr_t)data, element, 0, {0}};
}

Test(cpu_quantize, quantizing_and_back_are_those_of_the_oracle, .init = fill) {
    static const float scale = 0.37f, scales[3] = {0.1f, 1, 2.5f};
    static const uint8_t zero = 131, zeros[3] = {0, 200, 255};
    for (int i = 0; i < 4; i++) {
        enum element element = i % 2 ? ELEMENT_I8 : ELEMENT_U8;
        struct operation operation = {.kind = OPERATION_QUANTIZE, .axis = 1};
        struct view inputs[3] = {
            {numbers, ELEMENT_F32, 3, {2, 3, 101}}, scalar_of(&scale, ELEMENT_F32), scalar_of(&zero, element)};
        struct view out = {NULL, element, 3, {2, 3, 101}};
        if (i >= 2) {
            inputs[1] = (struct view){(void *)(uintptr_t)scales, ELEMENT_F32, 1, {3}};
            inputs[2] = (struct view){(void *)(uintptr_t)zeros, element, 1, {3}};
        }
        compare(&operation, inputs, &out);
        operation.kind = OPERATION_DEQUANTIZE;
        inputs[0] = (struct view){a, element, 3, {2, 3, 101}};
        out.element = ELEMENT_F32;
        compare(&operation, inputs, &out);
        inputs[2].data = NULL;
        compare(&operation, inputs, &out);
    }
}

Test(cpu_quantize, scales_along_the_last_axis_and_wide_integers_are_left_to_the_oracle) {
    struct operation operation = {.kind = OPERATION_DEQUANTIZE, .axis = 1};
    struct view inputs[3] = {{a, ELEMENT_U8, 2, {2, 3}}, {numbers, ELEMENT_F32, 1, {3}}};
    struct view out = {NULL, ELEMENT_F32, 2, {2, 3}};
    cr_assert_null(cpu_quantize_find(&operation, inputs, &out));
    inputs[0] = (struct view){a, ELEMENT_I32, 1, {100}};
    inputs[1] = scalar_of(numbers, ELEMENT_F32);
    cr_assert_null(cpu_quantize_find(&operation, inputs, &out));
}

Test(cpu_quantize, the_dynamic_range_is_that_of_the_oracle, .init = fill) {
    struct operation operation = {.kind = OPERATION_DYNAMIC_QUANTIZE};
    float scale[2];
    uint8_t zero[2];
    for (size_t count = 1; count < 100; count += 33) {
        struct view in = {numbers + 8, ELEMENT_F32, 1, {count}};
        struct view outputs[3] = {
            {NULL, ELEMENT_U8, 1, {count}}, scalar_of(&scale[0], ELEMENT_F32), scalar_of(zero, ELEMENT_U8)};
        compare(&operation, &in, outputs);
        scale[1] = scale[0];
        zero[1] = zero[0];
        uint8_t y[100];
        outputs[0].data = y;
        cpu_quantize_find(&operation, &in, outputs)(&operation, &in, outputs, NULL);
        cr_assert(scale[0] == scale[1] && zero[0] == zero[1]);
    }
}

/* rows x inner times inner x cols in a batch of 2 on the left. */
static const size_t shapes[][3] = {{1, 1, 1}, {3, 5, 40}, {33, 200, 32}, {130, 7, 9}, {2, 0, 3}, {1, 300, 65}};

Test(cpu_quantize, integer_products_are_those_of_the_oracle, .init = fill) {
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof shapes[0]; i++) {
        const size_t *shape = shapes[i / 4];
        enum element left = i % 2 ? ELEMENT_I8 : ELEMENT_U8, right = i / 2 % 2 ? ELEMENT_I8 : ELEMENT_U8;
        struct operation operation = {.kind = OPERATION_MATMUL_INTEGER};
        struct view inputs[4] = {{a, left, 3, {2, shape[0], shape[1]}},
                                 {b, right, 2, {shape[1], shape[2]}},
                                 {b, left, 3, {2, shape[0], 1}},
                                 {a, right, 2, {1, shape[2]}}};
        struct view out = {NULL, ELEMENT_I32, 3, {2, shape[0], shape[2]}};
        compare(&operation, inputs, &out);
        inputs[2].data = NULL;
        inputs[3] = scalar_of(b + 9, right);
        compare(&operation, inputs, &out);
    }
}

Test(cpu_quantize, vectors_are_multiplied_too, .init = fill) {
    struct operation operation = {.kind = OPERATION_MATMUL_INTEGER};
    struct view inputs[4] = {{a, ELEMENT_U8, 1, {30}}, {b, ELEMENT_I8, 1, {30}}};
    struct view out = {NULL, ELEMENT_I32, 0, {0}};
    compare(&operation, inputs, &out);
    inputs[0] = (struct view){a, ELEMENT_U8, 2, {7, 30}};
    out = (struct view){NULL, ELEMENT_I32, 1, {7}};
    compare(&operation, inputs, &out);
    inputs[0] = (struct view){a, ELEMENT_U8, 1, {30}};
    inputs[1] = (struct view){b, ELEMENT_I8, 2, {30, 5}};
    out = (struct view){NULL, ELEMENT_I32, 1, {5}};
    compare(&operation, inputs, &out);
}

Test(cpu_quantize, quantized_products_are_those_of_the_oracle, .init = fill) {
    static const float scale = 0.03f, y_scale = 2.9f;
    static const uint8_t zero = 111;
    static float rows[260], cols[260];
    for (int i = 0; i < 260; i++) {
        rows[i] = 0.01f * (float)(i + 1);
        cols[i] = 0.003f * (float)(260 - i);
    }
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        const size_t *shape = shapes[i / 2];
        enum element element = i % 2 ? ELEMENT_I8 : ELEMENT_U8;
        struct operation operation = {.kind = OPERATION_QLINEAR_MATMUL};
        struct view inputs[8] = {{a, ELEMENT_U8, 3, {2, shape[0], shape[1]}},
                                 scalar_of(&scale, ELEMENT_F32),
                                 scalar_of(&zero, ELEMENT_U8),
                                 {b, ELEMENT_I8, 2, {shape[1], shape[2]}},
                                 {cols, ELEMENT_F32, 2, {1, shape[2]}},
                                 {a, ELEMENT_I8, 2, {1, shape[2]}},
                                 scalar_of(&y_scale, ELEMENT_F32),
                                 scalar_of(&zero, element)};
        struct view out = {NULL, element, 3, {2, shape[0], shape[2]}};
        compare(&operation, inputs, &out);
        inputs[1] = (struct view){rows, ELEMENT_F32, 3, {2, shape[0], 1}};
        inputs[4] = scalar_of(&scale, ELEMENT_F32);
        compare(&operation, inputs, &out);
    }
}
