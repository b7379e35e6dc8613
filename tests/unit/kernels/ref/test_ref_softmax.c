#include <criterion/criterion.h>
#include <math.h>

#include "kernels/ref/ref_softmax.h"

Test(ref_softmax, the_parts_are_in_the_ratio_of_the_exponentials) {
    float x[3] = {0.0f, logf(2.0f), logf(5.0f)}, y[3];
    ref_softmax_run(x, y, 3, false);
    cr_assert_float_eq(y[0], 0.125f, 1e-6);
    cr_assert_float_eq(y[1], 0.25f, 1e-6);
    cr_assert_float_eq(y[2], 0.625f, 1e-6);
}

Test(ref_softmax, the_logarithm_is_that_of_the_parts) {
    float x[3] = {1, 2, 3}, y[3], log_of_y[3];
    ref_softmax_run(x, y, 3, false);
    ref_softmax_run(x, log_of_y, 3, true);
    for (int i = 0; i < 3; i++)
        cr_assert_float_eq(log_of_y[i], logf(y[i]), 1e-6);
}
