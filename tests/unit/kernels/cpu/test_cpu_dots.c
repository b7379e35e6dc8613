#include <criterion/criterion.h>
#include <math.h>

#include "kernels/cpu/cpu_dots.h"

enum { MOST_DEPTH = 50, MOST_OUTPUTS = 13 };

static float rows[CPU_DOTS_MOST_ROWS][MOST_DEPTH], weights[MOST_OUTPUTS * MOST_DEPTH], bias[MOST_OUTPUTS];
static float out[CPU_DOTS_MOST_ROWS * MOST_OUTPUTS];

static struct cpu_dots make(size_t row_count, size_t outputs, size_t depth) {
    struct cpu_dots dots = {.row_count = row_count,
                            .weights = weights,
                            .bias = bias,
                            .outputs = outputs,
                            .depth = depth,
                            .out = out,
                            .out_stride = outputs};
    for (size_t row = 0; row < row_count; row++) {
        dots.rows[row] = rows[row];
        for (size_t k = 0; k < depth; k++)
            rows[row][k] = (float)((row * 7 + k * 3) % 11) - 5;
    }
    for (size_t i = 0; i < outputs * depth; i++)
        weights[i] = (float)(i * 5 % 13) / 4 - 1.5f;
    for (size_t i = 0; i < outputs; i++)
        bias[i] = (float)i;
    return dots;
}

static float exact(const struct cpu_dots *dots, size_t row, size_t output) {
    double sum = 0;
    for (size_t k = 0; k < dots->depth; k++)
        sum += (double)rows[row][k] * (double)weights[output * dots->depth + k];
    return (float)sum;
}

Test(cpu_dots, any_number_of_rows_outputs_and_elements) {
    for (size_t row_count = 1; row_count <= CPU_DOTS_MOST_ROWS; row_count++)
        for (size_t depth = 1; depth <= MOST_DEPTH; depth++) {
            struct cpu_dots dots = make(row_count, 1 + depth % MOST_OUTPUTS, depth);
            cpu_dots_run(&dots); /* small quarters: every sum is exact */
            for (size_t i = 0; i < row_count * dots.outputs; i++)
                cr_assert_eq(out[i], exact(&dots, i / dots.outputs, i % dots.outputs) + bias[i % dots.outputs]);
        }
}

Test(cpu_dots, without_a_bias_the_sums_are_added_to_what_is_there) {
    struct cpu_dots dots = make(5, 6, 17);
    dots.bias = NULL;
    for (size_t i = 0; i < 30; i++)
        out[i] = 100;
    cpu_dots_run(&dots);
    for (size_t i = 0; i < 30; i++)
        cr_assert_eq(out[i], 100 + exact(&dots, i / 6, i % 6));
}

Test(cpu_dots, no_elements_leave_the_bias) {
    struct cpu_dots dots = make(2, 5, 0);
    cpu_dots_run(&dots);
    for (size_t i = 0; i < 10; i++)
        cr_assert_eq(out[i], bias[i % 5]);
}
