#include "kernels/cpu/cpu_dots.h"

#include "kernels/cpu/cpu_lanes.h"

#define QUAD __attribute__((vector_size(16))) /* float QUAD: 4 floats */

/* What is computed together: one or four rows, one or four outputs; the sums by row and output. */
struct tile {
    const float *const *rows;
    const float *weights;
    size_t row_count, output_count, depth;
};

CPU_TARGET_INLINE float LANES load(const float *from, size_t count) {
    return count == LANE_COUNT ? lanes_load(from) : lanes_load_part(from, count, 0.0f);
}

CPU_TARGET_INLINE void add_row(const struct tile *tile, size_t row, size_t k, size_t count, float LANES sums[4][4],
                               const float LANES weights[4]) {
    float LANES v = load(tile->rows[row] + k, count);
    sums[row][0] += v * weights[0];
    if (tile->output_count == 1)
        return;
    sums[row][1] += v * weights[1];
    sums[row][2] += v * weights[2];
    sums[row][3] += v * weights[3];
}

/* Elements k .. k + count - 1 of all rows and outputs. */
CPU_TARGET_INLINE void add(const struct tile *tile, size_t k, size_t count, float LANES sums[4][4]) {
    const float *w = tile->weights + k;
    float LANES weights[4];
    weights[0] = load(w, count);
    if (tile->output_count == 4) {
        weights[1] = load(w + tile->depth, count);
        weights[2] = load(w + 2 * tile->depth, count);
        weights[3] = load(w + 3 * tile->depth, count);
    }
    add_row(tile, 0, k, count, sums, weights);
    if (tile->row_count == 1)
        return;
    add_row(tile, 1, k, count, sums, weights);
    add_row(tile, 2, k, count, sums, weights);
    add_row(tile, 3, k, count, sums, weights);
}

CPU_TARGET_INLINE float QUAD fold(float LANES v) {
    float QUAD part[4];
    memcpy(part, &v, sizeof v);
    return (part[0] + part[2]) + (part[1] + part[3]);
}

/* The sums of four vectors, each in the order of lanes_sum. */
CPU_TARGET_INLINE float QUAD sum_four(const float LANES v[4]) {
    float QUAD a = fold(v[0]), b = fold(v[1]), c = fold(v[2]), d = fold(v[3]);
    float QUAD ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    float QUAD cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

CPU_TARGET_INLINE void finish_row(const struct cpu_dots *dots, size_t row, size_t output, const float LANES sums[4],
                                  size_t output_count) {
    float *out = dots->out + row * dots->out_stride + output;
    const float *before = dots->bias ? dots->bias + output : out;
    if (output_count == 1) {
        *out = *before + lanes_sum(sums[0]);
        return;
    }
    float QUAD quad;
    memcpy(&quad, before, sizeof quad);
    quad = quad + sum_four(sums);
    memcpy(out, &quad, sizeof quad);
}

/* The counts are constants in every call: no loop is left over them. */
CPU_TARGET_INLINE void run_tile(const struct cpu_dots *dots, size_t row, size_t row_count, size_t output,
                                size_t output_count) {
    const struct tile tile = {dots->rows + row, dots->weights + output * dots->depth, row_count, output_count,
                              dots->depth};
    float LANES zero = lanes_of(0.0f);
    float LANES sums[4][4] = {
        {zero, zero, zero, zero}, {zero, zero, zero, zero}, {zero, zero, zero, zero}, {zero, zero, zero, zero}};
    size_t k = 0;
    for (; k + LANE_COUNT <= dots->depth; k += LANE_COUNT)
        add(&tile, k, LANE_COUNT, sums);
    if (k < dots->depth)
        add(&tile, k, dots->depth - k, sums);
    finish_row(dots, row, output, sums[0], output_count);
    if (row_count == 1)
        return;
    finish_row(dots, row + 1, output, sums[1], output_count);
    finish_row(dots, row + 2, output, sums[2], output_count);
    finish_row(dots, row + 3, output, sums[3], output_count);
}

/* The weights of four outputs stay in the first cache while all rows pass by. */
CPU_TARGET_INLINE void run_tiles(const struct cpu_dots *dots) {
    size_t output = 0;
    for (; output + 4 <= dots->outputs; output += 4) {
        size_t row = 0;
        for (; row + 4 <= dots->row_count; row += 4)
            run_tile(dots, row, 4, output, 4);
        for (; row < dots->row_count; row++)
            run_tile(dots, row, 1, output, 4);
    }
    for (; output < dots->outputs; output++)
        for (size_t row = 0; row < dots->row_count; row++)
            run_tile(dots, row, 1, output, 1);
}

CPU_TARGET_VARIANTS(run_best, run_tiles, (const struct cpu_dots *dots), (dots));

void cpu_dots_run(const struct cpu_dots *dots) {
    run_best(dots);
}
