#include "kernels/cpu/cpu_integer.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MOST = 300 };

static uint8_t left[MOST * MOST];
static int32_t got[MOST * 2];

/* The right side is the column number plus the element number, its sign alternating. */
static int right_at(size_t k, size_t col) {
    return (k % 2 ? -1 : 1) * (int)((k + col) % 256);
}

static void pack(const void *source, const struct cpu_integer_tile *tile, int16_t *right) {
    (void)source;
    for (size_t k = 0; k < tile->depth; k++)
        for (size_t col = 0; col < tile->cols; col++)
            right[(k / 2 * CPU_INTEGER_COLS + col) * 2 + k % 2] = (int16_t)right_at(tile->k + k, tile->col + col);
}

static size_t cols_of_y;

static void emit(const void *source, const struct cpu_integer_tile *tile, const int32_t *sums) {
    (void)source;
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t col = 0; col < tile->cols; col++)
            got[(tile->row + row) * cols_of_y + tile->col + col] = sums[row * CPU_INTEGER_COLS + col];
}

static void compare(size_t rows, size_t inner, size_t cols, enum element element, const int8_t *zeros) {
    struct view of = {.data = left, .element = element, .rank = 2, .dims = {rows, inner}};
    struct view zero = {.data = (void *)(uintptr_t)zeros, .element = element, .rank = 1, .dims = {zeros ? rows : 1}};
    struct cpu_integer_product product = {.rows = rows,
                                          .inner = inner,
                                          .cols = cols,
                                          .left = cpu_integer_bytes_of(&of, 0),
                                          .left_of = &of,
                                          .left_zero = &zero,
                                          .left_zero_step = 1,
                                          .pack = pack,
                                          .emit = emit};
    cols_of_y = cols;
    for (size_t i = 0; i < rows * inner; i++)
        left[i] = (uint8_t)(i * 37 + i / 11);
    memset(got, 0x55, sizeof got);
    cpu_integer_run(&product);
    for (size_t row = 0; row < rows; row++)
        for (size_t col = 0; col < cols; col++) {
            int64_t sum = 0;
            for (size_t k = 0; k < inner; k++) {
                uint8_t byte = left[row * inner + k];
                int value = element == ELEMENT_I8 ? (int8_t)byte : byte;
                int taken = !zeros ? 0 : element == ELEMENT_I8 ? zeros[row] : (uint8_t)zeros[row];
                sum += (value - taken) * right_at(k, col);
            }
            cr_assert_eq(got[row * cols + col], sum, "%zux%zux%zu at %zu,%zu: %d", rows, inner, cols, row, col,
                         got[row * cols + col]);
        }
}

Test(cpu_integer, sums_are_exact_at_the_edges_of_tiles) {
    static const size_t shapes[][3] = {{1, 1, 1},   {4, 2, 32},  {3, 191, 31}, {5, 192, 33},
                                       {2, 193, 1}, {129, 3, 2}, {128, 5, 3},  {7, 0, 9}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        compare(shapes[i][0], shapes[i][1], shapes[i][2], ELEMENT_U8, NULL);
        compare(shapes[i][0], shapes[i][1], shapes[i][2], ELEMENT_I8, NULL);
    }
}

Test(cpu_integer, every_row_has_its_own_zero_point) {
    static const int8_t zeros[5] = {0, 1, -1, 127, -128};
    compare(5, 20, 6, ELEMENT_U8, zeros);
    compare(5, 20, 6, ELEMENT_I8, zeros);
}

Test(cpu_integer, requantizing_rounds_halves_to_even_and_saturates) {
    static const uint8_t expected[7] = {100, 102, 102, 98, 255, 0, 101};
    int32_t sums[40] = {1, 3, 5, -3, 100000, -100000, 2};
    float factors[40];
    uint8_t y[40];
    struct view view = {.data = y, .element = ELEMENT_U8, .rank = 1, .dims = {40}};
    for (int i = 0; i < 40; i++) {
        sums[i] = sums[i % 7];
        factors[i] = 0.5f;
    }
    cpu_integer_requantize(sums, factors, 40, 100, &view, 0);
    for (int i = 0; i < 40; i++)
        cr_assert_eq(y[i], expected[i % 7], "%d: %d", i, y[i]);
}
