#include "kernels/cpu/cpu_window.h"

#include <criterion/criterion.h>
#include <string.h>

#include "kernels/ref/ref_quantize.h"

enum { MOST = 20000 };

static uint8_t x[MOST], w[MOST], y[MOST], expected[MOST];
static int32_t sums[MOST], expected_sums[MOST], bias[64];

static void fill(uint8_t *bytes, uint32_t seed) {
    for (size_t i = 0; i < MOST; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* Sizes of one convolution over two dimensions. */
struct sizes {
    size_t batch, channels, filters, height, width, groups;
    struct window window;
};

static const struct sizes all[] = {
    {1, 3, 5, 9, 11, 1, {2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
    {2, 4, 6, 8, 40, 2, {2, {3, 2}, {2, 3}, {1, 2}, {0, 3}, {2, 1}, 2}},
    {1, 6, 6, 7, 7, 6, {2, {5, 5}, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 6}},
    {1, 40, 3, 6, 6, 1, {2, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1}},
    {1, 2, 130, 1, 5, 1, {2, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1}},
    {1, 1, 1, 2, 2, 1, {2, {2, 2}, {3, 3}, {1, 1}, {3, 3}, {3, 3}, 1}},
};

static void views(const struct sizes *sizes, enum element x_element, enum element w_element, struct view *x_view,
                  struct view *w_view, struct view *y_view) {
    const struct window *window = &sizes->window;
    size_t in[2] = {sizes->height, sizes->width};
    *x_view = (struct view){x, x_element, 4, {sizes->batch, sizes->channels, in[0], in[1]}};
    *w_view = (struct view){
        w, w_element, 4, {sizes->filters, sizes->channels / sizes->groups, window->kernel[0], window->kernel[1]}};
    *y_view = (struct view){y, ELEMENT_U8, 4, {sizes->batch, sizes->filters}};
    for (int i = 0; i < 2; i++)
        y_view->dims[2 + i] =
            (in[i] + window->pads[i] + window->pads_end[i] - (window->dilations[i] * (window->kernel[i] - 1) + 1)) /
                window->strides[i] +
            1;
}

Test(cpu_window, integer_convolutions_are_those_of_the_oracle) {
    static const enum element elements[2] = {ELEMENT_U8, ELEMENT_I8};
    static int8_t zeros[130];
    fill(x, 1);
    fill(w, 2);
    for (int i = 0; i < 130; i++)
        zeros[i] = (int8_t)(i * 29);
    for (size_t i = 0; i < 4 * sizeof all / sizeof all[0]; i++) {
        const struct sizes *sizes = &all[i / 4];
        struct operation operation = {.kind = OPERATION_CONV_INTEGER, .window = sizes->window};
        struct view inputs[4], out;
        views(sizes, elements[i % 2], elements[i / 2 % 2], &inputs[0], &inputs[1], &out);
        inputs[2] = (struct view){&zeros[3], elements[i % 2], 0, {0}};
        inputs[3] = (struct view){zeros, elements[i / 2 % 2], 1, {sizes->filters}};
        out.element = ELEMENT_I32;
        out.data = sums;
        operation_function kernel = cpu_window_find(&operation, inputs, &out);
        cr_assert_not_null(kernel);
        kernel(&operation, inputs, &out, NULL);
        out.data = expected_sums;
        ref_conv_integer(&operation, inputs, &out, NULL);
        cr_assert_eq(memcmp(sums, expected_sums, view_count(&out) * sizeof *sums), 0, "case %zu", i);
    }
}

Test(cpu_window, quantized_convolutions_are_those_of_the_oracle) {
    static const float x_scale = 0.02f, y_scale = 0.7f;
    static const uint8_t x_zero = 120, y_zero = 90;
    static const int8_t w_zero = 3;
    static float scales[130];
    fill(x, 3);
    fill(w, 4);
    for (int i = 0; i < 130; i++)
        scales[i] = 0.01f + 0.001f * (float)i;
    for (int i = 0; i < 64; i++)
        bias[i] = i * 1000 - 30000;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct operation operation = {.kind = OPERATION_QLINEAR_CONV, .window = all[i].window};
        struct view inputs[9], out;
        memset(inputs, 0, sizeof inputs);
        views(&all[i], ELEMENT_U8, ELEMENT_I8, &inputs[0], &inputs[3], &out);
        inputs[1] = (struct view){(void *)(uintptr_t)&x_scale, ELEMENT_F32, 0, {0}};
        inputs[2] = (struct view){(void *)(uintptr_t)&x_zero, ELEMENT_U8, 0, {0}};
        inputs[4] = (struct view){scales, ELEMENT_F32, i % 2 == 0, {all[i].filters}};
        inputs[5] = (struct view){(void *)(uintptr_t)&w_zero, ELEMENT_I8, 0, {0}};
        inputs[6] = (struct view){(void *)(uintptr_t)&y_scale, ELEMENT_F32, 0, {0}};
        inputs[7] = (struct view){(void *)(uintptr_t)&y_zero, ELEMENT_U8, 0, {0}};
        if (all[i].filters <= 64)
            inputs[8] = (struct view){bias, ELEMENT_I32, 1, {all[i].filters}};
        cpu_window_find(&operation, inputs, &out)(&operation, inputs, &out, NULL);
        out.data = expected;
        ref_qlinear_conv(&operation, inputs, &out, NULL);
        cr_assert_eq(memcmp(y, expected, view_count(&out)), 0, "case %zu", i);
    }
}

Test(cpu_window, nothing_else_is_taken) {
    struct operation operation = {.kind = OPERATION_CONV};
    cr_assert_null(cpu_window_find(&operation, NULL, NULL));
}
