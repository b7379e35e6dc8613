#include <criterion/criterion.h>

#include "kernels/cpu/cpu_strided.h"

static const float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void run(struct cpu_strided copy, float *y) {
    copy.bytes = sizeof(float);
    copy.x = (const char *)x;
    copy.y = (char *)y;
    cpu_strided_run(&copy);
}

static void assert_floats(const float *have, const float *want, size_t count) {
    for (size_t i = 0; i < count; i++)
        cr_assert(have[i] == want[i], "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

Test(cpu_strided, a_copy_without_dimensions_is_one_element) {
    float y[2] = {-1, -1};
    run((struct cpu_strided){.rank = 0}, y);
    assert_floats(y, (float[]){0, -1}, 2);
}

Test(cpu_strided, a_dimension_of_none_copies_nothing) {
    float y[1] = {-1};
    run((struct cpu_strided){.rank = 2, .dims = {3, 0}, .in = {1, 1}, .out = {1, 1}}, y);
    cr_assert(y[0] == -1);
}

Test(cpu_strided, neighbours_that_stay_together_are_one) {
    float y[12];
    run((struct cpu_strided){.rank = 4, .dims = {2, 1, 3, 2}, .in = {6, 99, 2, 1}, .out = {6, 77, 2, 1}}, y);
    assert_floats(y, x, 12);
}

Test(cpu_strided, rows_and_columns_turn) {
    float y[12];
    run((struct cpu_strided){.rank = 2, .dims = {4, 3}, .in = {1, 4}, .out = {3, 1}}, y);
    assert_floats(y, (float[]){0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, 12);
}

Test(cpu_strided, a_step_of_zero_repeats) {
    float y[6];
    run((struct cpu_strided){.rank = 2, .dims = {2, 3}, .in = {5, 0}, .out = {3, 1}}, y);
    assert_floats(y, (float[]){0, 0, 0, 5, 5, 5}, 6);
}

Test(cpu_strided, the_target_may_have_gaps) {
    float y[5] = {-1, -1, -1, -1, -1};
    run((struct cpu_strided){.rank = 1, .dims = {3}, .in = {4}, .out = {2}}, y);
    assert_floats(y, (float[]){0, -1, 4, -1, 8}, 5);
}
