#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_dense.h"

enum { MOST_ROWS = 400, MOST_INNER = 600, MOST_COLS = 200 };

static float x[MOST_ROWS * MOST_INNER], w[MOST_INNER * MOST_COLS], bias[MOST_COLS], y[MOST_ROWS * MOST_COLS];
static float packed[(MOST_INNER + 16) * (MOST_COLS + 64)];

/* As the header says that they lie. What is not filled in must not matter. */
static void pack(size_t inner, size_t cols) {
    size_t panel = cpu_dense_panel(cols), padded = (inner + CPU_DENSE_ROUND - 1) / CPU_DENSE_ROUND * CPU_DENSE_ROUND;
    memset(packed, 0, sizeof packed);
    for (size_t k = 0; k < inner; k++)
        for (size_t col = 0; col < cols; col++)
            packed[col / panel * panel * padded + k * panel + col % panel] = w[k * cols + col];
}

/* Small whole numbers and quarters: every sum is exact. */
static void fill(size_t rows, size_t inner, size_t cols) {
    for (size_t i = 0; i < rows * inner; i++)
        x[i] = (float)(i * 7 % 11) - 5;
    for (size_t i = 0; i < inner * cols; i++)
        w[i] = (float)(i * 5 % 13) / 4 - 1.5f;
    for (size_t i = 0; i < cols; i++)
        bias[i] = (float)(i % 9) - 4;
    pack(inner, cols);
    memset(y, 0x7f, sizeof y);
}

static void run(const struct operation *operation, size_t rows, size_t inner, size_t cols, bool with_bias) {
    const struct view inputs[] = {{x, ELEMENT_F32, 2, {rows, inner}},
                                  {packed, ELEMENT_F32, 2, {inner, cols}},
                                  {with_bias ? bias : NULL, ELEMENT_F32, 1, {cols}}};
    const struct view output = {y, ELEMENT_F32, 2, {rows, cols}};
    cpu_dense_run(operation, inputs, &output, NULL);
}

static float exact(size_t row, size_t col, size_t inner, size_t cols, bool with_bias) {
    double sum = with_bias ? (double)bias[col] : 0;
    for (size_t k = 0; k < inner; k++)
        sum += (double)x[row * inner + k] * (double)w[k * cols + col];
    return (float)sum;
}

static void check(const struct operation *operation, size_t rows, size_t inner, size_t cols, bool with_bias) {
    fill(rows, inner, cols);
    run(operation, rows, inner, cols, with_bias);
    for (size_t i = 0; i < rows * cols; i++) {
        float wanted = exact(i / cols, i % cols, inner, cols, with_bias);
        wanted = operation->then.kind == UNARY_RELU && wanted < 0 ? 0
                 : operation->then.kind == UNARY_NEGATE           ? -wanted
                                                                  : wanted;
        cr_assert_eq(y[i], wanted, "%zu rows, %zu to %zu, at %zu: %g, not %g", rows, inner, cols, i, (double)y[i],
                     (double)wanted);
    }
    cr_assert(y[rows * cols] > 3e38f || rows * cols == MOST_ROWS * MOST_COLS, "nothing is written behind the end");
}

static void require_processor(void) {
    if (!cpu_dense_is_available())
        cr_skip_test("no AVX-512");
}

TestSuite(cpu_dense, .init = require_processor);

Test(cpu_dense, every_number_of_rows_and_columns_up_to_a_panel_and_more) {
    static const enum unary_kind kinds[] = {UNARY_NONE, UNARY_RELU, UNARY_NEGATE};
    for (size_t rows = 1; rows <= 20; rows++)
        for (size_t cols = 1; cols <= 140; cols += cols < 70 ? 1 : 11) {
            struct operation operation = {.kind = OPERATION_MATMUL, .then = {kinds[(rows + cols) % 3], 0, 0}};
            check(&operation, rows, 1 + (rows * cols) % 37, cols, cols % 2);
        }
}

Test(cpu_dense, long_sums_and_many_rows_go_by_stretches_and_blocks) {
    static const size_t inners[] = {1, 3, 63, 64, 65, 128, 255, 256, 257, 513, 600}, rows[] = {1, 6, 37, 192, 193, 399};
    for (size_t i = 0; i < sizeof inners / sizeof *inners; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            struct operation operation = {.kind = OPERATION_MATMUL, .then = {i % 2 ? UNARY_RELU : UNARY_NEGATE, 0, 0}};
            check(&operation, rows[j], inners[i], 24 + 25 * j, true);
        }
}

Test(cpu_dense, a_row_has_the_same_bits_in_every_company) {
    static float alone[MOST_COLS];
    struct operation operation = {.kind = OPERATION_MATMUL, .then = {UNARY_GELU_ERF, 0, 0}};
    size_t inner = 333, cols = 150;
    fill(300, inner, cols);
    for (size_t i = 0; i < inner * cols; i++)
        w[i] = sinf((float)i);
    for (size_t i = 0; i < 300 * inner; i++)
        x[i] = cosf((float)i * 0.37f);
    pack(inner, cols);
    run(&operation, 1, inner, cols, true);
    memcpy(alone, y, cols * sizeof *y);
    for (size_t rows = 2; rows <= 300; rows += rows < 20 ? 1 : 31) {
        run(&operation, rows, inner, cols, true);
        cr_assert_arr_eq(y, alone, cols * sizeof *y, "%zu rows", rows);
    }
}

Test(cpu_dense, nan_comes_through_a_relu) {
    struct operation operation = {.kind = OPERATION_MATMUL, .then = {UNARY_RELU, 0, 0}};
    fill(5, 40, 70);
    x[2 * 40 + 7] = NAN;
    run(&operation, 5, 40, 70, true);
    for (size_t i = 0; i < 5 * 70; i++)
        cr_assert_eq(isnan(y[i]) != 0, i / 70 == 2);
}
