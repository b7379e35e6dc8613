/* Sums of products of 8-bit integers: the one loop nest under the integer products and convolutions. Tiles of both
 * sides are widened to 16 bits, zero points taken off, so that every sum is exact (it wraps around at 32 bits). */
#ifndef WEIR_KERNELS_CPU_CPU_INTEGER_H
#define WEIR_KERNELS_CPU_CPU_INTEGER_H

#include <stdint.h>

#include "kernels/view.h"

enum { CPU_INTEGER_ROWS = 128, CPU_INTEGER_DEPTH = 192, CPU_INTEGER_COLS = 32 };

/* A piece of the product: rows row.., columns col.., and of the sums the elements k.. */
struct cpu_integer_tile {
    size_t row, rows, col, cols, k, depth;
};

/* An 8-bit element less its zero point: (byte ^ flip) - zero. flip makes int8 of uint8, 128 more than it was. */
struct cpu_integer_bytes {
    const uint8_t *bytes;
    uint8_t flip;
};

/* rows x inner times inner x cols. The left side lies in memory row after row. left_zero_step is 1 where each row has a
 * zero point of its own, else 0. */
struct cpu_integer_product {
    size_t rows, inner, cols;
    struct cpu_integer_bytes left;
    const struct view *left_of, *left_zero; /* what the left side is part of, and its zero points (data NULL: none) */
    size_t left_zero_at, left_zero_step;    /* the first row's zero point */
    /* Fills right[k / 2][column][k % 2] for the tile's elements and columns; all of it was zeroed. */
    void (*pack)(const void *source, const struct cpu_integer_tile *tile, int16_t *right);
    /* Takes the sums [rows][CPU_INTEGER_COLS] of the tile. */
    void (*emit)(const void *source, const struct cpu_integer_tile *tile, const int32_t *sums);
    const void *source;
};

/* pack and emit are called by several threads at once, for tiles that do not overlap. */
void cpu_integer_run(const struct cpu_integer_product *product);

/* The elements of a view of U8 or I8 from number `at` on. */
struct cpu_integer_bytes cpu_integer_bytes_of(const struct view *view, size_t at);

/* The zero point number `at` for elements like those of `of`, with the flip in it. */
int32_t cpu_integer_zero(const struct view *zero, size_t at, const struct view *of);

/* Writes sums times factors, plus zero, as `count` elements of y from number `at` on. */
void cpu_integer_requantize(const int32_t *sums, const float *factors, size_t count, int32_t zero, const struct view *y,
                            size_t at);

#endif
