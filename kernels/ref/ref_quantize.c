#include "kernels/ref/ref_quantize.h"

#include <math.h>

#include "kernels/product.h"
#include "kernels/quantized.h"
#include "kernels/slide.h"

/* Source of the formulas: ONNX operators QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinearMatMul,
 * QLinearConv, MatMulInteger, ConvInteger. */

void ref_quantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                  void *scratch) {
    const struct view *x = &inputs[0], *scale = &inputs[1], *zero = &inputs[2];
    size_t count = view_count(x);
    bool listed = view_count(scale) != 1;
    size_t inner = listed ? view_product(x, operation->axis + 1, x->rank) : 1;
    size_t length = listed ? x->dims[operation->axis] : 1;
    (void)scratch;
    for (size_t i = 0; i < count; i++) {
        size_t at = i / inner % length;
        float value = ((const float *)x->data)[i] / quantized_scale(scale, at);
        quantized_put(outputs, i, quantized_round(value, quantized_zero(zero, at), outputs->element));
    }
}

void ref_dequantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch) {
    const struct view *x = &inputs[0], *scale = &inputs[1], *zero = &inputs[2];
    size_t count = view_count(x);
    bool listed = view_count(scale) != 1;
    size_t inner = listed ? view_product(x, operation->axis + 1, x->rank) : 1;
    size_t length = listed ? x->dims[operation->axis] : 1;
    (void)scratch;
    for (size_t i = 0; i < count; i++) {
        size_t at = i / inner % length;
        int64_t value = (int64_t)quantized_element(x, i) - quantized_zero(zero, at);
        ((float *)outputs->data)[i] = (float)value * quantized_scale(scale, at);
    }
}

void ref_dynamic_quantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                          void *scratch) {
    const float *x = inputs[0].data;
    size_t count = view_count(&inputs[0]);
    float least = 0.0f, greatest = 0.0f;
    (void)operation;
    (void)scratch;
    for (size_t i = 0; i < count; i++) {
        least = x[i] < least ? x[i] : least;
        greatest = x[i] > greatest ? x[i] : greatest;
    }
    float scale = least == greatest ? 1.0f : (greatest - least) / 255.0f;
    int32_t zero = quantized_round(-least / scale, 0, ELEMENT_U8);
    for (size_t i = 0; i < count; i++)
        quantized_put(&outputs[0], i, quantized_round(x[i] / scale, zero, ELEMENT_U8));
    if (outputs[1].data)
        *(float *)outputs[1].data = scale;
    if (outputs[2].data)
        *(uint8_t *)outputs[2].data = (uint8_t)zero;
}

/* The element of a scale or zero point [..., rows, 1] or [..., 1, cols] for that batch and row or column. */
static size_t listed_at(const struct product *product, const struct view *list, size_t batch, size_t at) {
    if (!list->data || view_count(list) == 1)
        return 0;
    return product_start(product, list, 2, batch) + (view_product(list, list->rank - 2, list->rank) == 1 ? 0 : at);
}

struct integer_operands {
    const struct view *a, *b, *a_zero, *b_zero;
};

/* One element of the product, as an exact sum. */
static int64_t element_sum(const struct product *product, const struct integer_operands *of, size_t batch, size_t row,
                           size_t col) {
    size_t a = product_start(product, of->a, 2, batch) + row * product->a_row_step;
    size_t b = product_start(product, of->b, 2, batch) + col * product->b_col_step;
    int64_t a_zero = quantized_element(of->a_zero, listed_at(product, of->a_zero, batch, row));
    int64_t b_zero = quantized_element(of->b_zero, listed_at(product, of->b_zero, batch, col));
    int64_t sum = 0;
    for (size_t k = 0; k < product->inner; k++)
        sum += (quantized_element(of->a, a + k * product->a_inner_step) - a_zero) *
               (quantized_element(of->b, b + k * product->b_inner_step) - b_zero);
    return sum;
}

void ref_matmul_integer(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                        void *scratch) {
    struct product product = product_of(&inputs[0], &inputs[1], outputs, false, false);
    struct integer_operands of = {&inputs[0], &inputs[1], &inputs[2], &inputs[3]};
    int32_t *y = outputs[0].data;
    (void)operation;
    (void)scratch;
    for (size_t batch = 0; batch < product.batches; batch++)
        for (size_t row = 0; row < product.rows; row++)
            for (size_t col = 0; col < product.cols; col++)
                *y++ = (int32_t)(uint32_t)element_sum(&product, &of, batch, row, col);
}

