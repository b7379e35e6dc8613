#include <criterion/criterion.h>
#include <math.h>

#include "kernels/cpu/cpu_pool.h"

static const struct operation pool = {.kind = OPERATION_POOL,
                                      .pool = {.kind = POOL_MAX,
                                               .window = {.spatial = 2,
                                                          .kernel = {2, 3},
                                                          .strides = {2, 2},
                                                          .dilations = {1, 2},
                                                          .pads = {1, 1},
                                                          .pads_end = {1, 2}}}};

/* The plainest loop, on the same layout. */
static float expected(const float *x, size_t image, size_t row, size_t col, size_t channel, size_t block) {
    float best = -INFINITY;
    for (size_t a = 0; a < 2; a++)
        for (size_t b = 0; b < 3; b++) {
            long i = (long)(row * 2 + a) - 1, j = (long)(col * 2 + b * 2) - 1;
            if (i < 0 || i >= 5 || j < 0 || j >= 6)
                continue;
            float value = x[((image * 5 + (size_t)i) * 6 + (size_t)j) * block + channel];
            if (isnan(value) || value > best)
                best = value;
            if (isnan(value))
                return value;
        }
    return best;
}

Test(cpu_pool, every_block_size_gives_the_greatest_or_nan) {
    static float x[3 * 5 * 6 * 40], y[3 * 3 * 3 * 40];
    static const size_t blocks[] = {1, 7, 8, 16, 40};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        size_t block = blocks[k], count = 3 * 5 * 6 * block;
        const struct view from = {x, ELEMENT_F32, 5, {1, 3, 5, 6, block}},
                          to = {y, ELEMENT_F32, 5, {1, 3, 3, 3, block}};
        for (size_t i = 0; i < count; i++)
            x[i] = i % 41 == 0 ? NAN : (float)(i * 2654435761u % 1000) - 500;
        cpu_pool_max_blocks(&pool, &from, &to, NULL);
        for (size_t i = 0; i < 3 * 3 * 3 * block; i++) {
            float right = expected(x, i / block / 9, i / block / 3 % 3, i / block % 3, i % block, block);
            cr_assert(isnan(right) ? isnan(y[i]) : y[i] == right, "block %zu, element %zu: %g for %g", block, i, y[i],
                      right);
        }
    }
}
