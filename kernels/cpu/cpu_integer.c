#include "kernels/cpu/cpu_integer.h"

#include <string.h>

#include "kernels/cpu/cpu_parallel.h"
#include "kernels/quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* left is [rows][CPU_INTEGER_DEPTH], right [depth / 2][CPU_INTEGER_COLS][2], sums [rows][CPU_INTEGER_COLS]; rows is a
 * multiple of 4, depth of 2. */
struct tile_data {
    const int16_t *left, *right;
    int32_t *sums;
    size_t rows, depth;
};

static int32_t pair_at(const int16_t *left, size_t k) {
    int32_t pair;
    memcpy(&pair, left + k, sizeof pair);
    return pair;
}

#if defined(__x86_64__)

/* Four rows by two registers of columns; product(sum, right, left) adds the products of pairs. The
 * declaration at the end takes the semicolon. */
#define FOUR_ROWS(name, features, vector, lanes, load, store, spread, product)                                         \
    __attribute__((target(features))) static void name(const struct tile_data *tile, size_t row, size_t col) {         \
        const int16_t *left = tile->left + row * CPU_INTEGER_DEPTH, *right = tile->right + 2 * col;                    \
        int32_t *sums = tile->sums + row * CPU_INTEGER_COLS + col;                                                     \
        vector a0 = load((const void *)sums), b0 = load((const void *)(sums + lanes));                                 \
        vector a1 = load((const void *)(sums + CPU_INTEGER_COLS));                                                     \
        vector b1 = load((const void *)(sums + CPU_INTEGER_COLS + lanes));                                             \
        vector a2 = load((const void *)(sums + 2 * CPU_INTEGER_COLS));                                                 \
        vector b2 = load((const void *)(sums + 2 * CPU_INTEGER_COLS + lanes));                                         \
        vector a3 = load((const void *)(sums + 3 * CPU_INTEGER_COLS));                                                 \
        vector b3 = load((const void *)(sums + 3 * CPU_INTEGER_COLS + lanes));                                         \
        for (size_t k = 0; k < tile->depth; k += 2, right += 2 * CPU_INTEGER_COLS) {                                   \
            vector r0 = load((const void *)right), r1 = load((const void *)(right + 2 * lanes));                       \
            vector p0 = spread(pair_at(left, k)), p1 = spread(pair_at(left + CPU_INTEGER_DEPTH, k));                   \
            vector p2 = spread(pair_at(left + 2 * CPU_INTEGER_DEPTH, k));                                              \
            vector p3 = spread(pair_at(left + 3 * CPU_INTEGER_DEPTH, k));                                              \
            a0 = product(a0, r0, p0);                                                                                  \
            b0 = product(b0, r1, p0);                                                                                  \
            a1 = product(a1, r0, p1);                                                                                  \
            b1 = product(b1, r1, p1);                                                                                  \
            a2 = product(a2, r0, p2);                                                                                  \
            b2 = product(b2, r1, p2);                                                                                  \
            a3 = product(a3, r0, p3);                                                                                  \
            b3 = product(b3, r1, p3);                                                                                  \
        }                                                                                                              \
        store((void *)sums, a0);                                                                                       \
        store((void *)(sums + lanes), b0);                                                                             \
        store((void *)(sums + CPU_INTEGER_COLS), a1);                                                                  \
        store((void *)(sums + CPU_INTEGER_COLS + lanes), b1);                                                          \
        store((void *)(sums + 2 * CPU_INTEGER_COLS), a2);                                                              \
        store((void *)(sums + 2 * CPU_INTEGER_COLS + lanes), b2);                                                      \
        store((void *)(sums + 3 * CPU_INTEGER_COLS), a3);                                                              \
        store((void *)(sums + 3 * CPU_INTEGER_COLS + lanes), b3);                                                      \
    }                                                                                                                  \
    static void name(const struct tile_data *tile, size_t row, size_t col)

#define ADD_PAIRS(sum, right, left) _mm256_add_epi32(sum, _mm256_madd_epi16(right, left))

FOUR_ROWS(rows_avx2, "avx2", __m256i, 8, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32, ADD_PAIRS);
FOUR_ROWS(rows_vnni, "avx512f,avx512vnni", __m512i, 16, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi32,
          _mm512_dpwssd_epi32);

static void multiply_avx2(const struct tile_data *tile) {
    for (size_t row = 0; row < tile->rows; row += 4)
        for (size_t col = 0; col < CPU_INTEGER_COLS; col += 16)
            rows_avx2(tile, row, col);
}

static void multiply_vnni(const struct tile_data *tile) {
    for (size_t row = 0; row < tile->rows; row += 4)
        rows_vnni(tile, row, 0);
}

#endif

/* The same for any processor. */
static void multiply_plain(const struct tile_data *tile) {
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t k = 0; k < tile->depth; k += 2) {
            const int16_t *left = tile->left + row * CPU_INTEGER_DEPTH + k;
            const int16_t *right = tile->right + k * CPU_INTEGER_COLS;
            int32_t *sums = tile->sums + row * CPU_INTEGER_COLS;
            for (size_t col = 0; col < CPU_INTEGER_COLS; col++)
                sums[col] = (int32_t)((uint32_t)sums[col] + (uint32_t)(left[0] * right[2 * col]) +
                                      (uint32_t)(left[1] * right[2 * col + 1]));
        }
}

