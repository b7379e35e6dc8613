#include "kernels/cpu/cpu_pool.h"

#include <math.h>

#include "kernels/cpu/cpu_parallel.h"
#include "kernels/cpu/cpu_target.h"
#include "kernels/slide.h"

struct pools {
    struct slide slide;
    const float *x;
    float *y;
    size_t block;
};

/* Compilers make vector code of loops whose length they know. */
enum { LANES_AT_ONCE = 16 };

/* The greater of each pair, or the one that is NaN. */
CPU_TARGET_INLINE void take_greater(const float *restrict x, float *restrict y, size_t count) {
    CPU_TARGET_INDEPENDENT
    for (size_t i = 0; i < count; i++) {
        float greater = x[i] > y[i] ? x[i] : y[i];
        y[i] = x[i] != x[i] ? x[i] : greater;
    }
}

/* One window, for all channels of a block. x is the start of its image. */
CPU_TARGET_INLINE void pool_one(const struct pools *pools, const struct slide_span *spans, const float *x, float *y) {
    const struct slide *slide = &pools->slide;
    size_t block = pools->block;
    for (size_t i = 0; i < block; i++)
        y[i] = -INFINITY;
    for (size_t a = 0; a < spans[0].to - spans[0].from; a++)
        for (size_t b = 0; b < spans[1].to - spans[1].from; b++) {
            size_t plane = spans[0].first + a * slide->dilations[0], line = spans[1].first + b * slide->dilations[1];
            const float *from = x + ((plane * slide->in[1] + line) * slide->in[2] + spans[2].first) * block;
            for (size_t c = 0; c < spans[2].to - spans[2].from; c++, from += slide->dilations[2] * block) {
                size_t i = 0;
                for (; i + LANES_AT_ONCE <= block; i += LANES_AT_ONCE)
                    take_greater(from + i, y + i, LANES_AT_ONCE);
                take_greater(from + i, y + i, block - i);
            }
        }
}

CPU_TARGET_INLINE void pool_images(const struct pools *pools, size_t from, size_t to) {
    const struct slide *slide = &pools->slide;
    size_t block = pools->block;
    for (size_t image = from; image < to; image++) {
        const float *x = pools->x + image * slide->in_count * block;
        float *y = pools->y + image * slide->out_count * block;
        struct slide_span spans[3];
        for (size_t a = 0; a < slide->out[0]; a++) {
            spans[0] = slide_span_at(slide, 0, a);
            for (size_t b = 0; b < slide->out[1]; b++) {
                spans[1] = slide_span_at(slide, 1, b);
                for (size_t c = 0; c < slide->out[2]; c++, y += block) {
                    spans[2] = slide_span_at(slide, 2, c);
                    pool_one(pools, spans, x, y);
                }
            }
        }
    }
}

CPU_TARGET_VARIANTS(pool_range, pool_images, (const struct pools *pools, size_t from, size_t to), (pools, from, to))

static void pool_part(const void *job, size_t from, size_t to) {
    pool_range(job, from, to);
}

void cpu_pool_max_blocks(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                         void *scratch) {
    const struct pools pools = {.slide = slide_of(&operation->pool.window, &inputs[0], &outputs[0]),
                                .x = inputs[0].data,
                                .y = outputs[0].data,
                                .block = inputs[0].dims[inputs[0].rank - 1]};
    (void)scratch;
    cpu_parallel_run(pool_part, &pools, pools.slide.batch * pools.slide.x_channels,
                     pools.slide.batch * pools.slide.x_channels * pools.slide.in_count * pools.block);
}
