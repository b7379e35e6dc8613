#include <criterion/criterion.h>
#include <math.h>

#include "kernels/cpu/cpu_softmax.h"
#include "kernels/ref/ref_softmax.h"

Test(cpu_softmax, both_forms_agree_with_the_oracle) {
    enum { LENGTH = 37, OUTER = 3 };
    float x[OUTER * LENGTH], y[OUTER * LENGTH], expected[LENGTH];
    for (size_t i = 0; i < OUTER * LENGTH; i++)
        x[i] = (float)(i * 29 % 83) / 4.0f - 9.0f;
    for (int log = 0; log < 2; log++) {
        struct softmax_shape shape = {OUTER, LENGTH, 1, log};
        cpu_softmax_run(&shape, x, y);
        for (size_t outer = 0; outer < OUTER; outer++) {
            ref_softmax_run(x + outer * LENGTH, expected, LENGTH, log);
            for (size_t i = 0; i < LENGTH; i++)
                cr_assert_float_eq(y[outer * LENGTH + i], expected[i], 2e-6f * fmaxf(1.0f, fabsf(expected[i])));
        }
    }
}

Test(cpu_softmax, elements_that_lie_apart_are_normalized_together) {
    float x[6] = {0, 10, 0, 20, 0, 30}, y[6]; /* three steps of two columns */
    float first[3] = {0, 0, 0}, second[3] = {10, 20, 30}, a[3], b[3];
    struct softmax_shape shape = {1, 3, 2, false};
    cpu_softmax_run(&shape, x, y);
    ref_softmax_run(first, a, 3, false);
    ref_softmax_run(second, b, 3, false);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_float_eq(y[2 * i], a[i], 1e-7f);
        cr_assert_float_eq(y[2 * i + 1], b[i], 1e-7f);
    }
}

Test(cpu_softmax, huge_values_do_not_overflow_and_it_works_in_place) {
    float x[3] = {3e38f, 3e38f, -3e38f};
    struct softmax_shape shape = {1, 3, 1, false};
    cpu_softmax_run(&shape, x, x);
    cr_assert(x[0] == 0.5f && x[1] == 0.5f && x[2] == 0.0f);
}

Test(cpu_softmax, a_nan_spoils_its_own_group_only) {
    float x[4] = {NAN, 1, 2, 2};
    struct softmax_shape shape = {2, 2, 1, false};
    cpu_softmax_run(&shape, x, x);
    cr_assert(isnan(x[0]) && isnan(x[1]));
    cr_assert(x[2] == 0.5f && x[3] == 0.5f);
}
