#include "kernels/cpu/cpu_window.h"

#include <string.h>

#include "kernels/cpu/cpu_integer.h"
#include "kernels/quantized.h"
#include "kernels/slide.h"

/* One group of one item of the batch: filters times the patches of x under the windows. */
struct patches {
    const struct slide *slide;
    struct cpu_integer_bytes x; /* the group's first channel */
    int32_t x_zero;
    size_t filter; /* the group's first */
    size_t y_at;   /* its first output */
    const struct view *y, *bias;
    const struct view *w_scale; /* NULL: y is I32 */
    float x_scale, y_scale;
    int32_t y_zero;
};

/* Outputs that lie side by side along the last dimension. */
struct run {
    size_t col, count, place[3];
};

/* Splits the tile's columns, which are outputs, into runs. */
static size_t find_runs(const struct slide *slide, const struct cpu_integer_tile *tile, struct run *runs) {
    size_t count = 0;
    for (size_t col = 0; col < tile->cols;) {
        struct run *run = &runs[count++];
        run->col = col;
        slide_place(slide, tile->col + col, run->place);
        size_t left = slide->out[2] - run->place[2];
        run->count = left < tile->cols - col ? left : tile->cols - col;
        col += run->count;
    }
    return count;
}

/* The element of x for an output and an element of the kernel along one dimension; false: it lies in the padding. */
static bool element_of(const struct slide *slide, int dim, size_t output, size_t k, size_t *element) {
    size_t at = output * slide->strides[dim] + k * slide->dilations[dim];
    *element = at - slide->pads[dim];
    return at >= slide->pads[dim] && *element < slide->in[dim];
}

/* One element of the kernel for the outputs of a run; to moves by 2 from one output to the next. */
static void pack_run(const struct patches *patches, const struct run *run, const size_t *k, const uint8_t *channel,
                     int16_t *to) {
    const struct slide *slide = patches->slide;
    size_t plane, line, stride = slide->strides[2], in = slide->in[2];
    if (!element_of(slide, 0, run->place[0], k[0], &plane) || !element_of(slide, 1, run->place[1], k[1], &line))
        return;
    const uint8_t *from = channel + (plane * slide->in[1] + line) * in;
    size_t start = run->place[2] * stride + k[2] * slide->dilations[2], pad = slide->pads[2];
    size_t first = start < pad ? (pad - start + stride - 1) / stride : 0;
    size_t end = start < in + pad ? (in + pad - start + stride - 1) / stride : 0;
    if (end > run->count)
        end = run->count;
    uint8_t flip = patches->x.flip;
    int16_t zero = (int16_t)patches->x_zero;
    for (size_t i = first; i < end; i++)
        to[2 * i] = (int16_t)((from[start + i * stride - pad] ^ flip) - zero);
}

static void pack(const void *source, const struct cpu_integer_tile *tile, int16_t *right) {
    const struct patches *patches = source;
    const struct slide *slide = patches->slide;
    struct run runs[CPU_INTEGER_COLS];
    size_t count = find_runs(slide, tile, runs);
    size_t channel = tile->k / slide->kernel_count, rest = tile->k % slide->kernel_count;
    size_t k[3] = {rest / slide->kernel[2] / slide->kernel[1], rest / slide->kernel[2] % slide->kernel[1],
                   rest % slide->kernel[2]};
    for (size_t i = 0; i < tile->depth; i++) {
        const uint8_t *bytes = patches->x.bytes + channel * slide->in_count;
        int16_t *to = right + (i / 2 * CPU_INTEGER_COLS) * 2 + i % 2;
        for (size_t r = 0; r < count; r++)
            pack_run(patches, &runs[r], k, bytes, to + 2 * runs[r].col);
        if (++k[2] < slide->kernel[2])
            continue;
        k[2] = 0;
        if (++k[1] < slide->kernel[1])
            continue;
        k[1] = 0;
        if (++k[0] < slide->kernel[0])
            continue;
        k[0] = 0;
        channel++;
    }
}

static void emit(const void *source, const struct cpu_integer_tile *tile, const int32_t *sums) {
    const struct patches *patches = source;
    for (size_t row = 0; row < tile->rows; row++) {
        const int32_t *from = sums + row * CPU_INTEGER_COLS;
        size_t filter = patches->filter + tile->row + row;
        size_t at = patches->y_at + (tile->row + row) * patches->slide->out_count + tile->col;
        if (!patches->w_scale) {
            memcpy((int32_t *)patches->y->data + at, from, tile->cols * sizeof *from);
            continue;
        }
        float factor = quantized_factor(patches->x_scale, quantized_scale(patches->w_scale, filter), patches->y_scale);
        uint32_t bias = patches->bias->data ? (uint32_t)((const int32_t *)patches->bias->data)[filter] : 0;
        int32_t biased[CPU_INTEGER_COLS];
        float factors[CPU_INTEGER_COLS];
        for (size_t i = 0; i < CPU_INTEGER_COLS; i++) {
            biased[i] = (int32_t)((uint32_t)from[i] + bias);
            factors[i] = factor;
        }
        cpu_integer_requantize(biased, factors, tile->cols, patches->y_zero, patches->y, at);
    }
}

/* Runs all groups of all items; patches holds what they share. */
static void convolve(const struct view *x, const struct view *w, const struct view *w_zero, struct patches *patches) {
    const struct slide *slide = patches->slide;
    size_t channels = slide->x_channels / slide->groups, filters = slide->y_channels / slide->groups;
    for (size_t at = 0; at < slide->batch * slide->groups; at++) {
        size_t group = at % slide->groups;
        patches->x = cpu_integer_bytes_of(x, at * channels * slide->in_count);
        patches->filter = group * filters;
        patches->y_at = at * filters * slide->out_count;
        struct cpu_integer_product product = {
            .rows = filters,
            .inner = channels * slide->kernel_count,
            .cols = slide->out_count,
            .left = cpu_integer_bytes_of(w, patches->filter * channels * slide->kernel_count),
            .left_of = w,
            .left_zero = w_zero,
            .left_zero_at = patches->filter,
            .left_zero_step = 1,
            .pack = pack,
            .emit = emit,
            .source = patches,
        };
        cpu_integer_run(&product);
    }
}

static void qlinear_conv(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                         void *scratch) {
    struct slide slide = slide_of(&operation->window, &inputs[0], outputs);
    struct patches patches = {.slide = &slide,
                              .x_zero = cpu_integer_zero(&inputs[2], 0, &inputs[0]),
                              .y = outputs,
                              .bias = &inputs[8],
                              .w_scale = &inputs[4],
                              .x_scale = quantized_scale(&inputs[1], 0),
                              .y_scale = quantized_scale(&inputs[6], 0),
                              .y_zero = quantized_zero(&inputs[7], 0)};
    (void)scratch;
    convolve(&inputs[0], &inputs[3], &inputs[5], &patches);
}

static void conv_integer(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                         void *scratch) {
    struct slide slide = slide_of(&operation->window, &inputs[0], outputs);
    struct patches patches = {.slide = &slide, .x_zero = cpu_integer_zero(&inputs[2], 0, &inputs[0]), .y = outputs};
    (void)scratch;
    convolve(&inputs[0], &inputs[1], &inputs[3], &patches);
}

operation_function cpu_window_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    (void)inputs;
    (void)outputs;
    if (operation->kind == OPERATION_QLINEAR_CONV)
        return qlinear_conv;
    return operation->kind == OPERATION_CONV_INTEGER ? conv_integer : NULL;
}
