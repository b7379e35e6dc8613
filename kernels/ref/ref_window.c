#include "kernels/ref/ref_window.h"

#include <math.h>

#include "kernels/ref/ref_elementwise.h"
#include "kernels/slide.h"

/* Source of the formulas: ONNX operators Conv, ConvTranspose, MaxPool, AveragePool, LpPool. */

struct spans {
    struct slide_span at[3];
};

static struct spans spans_of(const struct slide *slide, size_t output) {
    struct spans spans;
    size_t place[3];
    slide_place(slide, output, place);
    for (int i = 0; i < 3; i++)
        spans.at[i] = slide_span_at(slide, i, place[i]);
    return spans;
}

/* One channel of x under the window, times one kernel. */
static double channel_sum(const struct slide *slide, const struct spans *spans, const float *x, const float *w) {
    const struct slide_span *a = &spans->at[0], *b = &spans->at[1], *c = &spans->at[2];
    double sum = 0.0;
    for (size_t i = a->from; i < a->to; i++)
        for (size_t j = b->from; j < b->to; j++) {
            size_t plane = a->first + (i - a->from) * slide->dilations[0];
            size_t line = b->first + (j - b->from) * slide->dilations[1];
            const float *from = x + (plane * slide->in[1] + line) * slide->in[2] + c->first;
            const float *factors = w + (i * slide->kernel[1] + j) * slide->kernel[2];
            for (size_t k = c->from; k < c->to; k++)
                sum += (double)from[(k - c->from) * slide->dilations[2]] * factors[k];
        }
    return sum;
}

void ref_conv(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    struct slide slide = slide_of(&operation->window, &inputs[0], outputs);
    const float *w = inputs[1].data, *bias = inputs[2].data, *more = inputs[3].data;
    float *y = outputs[0].data;
    size_t channels = slide.x_channels / slide.groups, group_outputs = slide.y_channels / slide.groups;
    (void)scratch;
    for (size_t at = 0; at < slide.batch * slide.y_channels; at++) {
        size_t m = at % slide.y_channels, first = m / group_outputs * channels;
        const float *x =
            (const float *)inputs[0].data + (at / slide.y_channels * slide.x_channels + first) * slide.in_count;
        for (size_t output = 0; output < slide.out_count; output++) {
            struct spans spans = spans_of(&slide, output);
            double sum = bias ? bias[m] : 0.0;
            for (size_t c = 0; c < channels; c++)
                sum += channel_sum(&slide, &spans, x + c * slide.in_count, w + (m * channels + c) * slide.kernel_count);
            if (more)
                sum += more[at * slide.out_count + output];
            y[at * slide.out_count + output] = ref_unary_value(&operation->then, (float)sum);
        }
    }
}

/* The element of x that kernel element k spreads to that output; false if there is none. */
static bool spread_from(const struct slide *slide, int dim, size_t output, size_t k, size_t *element) {
    size_t to = output + slide->pads[dim], offset = k * slide->dilations[dim];
    if (to < offset || (to - offset) % slide->strides[dim] != 0)
        return false;
    *element = (to - offset) / slide->strides[dim];
    return *element < slide->in[dim];
}

/* One channel's part of one output of a transposed convolution. */
static double spread_sum(const struct slide *slide, const size_t *place, const float *x, const float *w) {
    size_t i, j, k;
    double sum = 0.0;
    for (size_t a = 0; a < slide->kernel[0]; a++) {
        if (!spread_from(slide, 0, place[0], a, &i))
            continue;
        for (size_t b = 0; b < slide->kernel[1]; b++) {
            if (!spread_from(slide, 1, place[1], b, &j))
                continue;
            for (size_t c = 0; c < slide->kernel[2]; c++)
                if (spread_from(slide, 2, place[2], c, &k))
                    sum += (double)x[(i * slide->in[1] + j) * slide->in[2] + k] *
                           w[(a * slide->kernel[1] + b) * slide->kernel[2] + c];
        }
    }
    return sum;
}

void ref_conv_transpose(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                        void *scratch) {
    struct slide slide = slide_of(&operation->window, &inputs[0], outputs);
    const float *bias = inputs[2].data;
    float *y = outputs[0].data;
    size_t channels = slide.x_channels / slide.groups, group_outputs = slide.y_channels / slide.groups;
    (void)scratch;
    for (size_t at = 0; at < slide.batch * slide.y_channels; at++) {
        size_t m = at % slide.y_channels, first = m / group_outputs * channels;
        const float *x =
            (const float *)inputs[0].data + (at / slide.y_channels * slide.x_channels + first) * slide.in_count;
        const float *w =
            (const float *)inputs[1].data + (first * group_outputs + m % group_outputs) * slide.kernel_count;
        for (size_t output = 0; output < slide.out_count; output++) {
            size_t place[3];
            double sum = bias ? bias[m] : 0.0;
            slide_place(&slide, output, place);
            for (size_t c = 0; c < channels; c++)
                sum += spread_sum(&slide, place, x + c * slide.in_count, w + c * group_outputs * slide.kernel_count);
            y[at * slide.out_count + output] = (float)sum;
        }
    }
}

