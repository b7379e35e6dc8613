#include "kernels/cpu/cpu_dense.h"

#include <string.h>

#include "kernels/cpu/cpu_elementwise.h"
#include "kernels/cpu/cpu_parallel.h"
#include "kernels/cpu/cpu_target.h"

enum { LANES = 16, MOST_VECTORS = 4, WIDTH = LANES * MOST_VECTORS };

size_t cpu_dense_panel(size_t cols) {
    return cols >= WIDTH ? WIDTH : (cols + LANES - 1) / LANES * LANES;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Up to TILE rows and 64 columns are in registers at a time. A stretch of a panel is read for BLOCK rows, tile by tile,
 * before the next one comes: a short one if there are few tiles, so that it and the next are both in the first cache
 * (measured: with 16 rows of 4096 by 4096 91 % of the bound, with the long one 73 %; with 512 rows it is 1 to 4 %
 * less). */
enum { TILE = 6, BLOCK = 192, SHORT = 64, LONG = 256, FEW_TILES = 6, GROUP = 4 };

/* One tile's work on one stretch of `depth` rows of a panel: sums go on from `from` (bias or sums), to `to` (sums or
 * y). ahead: what will be read next is fetched meanwhile, so many lines for every GROUP rows. */
struct tile {
    const float *x, *w, *from;
    float *to;
    size_t inner, panel, depth, from_stride, to_stride;
    const char *ahead;
    size_t ahead_lines;
    bool clears; /* negative results become 0 */
};

struct dense {
    const float *x, *w, *bias;
    float *y;
    size_t rows, inner, cols, panel, padded_inner;
    size_t panels, blocks;
    const struct unary *then;
};

bool cpu_dense_is_available(void) {
    return cpu_target_has_avx512();
}

#define DENSE_TARGET __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))
#define DENSE_INLINE DENSE_TARGET static inline __attribute__((always_inline))

/* One element of x times one row of a panel. */
DENSE_INLINE void add_row(float x, const __m512 w[MOST_VECTORS], __m512 sums[MOST_VECTORS], int vectors) {
    __m512 all = _mm512_set1_ps(x);
    sums[0] = _mm512_fmadd_ps(all, w[0], sums[0]);
    if (vectors > 1)
        sums[1] = _mm512_fmadd_ps(all, w[1], sums[1]);
    if (vectors > 2)
        sums[2] = _mm512_fmadd_ps(all, w[2], sums[2]);
    if (vectors > 3)
        sums[3] = _mm512_fmadd_ps(all, w[3], sums[3]);
}

DENSE_INLINE void load(const float *from, __m512 to[MOST_VECTORS], int vectors) {
    to[0] = _mm512_loadu_ps(from);
    if (vectors > 1)
        to[1] = _mm512_loadu_ps(from + LANES);
    if (vectors > 2)
        to[2] = _mm512_loadu_ps(from + 2 * LANES);
    if (vectors > 3)
        to[3] = _mm512_loadu_ps(from + 3 * LANES);
}

DENSE_INLINE void store(float *to, const __m512 from[MOST_VECTORS], int vectors) {
    _mm512_storeu_ps(to, from[0]);
    if (vectors > 1)
        _mm512_storeu_ps(to + LANES, from[1]);
    if (vectors > 2)
        _mm512_storeu_ps(to + 2 * LANES, from[2]);
    if (vectors > 3)
        _mm512_storeu_ps(to + 3 * LANES, from[3]);
}

/* NaN stays: the second operand is what comes of it. */
DENSE_INLINE void clear(__m512 sums[MOST_VECTORS], int vectors) {
    __m512 zero = _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++)
        sums[i] = _mm512_max_ps(zero, sums[i]);
}