void ref_qlinear_matmul(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                        void *scratch) {
    struct product product = product_of(&inputs[0], &inputs[3], outputs, false, false);
    struct integer_operands of = {&inputs[0], &inputs[3], &inputs[2], &inputs[5]};
    const struct view *a_scale = &inputs[1], *b_scale = &inputs[4];
    float y_scale = quantized_scale(&inputs[6], 0);
    int32_t y_zero = quantized_zero(&inputs[7], 0);
    size_t at = 0;
    (void)operation;
    (void)scratch;
    for (size_t batch = 0; batch < product.batches; batch++)
        for (size_t row = 0; row < product.rows; row++)
            for (size_t col = 0; col < product.cols; col++) {
                float left = ((const float *)a_scale->data)[listed_at(&product, a_scale, batch, row)];
                float right = ((const float *)b_scale->data)[listed_at(&product, b_scale, batch, col)];
                float sum = (float)(int32_t)(uint32_t)element_sum(&product, &of, batch, row, col);
                quantized_put(outputs, at++,
                              quantized_round(sum * quantized_factor(left, right, y_scale), y_zero, outputs->element));
            }
}

struct integer_filter {
    const struct view *x, *w, *x_zero, *w_zero, *bias;
};

/* One output of a convolution, as an exact sum with its bias. Padding adds nothing: it stands for x's zero point. */
static int64_t window_sum(const struct slide *slide, const struct integer_filter *of, size_t n, size_t m,
                          size_t output) {
    size_t channels = slide->x_channels / slide->groups, place[3];
    size_t first = n * slide->x_channels + m / (slide->y_channels / slide->groups) * channels;
    int64_t x_zero = quantized_zero(of->x_zero, 0), w_zero = quantized_zero(of->w_zero, m), sum = 0;
    struct slide_span a, b, c;
    slide_place(slide, output, place);
    a = slide_span_at(slide, 0, place[0]);
    b = slide_span_at(slide, 1, place[1]);
    c = slide_span_at(slide, 2, place[2]);
    for (size_t channel = 0; channel < channels; channel++)
        for (size_t i = a.from; i < a.to; i++)
            for (size_t j = b.from; j < b.to; j++)
                for (size_t k = c.from; k < c.to; k++) {
                    size_t plane = a.first + (i - a.from) * slide->dilations[0];
                    size_t line = b.first + (j - b.from) * slide->dilations[1];
                    size_t x_at = (first + channel) * slide->in_count + (plane * slide->in[1] + line) * slide->in[2] +
                                  c.first + (k - c.from) * slide->dilations[2];
                    size_t w_at = (m * channels + channel) * slide->kernel_count +
                                  (i * slide->kernel[1] + j) * slide->kernel[2] + k;
                    sum += (quantized_element(of->x, x_at) - x_zero) * (quantized_element(of->w, w_at) - w_zero);
                }
    return of->bias && of->bias->data ? sum + ((const int32_t *)of->bias->data)[m] : sum;
}

void ref_conv_integer(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                      void *scratch) {
    struct slide slide = slide_of(&operation->window, &inputs[0], outputs);
    struct integer_filter of = {&inputs[0], &inputs[1], &inputs[2], &inputs[3], NULL};
    int32_t *y = outputs[0].data;
    (void)scratch;
    for (size_t at = 0; at < slide.batch * slide.y_channels; at++)
        for (size_t output = 0; output < slide.out_count; output++)
            *y++ = (int32_t)(uint32_t)window_sum(&slide, &of, at / slide.y_channels, at % slide.y_channels, output);
}

void ref_qlinear_conv(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                      void *scratch) {
    struct slide slide = slide_of(&operation->window, &inputs[0], outputs);
    struct integer_filter of = {&inputs[0], &inputs[3], &inputs[2], &inputs[5], &inputs[8]};
    float x_scale = quantized_scale(&inputs[1], 0), y_scale = quantized_scale(&inputs[6], 0);
    int32_t y_zero = quantized_zero(&inputs[7], 0);
    (void)scratch;
    for (size_t at = 0; at < slide.batch * slide.y_channels; at++) {
        size_t m = at % slide.y_channels;
        float factor = quantized_factor(x_scale, quantized_scale(&inputs[4], m), y_scale);
        for (size_t output = 0; output < slide.out_count; output++) {
            float sum = (float)(int32_t)(uint32_t)window_sum(&slide, &of, at / slide.y_channels, m, output);
            quantized_put(outputs, at * slide.out_count + output,
                          quantized_round(sum * factor, y_zero, outputs->element));
        }
    }
}