static double element_at(const struct view *x, size_t at) {
    switch (x->element) {
    case ELEMENT_U8:
        return ((const uint8_t *)x->data)[at];
    case ELEMENT_I8:
        return ((const int8_t *)x->data)[at];
    default:
        return ((const float *)x->data)[at];
    }
}

static void put_element(const struct view *y, size_t at, double value) {
    switch (y->element) {
    case ELEMENT_U8:
        ((uint8_t *)y->data)[at] = (uint8_t)value;
        break;
    case ELEMENT_I8:
        ((int8_t *)y->data)[at] = (int8_t)value;
        break;
    default:
        ((float *)y->data)[at] = (float)value;
    }
}

/* What a window has seen: the greatest element with its place in the channel, or a sum. */
struct pooled {
    double value;
    size_t place, count;
};

static void take(const struct pool *pool, double x, size_t place, struct pooled *pooled) {
    bool first = pooled->count++ == 0;
    if (pool->kind == POOL_AVERAGE)
        pooled->value += x;
    else if (pool->kind == POOL_LP)
        pooled->value += pow(fabs(x), (double)pool->p);
    else if (first || x > pooled->value || (isnan(x) && !isnan(pooled->value))) {
        pooled->value = x;
        pooled->place = place;
    }
}

static struct pooled pool_window(const struct pool *pool, const struct slide *slide, const struct view *x,
                                 size_t channel, const struct spans *spans) {
    const struct slide_span *a = &spans->at[0], *b = &spans->at[1], *c = &spans->at[2];
    struct pooled pooled = {0};
    if (pool->kind == POOL_MAX)
        pooled.value = x->element == ELEMENT_U8 ? 0.0 : x->element == ELEMENT_I8 ? -128.0 : -INFINITY;
    for (size_t i = a->from; i < a->to; i++)
        for (size_t j = b->from; j < b->to; j++)
            for (size_t k = c->from; k < c->to; k++) {
                size_t plane = a->first + (i - a->from) * slide->dilations[0];
                size_t line = b->first + (j - b->from) * slide->dilations[1];
                size_t place =
                    (plane * slide->in[1] + line) * slide->in[2] + c->first + (k - c->from) * slide->dilations[2];
                take(pool, element_at(x, channel * slide->in_count + place), place, &pooled);
            }
    return pooled;
}

/* Elements of the window within x and its padding. */
static size_t padded_count(const struct slide *slide, size_t output) {
    size_t place[3], count = 1;
    slide_place(slide, output, place);
    for (int i = 0; i < 3; i++) {
        size_t start = place[i] * slide->strides[i];
        size_t end = slide->in[i] + slide->pads[i] + slide->pads_end[i];
        size_t fit = start < end ? (end - start + slide->dilations[i] - 1) / slide->dilations[i] : 0;
        count *= fit < slide->kernel[i] ? fit : slide->kernel[i];
    }
    return count;
}

/* The flat index with the first spatial dimension fastest. */
static size_t column_major(const struct slide *slide, size_t place) {
    size_t k = place % slide->in[2], j = place / slide->in[2] % slide->in[1], i = place / slide->in[2] / slide->in[1];
    return i + slide->in[0] * (j + slide->in[1] * k);
}

void ref_pool(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    const struct pool *pool = &operation->pool;
    struct slide slide = slide_of(&pool->window, &inputs[0], outputs);
    int64_t *indices = pool->kind == POOL_MAX ? outputs[1].data : NULL;
    (void)scratch;
    for (size_t channel = 0; channel < slide.batch * slide.x_channels; channel++)
        for (size_t output = 0; output < slide.out_count; output++) {
            struct spans spans = spans_of(&slide, output);
            struct pooled pooled = pool_window(pool, &slide, &inputs[0], channel, &spans);
            size_t to = channel * slide.out_count + output;
            if (pool->kind == POOL_AVERAGE) {
                size_t count = pool->count_padding ? padded_count(&slide, output) : pooled.count;
                pooled.value = count ? pooled.value / (double)count : 0.0;
            } else if (pool->kind == POOL_LP)
                pooled.value = pow(pooled.value, 1.0 / (double)pool->p);
            put_element(outputs, to, pooled.value);
            if (indices) {
                size_t place = pool->column_major ? column_major(&slide, pooled.place) : pooled.place;
                indices[to] = (int64_t)(channel * slide.in_count + place);
            }
        }
}