DENSE_INLINE void add_all(const float *x, size_t inner, const float *row, __m512 sums[TILE][MOST_VECTORS], int rows,
                          int vectors) {
    __m512 w[MOST_VECTORS];
    load(row, w, vectors);
    add_row(x[0], w, sums[0], vectors);
    if (rows > 1)
        add_row(x[inner], w, sums[1], vectors);
    if (rows > 2)
        add_row(x[2 * inner], w, sums[2], vectors);
    if (rows > 3)
        add_row(x[3 * inner], w, sums[3], vectors);
    if (rows > 4)
        add_row(x[4 * inner], w, sums[4], vectors);
    if (rows > 5)
        add_row(x[5 * inner], w, sums[5], vectors);
}

/* rows and vectors are constants in every call: no loop is left over them. */
DENSE_INLINE void multiply(const struct tile *tile, int rows, int vectors) {
    __m512 sums[TILE][MOST_VECTORS];
    const float *x = tile->x, *w = tile->w;
    size_t inner = tile->inner, panel = tile->panel, depth = tile->depth, k = 0;
    const char *ahead = tile->ahead;
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
        load(tile->from + (size_t)i * tile->from_stride, sums[i], vectors);
    for (; k + GROUP <= depth; k += GROUP, x += GROUP, w += GROUP * panel) {
        add_all(x, inner, w, sums, rows, vectors);
        add_all(x + 1, inner, w + panel, sums, rows, vectors);
        add_all(x + 2, inner, w + 2 * panel, sums, rows, vectors);
        add_all(x + 3, inner, w + 3 * panel, sums, rows, vectors);
        for (size_t i = 0; i < tile->ahead_lines; i++, ahead += 64)
            _mm_prefetch(ahead, _MM_HINT_T0);
    }
    for (; k < depth; k++, x++, w += panel)
        add_all(x, inner, w, sums, rows, vectors);
    if (tile->clears) {
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
            clear(sums[i], vectors);
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
        store(tile->to + (size_t)i * tile->to_stride, sums[i], vectors);
}

#define MULTIPLY(rows, vectors)                                                                                        \
    DENSE_TARGET static void multiply_##rows##_##vectors(const struct tile *tile) {                                    \
        multiply(tile, rows, vectors);                                                                                 \
    }
#define MULTIPLY_ROWS(rows) MULTIPLY(rows, 1) MULTIPLY(rows, 2) MULTIPLY(rows, 3) MULTIPLY(rows, 4)
MULTIPLY_ROWS(1)
MULTIPLY_ROWS(2)
MULTIPLY_ROWS(3)
MULTIPLY_ROWS(4)
MULTIPLY_ROWS(5)
MULTIPLY_ROWS(6)

typedef void (*multiply_function)(const struct tile *tile);