static void multiply(const struct tile_data *tile) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni")) {
        multiply_vnni(tile);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(tile);
        return;
    }
#endif
    multiply_plain(tile);
}

struct cpu_integer_bytes cpu_integer_bytes_of(const struct view *view, size_t at) {
    return (struct cpu_integer_bytes){(const uint8_t *)view->data + at, view->element == ELEMENT_I8 ? 0x80 : 0};
}

int32_t cpu_integer_zero(const struct view *zero, size_t at, const struct view *of) {
    return quantized_zero(zero, at) + (of->element == ELEMENT_I8 ? 128 : 0);
}

enum { BLOCK = 32 };

/* Widens the tile's rows of the left side. */
static void pack_left(const struct cpu_integer_product *product, const struct cpu_integer_tile *tile, int16_t *left) {
    uint8_t flip = product->left.flip;
    for (size_t row = 0; row < tile->rows; row++) {
        const uint8_t *from = product->left.bytes + (tile->row + row) * product->inner + tile->k;
        int16_t *to = left + row * CPU_INTEGER_DEPTH;
        size_t zero_at = product->left_zero_at + (tile->row + row) * product->left_zero_step;
        int16_t zero = (int16_t)cpu_integer_zero(product->left_zero, zero_at, product->left_of);
        size_t k = 0;
        for (; k + BLOCK <= tile->depth; k += BLOCK) {
            int16_t block[BLOCK];
            for (size_t i = 0; i < BLOCK; i++)
                block[i] = (int16_t)((from[k + i] ^ flip) - zero);
            memcpy(to + k, block, sizeof block);
        }
        for (; k < tile->depth; k++)
            to[k] = (int16_t)((from[k] ^ flip) - zero);
        if (k < CPU_INTEGER_DEPTH)
            to[k] = 0;
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* One piece of y: rows from tile->row, columns from tile->col on. */
static void run_tile(const struct cpu_integer_product *product, struct cpu_integer_tile *tile) {
    int16_t left[CPU_INTEGER_ROWS * CPU_INTEGER_DEPTH], right[CPU_INTEGER_DEPTH * CPU_INTEGER_COLS];
    int32_t sums[CPU_INTEGER_ROWS * CPU_INTEGER_COLS];
    struct tile_data data = {left, right, sums, 0, 0};
    tile->rows = least(product->rows - tile->row, CPU_INTEGER_ROWS);
    tile->cols = least(product->cols - tile->col, CPU_INTEGER_COLS);
    data.rows = (tile->rows + 3) / 4 * 4;
    memset(sums, 0, data.rows * CPU_INTEGER_COLS * sizeof *sums);
    memset(left + tile->rows * CPU_INTEGER_DEPTH, 0, (data.rows - tile->rows) * CPU_INTEGER_DEPTH * sizeof *left);
    for (tile->k = 0; tile->k < product->inner; tile->k += CPU_INTEGER_DEPTH) {
        tile->depth = least(product->inner - tile->k, CPU_INTEGER_DEPTH);
        data.depth = (tile->depth + 1) / 2 * 2;
        memset(right, 0, data.depth * CPU_INTEGER_COLS * sizeof *right);
        pack_left(product, tile, left);
        product->pack(product->source, tile, right);
        multiply(&data);
    }
    product->emit(product->source, tile, sums);
}

static size_t tiles_down(const struct cpu_integer_product *product) {
    return (product->rows + CPU_INTEGER_ROWS - 1) / CPU_INTEGER_ROWS;
}

static void run_tiles(const void *job, size_t from, size_t to) {
    const struct cpu_integer_product *product = job;
    size_t down = tiles_down(product);
    for (size_t i = from; i < to; i++) {
        struct cpu_integer_tile tile = {.row = i % down * CPU_INTEGER_ROWS, .col = i / down * CPU_INTEGER_COLS};
        run_tile(product, &tile);
    }
}

enum { PRODUCTS_AN_ELEMENT = 32 }; /* that take as long as one element of other loops */

void cpu_integer_run(const struct cpu_integer_product *product) {
    size_t tiles = (product->cols + CPU_INTEGER_COLS - 1) / CPU_INTEGER_COLS * tiles_down(product);
    cpu_parallel_run(run_tiles, product, tiles, product->rows * product->cols * product->inner / PRODUCTS_AN_ELEMENT);
}

/* Adding and taking away 1.5 * 2^23 rounds to the nearest integer, halves to the even one, as the processor rounds
 * floats by default; the integer then stands in the low bits. */
static int32_t round_to_even(float value) {
    float shifted = value + 12582912.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - 0x4B400000;
}

void cpu_integer_requantize(const int32_t *sums, const float *factors, size_t count, int32_t zero, const struct view *y,
                            size_t at) {
    float low = quantized_low(y->element) - (float)zero, high = quantized_high(y->element) - (float)zero;
    uint8_t *to = (uint8_t *)y->data + at;
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        uint8_t block[BLOCK];
        for (size_t j = 0; j < BLOCK; j++) {
            float value = (float)sums[i + j] * factors[i + j];
            value = value > low ? value : low;
            value = value < high ? value : high;
            block[j] = (uint8_t)(round_to_even(value) + zero);
        }
        memcpy(to + i, block, sizeof block);
    }
    for (; i < count; i++)
        to[i] = (uint8_t)quantized_round((float)sums[i] * factors[i], zero, y->element);
}
