#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_elementwise.h"
#include "kernels/ref/ref_elementwise.h"

enum { COUNT = 3 * 35 }; /* whole blocks of 16 and a rest */

static void fill(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((int)(i * 37 % 101) - 50) / 8.0f + 0.01f;
}

static bool near(float a, float b) {
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 2e-6f * fmaxf(1.0f, fabsf(b));
}

Test(cpu_elementwise, every_activation_agrees_with_the_oracle_also_in_place) {
    static const struct activation activations[] = {{ACTIVATION_NONE, 0, 0},          {ACTIVATION_RELU, 0, 0},
                                                    {ACTIVATION_LEAKY_RELU, 0.1f, 0}, {ACTIVATION_CLIP, -1.5f, 2.0f},
                                                    {ACTIVATION_SIGMOID, 0, 0},       {ACTIVATION_TANH, 0, 0}};
    float x[COUNT], y[COUNT], expected[COUNT];
    for (size_t a = 0; a < sizeof activations / sizeof activations[0]; a++) {
        fill(x, COUNT);
        x[3] = INFINITY;
        x[5] = -INFINITY;
        ref_elementwise_activate(&activations[a], x, expected, COUNT);
        cpu_elementwise_activate(&activations[a], x, y, COUNT);
        cpu_elementwise_activate(&activations[a], x, x, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            cr_assert(near(y[i], expected[i]) && near(x[i], expected[i]), "activation %zu, element %zu: %g, not %g", a,
                      i, y[i], expected[i]);
    }
}

Test(cpu_elementwise, a_nan_stays_a_nan_in_every_activation) {
    for (int kind = ACTIVATION_NONE; kind <= ACTIVATION_TANH; kind++) {
        struct activation activation = {(enum activation_kind)kind, -1.0f, 1.0f};
        float x[20];
        for (size_t i = 0; i < 20; i++)
            x[i] = NAN;
        cpu_elementwise_activate(&activation, x, x, 20);
        for (size_t i = 0; i < 20; i++)
            cr_assert(isnan(x[i]), "activation %d made %g of a NaN", kind, x[i]);
    }
}

Test(cpu_elementwise, a_clip_with_crossed_bounds_gives_the_maximum) {
    struct activation activation = {ACTIVATION_CLIP, 3.0f, 1.0f};
    float x[3] = {-5, 2, 9};
    cpu_elementwise_activate(&activation, x, x, 3);
    cr_assert(x[0] == 1 && x[1] == 1 && x[2] == 1);
}

Test(cpu_elementwise, a_denormal_comes_through_relu_and_arithmetic) {
    struct activation relu = {ACTIVATION_RELU, 0, 0};
    float x[2] = {1e-45f, 0}, zero[2] = {0, 0};
    cpu_elementwise_activate(&relu, x, x, 2);
    cpu_elementwise_combine(COMBINATION_ADD, x, zero, x, 2);
    cr_assert(x[0] == 1e-45f && x[0] > 0);
}

Test(cpu_elementwise, the_four_operations_agree_with_the_oracle) {
    float a[COUNT], b[COUNT], y[COUNT], expected[COUNT];
    fill(a, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[COUNT - 1 - i] + 0.5f;
    for (int op = COMBINATION_ADD; op <= COMBINATION_DIVIDE; op++) {
        ref_elementwise_combine((enum combination)op, a, b, COUNT, expected, COUNT);
        cpu_elementwise_combine((enum combination)op, a, b, y, COUNT);
        cr_assert(memcmp(y, expected, sizeof y) == 0, "operation %d", op);
    }
}

Test(cpu_elementwise, a_constant_is_repeated_on_the_side_it_stands_on) {
    float x[COUNT], y[COUNT];
    static const float c[3] = {2.0f, -3.0f, 0.5f};
    fill(x, COUNT);
    for (int op = COMBINATION_ADD; op <= COMBINATION_DIVIDE; op++)
        for (int left = 0; left < 2; left++)
            for (size_t period = 1; period <= 3; period += 2) {
                struct constant_operand constant = {(enum combination)op, left, c, period};
                cpu_elementwise_combine_constant(&constant, x, y, COUNT);
                for (size_t i = 0; i < COUNT; i++) {
                    float a = left ? c[i % period] : x[i], b = left ? x[i] : c[i % period], expected;
                    ref_elementwise_combine((enum combination)op, &a, &b, 1, &expected, 1);
                    cr_assert(y[i] == expected, "operation %d, left %d, period %zu, element %zu", op, left, period, i);
                }
            }
}