#define ROWS_OF(rows)                                                                                                  \
    { multiply_##rows##_1, multiply_##rows##_2, multiply_##rows##_3, multiply_##rows##_4 }
static const multiply_function functions[TILE][MOST_VECTORS] = {ROWS_OF(1), ROWS_OF(2), ROWS_OF(3),
                                                                ROWS_OF(4), ROWS_OF(5), ROWS_OF(6)};

/* A block of rows of one panel. Where the panel is not full, its results go to y by way of the sums. */
struct part {
    const struct dense *dense;
    size_t first, rows, tiles, col, cols, vectors, ahead_lines;
    float bias[WIDTH];
    float sums[BLOCK * WIDTH];
};

static void run_stretch(struct part *part, size_t k, size_t depth) {
    const struct dense *dense = part->dense;
    const float *w = dense->w + part->col * dense->padded_inner + k * dense->panel;
    bool begins = k == 0, ends = k + depth == dense->inner, whole = part->cols == part->vectors * LANES;
    struct tile tile = {.w = w,
                        .inner = dense->inner,
                        .panel = dense->panel,
                        .depth = depth,
                        .from_stride = begins ? 0 : WIDTH,
                        .to_stride = ends && whole ? dense->cols : WIDTH,
                        .ahead = (const char *)(w + depth * dense->panel),
                        .ahead_lines = part->ahead_lines,
                        .clears = ends && dense->then->kind == UNARY_RELU};
    for (size_t i = 0; i < part->tiles; i++) {
        size_t from = part->rows * i / part->tiles, to = part->rows * (i + 1) / part->tiles;
        float *sums = part->sums + from * WIDTH;
        tile.x = dense->x + (part->first + from) * dense->inner + k;
        tile.from = begins ? part->bias : sums;
        tile.to = ends && whole ? dense->y + (part->first + from) * dense->cols + part->col : sums;
        functions[to - from - 1][part->vectors - 1](&tile);
        tile.ahead += depth / GROUP * tile.ahead_lines * 64;
    }
}

static void finish_part(const struct part *part) {
    const struct dense *dense = part->dense;
    bool whole = part->cols == part->vectors * LANES;
    bool applies = dense->then->kind != UNARY_NONE && dense->then->kind != UNARY_RELU;
    for (size_t row = 0; row < part->rows && (applies || !whole); row++) {
        float *y = dense->y + (part->first + row) * dense->cols + part->col;
        if (!whole)
            memcpy(y, part->sums + row * WIDTH, part->cols * sizeof *y);
        if (applies)
            cpu_elementwise_unary(dense->then, y, y, part->cols);
    }
}

static void run_part(const struct dense *dense, size_t panel, size_t block) {
    struct part part;
    part.dense = dense;
    part.first = dense->rows * block / dense->blocks;
    part.rows = dense->rows * (block + 1) / dense->blocks - part.first;
    part.tiles = (part.rows + TILE - 1) / TILE;
    part.col = panel * dense->panel;
    part.cols = dense->cols - part.col < dense->panel ? dense->cols - part.col : dense->panel;
    part.vectors = (part.cols + LANES - 1) / LANES;
    /* A single tile reads one line after another, which the processor sees by itself. */
    part.ahead_lines = part.tiles == 1 ? 0 : (GROUP * dense->panel / LANES + part.tiles - 1) / part.tiles;
    memset(part.bias, 0, sizeof part.bias);
    if (dense->bias)
        memcpy(part.bias, dense->bias + part.col, part.cols * sizeof *part.bias);
    size_t most = part.tiles <= FEW_TILES ? SHORT : LONG;
    for (size_t k = 0; k < dense->inner; k += most)
        run_stretch(&part, k, dense->inner - k < most ? dense->inner - k : most);
    finish_part(&part);
}

static void run_parts(const void *job, size_t from, size_t to) {
    const struct dense *dense = job;
    for (size_t i = from; i < to; i++)
        run_part(dense, i % dense->panels, i / dense->panels);
}

/* So many multiplications count as one element when threads are to share the work: two threads were faster from 0.4
 * million multiplications on. */
enum { WORTH = 6 };

void cpu_dense_run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    struct dense dense = {.x = inputs[0].data,
                          .w = inputs[1].data,
                          .bias = inputs[2].data,
                          .y = outputs[0].data,
                          .rows = inputs[0].dims[0],
                          .inner = inputs[1].dims[0],
                          .cols = inputs[1].dims[1],
                          .then = &operation->then};
    (void)scratch;
    dense.panel = cpu_dense_panel(dense.cols);
    dense.padded_inner = (dense.inner + CPU_DENSE_ROUND - 1) / CPU_DENSE_ROUND * CPU_DENSE_ROUND;
    dense.panels = (dense.cols + dense.panel - 1) / dense.panel;
    dense.blocks = (dense.rows + BLOCK - 1) / BLOCK;
    cpu_parallel_run(run_parts, &dense, dense.panels * dense.blocks, dense.rows * dense.cols * dense.inner / WORTH);
}
#else
bool cpu_dense_is_available(void) {
    return false;
}

void cpu_dense_run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    (void)operation;
    (void)inputs;
    (void)outputs;
    (void)scratch;
}
#endif
