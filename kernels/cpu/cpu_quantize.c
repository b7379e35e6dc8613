#include "kernels/cpu/cpu_quantize.h"

#include <string.h>

#include "kernels/cpu/cpu_integer.h"
#include "kernels/cpu/cpu_window.h"
#include "kernels/product.h"
#include "kernels/quantized.h"

/* Loops run over blocks of a fixed length through a local array, which the compiler turns into vector code. */
enum { BLOCK = 32 };

/* Elements with one scale and zero point; low and high are the range of results less the zero point. */
struct span {
    size_t count;
    float scale;
    int32_t zero;
    float low, high;
};

/* Source of the rounding: see cpu_integer_requantize. */
static inline int32_t round_to_even(float value) {
    float shifted = value + 12582912.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - 0x4B400000;
}

static inline uint8_t quantized(float x, const struct span *span) {
    float value = x / span->scale;
    value = value > span->low ? value : span->low;
    value = value < span->high ? value : span->high;
    return (uint8_t)(round_to_even(value) + span->zero);
}

static inline __attribute__((always_inline)) void quantize_span(const float *x, uint8_t *y, const struct span *span) {
    size_t i = 0;
    struct span here = *span;
    for (; i + BLOCK <= here.count; i += BLOCK) {
        uint8_t block[BLOCK];
        for (size_t j = 0; j < BLOCK; j++)
            block[j] = quantized(x[i + j], &here);
        memcpy(y + i, block, sizeof block);
    }
    for (; i < here.count; i++)
        y[i] = quantized(x[i], &here);
}

/* The byte's flip makes int8 of uint8: see cpu_integer_bytes. */
static inline __attribute__((always_inline)) void dequantize_span(struct cpu_integer_bytes x, float *y,
                                                                  const struct span *span) {
    size_t i = 0;
    struct span here = *span;
    for (; i + BLOCK <= here.count; i += BLOCK) {
        float block[BLOCK];
        for (size_t j = 0; j < BLOCK; j++)
            block[j] = (float)((x.bytes[i + j] ^ x.flip) - here.zero) * here.scale;
        memcpy(y + i, block, sizeof block);
    }
    for (; i < here.count; i++)
        y[i] = (float)((x.bytes[i] ^ x.flip) - here.zero) * here.scale;
}

#if defined(__x86_64__)
/* The same code for wider registers; the results are the same bits. */
__attribute__((target("avx2"))) static void quantize_avx2(const float *x, uint8_t *y, const struct span *span) {
    quantize_span(x, y, span);
}

__attribute__((target("avx2"))) static void dequantize_avx2(struct cpu_integer_bytes x, float *y,
                                                            const struct span *span) {
    dequantize_span(x, y, span);
}
#endif

static void quantize_best(const float *x, uint8_t *y, const struct span *span) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        quantize_avx2(x, y, span);
        return;
    }
#endif
    quantize_span(x, y, span);
}

static void dequantize_best(struct cpu_integer_bytes x, float *y, const struct span *span) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        dequantize_avx2(x, y, span);
        return;
    }
#endif
    dequantize_span(x, y, span);
}

/* How x falls into spans of one scale each: all of it, or the elements behind one place of the axis. */
static void split(const struct operation *operation, const struct view *x, const struct view *scale, size_t *length,
                  size_t *inner) {
    bool listed = view_count(scale) != 1;
    *inner = listed ? view_product(x, operation->axis + 1, x->rank) : view_count(x);
    *length = listed ? x->dims[operation->axis] : 1;
}

static void quantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                     void *scratch) {
    size_t length, inner, count = view_count(&inputs[0]);
    (void)scratch;
    split(operation, &inputs[0], &inputs[1], &length, &inner);
    for (size_t from = 0; from < count; from += inner) {
        size_t at = from / inner % length;
        struct span span = {.count = inner, .scale = quantized_scale(&inputs[1], at)};
        span.zero = quantized_zero(&inputs[2], at);
        span.low = quantized_low(outputs->element) - (float)span.zero;
        span.high = quantized_high(outputs->element) - (float)span.zero;
        quantize_best((const float *)inputs[0].data + from, (uint8_t *)outputs[0].data + from, &span);
    }
}

static void dequantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                       void *scratch) {
    size_t length, inner, count = view_count(&inputs[0]);
    (void)scratch;
    split(operation, &inputs[0], &inputs[1], &length, &inner);
    for (size_t from = 0; from < count; from += inner) {
        size_t at = from / inner % length;
        struct span span = {.count = inner, .scale = quantized_scale(&inputs[1], at)};
        span.zero = cpu_integer_zero(&inputs[2], at, &inputs[0]);
        dequantize_best(cpu_integer_bytes_of(&inputs[0], from), (float *)outputs[0].data + from, &span);
    }
}

/* The range of x and 0. */
static void find_range(const float *x, size_t count, float *least, float *greatest) {
    float low[BLOCK] = {0}, high[BLOCK] = {0};
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        for (size_t j = 0; j < BLOCK; j++) {
            low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
            high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
        }
    for (; i < count; i++) {
        low[0] = x[i] < low[0] ? x[i] : low[0];
        high[0] = x[i] > high[0] ? x[i] : high[0];
    }
    *least = *greatest = 0.0f;
    for (size_t j = 0; j < BLOCK; j++) {
        *least = low[j] < *least ? low[j] : *least;
        *greatest = high[j] > *greatest ? high[j] : *greatest;
    }
}

static void dynamic_quantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                             void *scratch) {
    struct span span = {.count = view_count(&inputs[0])};
    float least, greatest;
    (void)operation;
    (void)scratch;
    find_range(inputs[0].data, span.count, &least, &greatest);
    span.scale = least == greatest ? 1.0f : (greatest - least) / 255.0f;
    span.zero = quantized_round(-least / span.scale, 0, ELEMENT_U8);
    span.low = (float)-span.zero;
    span.high = (float)(255 - span.zero);
    quantize_best(inputs[0].data, outputs[0].data, &span);
    if (outputs[1].data)
        *(float *)outputs[1].data = span.scale;
    if (outputs[2].data)
        *(uint8_t *)outputs[2].data = (uint8_t)span.zero;
}

/* A scale or zero point within one product: its first element, and 1 if it is a list along the rows or columns. */
struct list {
    const struct view *view;
    size_t at, step;
};

static struct list list_of(const struct product *product, const struct view *view, size_t batch) {
    struct list list = {view, 0, 0};
    if (!view->data || view_count(view) == 1)
        return list;
    list.at = product_start(product, view, 2, batch);
    list.step = view_product(view, view->rank - 2, view->rank) == 1 ? 0 : 1;
    return list;
}

/* One product of the batch: what its right side and its results need. */
struct matrix {
    const struct product *product;
    struct cpu_integer_bytes b;
    const struct view *b_of;
    struct list b_zero, a_scale, b_scale;
    bool scaled; /* false: y is I32 */
    float y_scale;
    int32_t y_zero;
    const struct view *y;
    size_t y_at;
};

/* Two elements of each column, side by side as one number of 32 bits. */
static void pack_pair(const uint8_t *low, const uint8_t *high, uint8_t flip, const int32_t *zeros, int16_t *to) {
    uint32_t pairs[CPU_INTEGER_COLS];
    for (size_t i = 0; i < CPU_INTEGER_COLS; i++)
        pairs[i] = ((uint32_t)((low[i] ^ flip) - zeros[i]) & 0xFFFF) | (uint32_t)((high[i] ^ flip) - zeros[i]) << 16;
    memcpy(to, pairs, sizeof pairs);
}

static void pack(const void *source, const struct cpu_integer_tile *tile, int16_t *right) {
    const struct matrix *matrix = source;
    size_t row_step = matrix->product->b_inner_step, k = 0;
    uint8_t flip = matrix->b.flip;
    int32_t zeros[CPU_INTEGER_COLS] = {0};
    for (size_t i = 0; i < tile->cols; i++) {
        size_t at = matrix->b_zero.at + (tile->col + i) * matrix->b_zero.step;
        zeros[i] = quantized_element(matrix->b_zero.view, at) + (flip ? 128 : 0);
    }
    for (; tile->cols == CPU_INTEGER_COLS && k + 2 <= tile->depth; k += 2) {
        const uint8_t *from = matrix->b.bytes + (tile->k + k) * row_step + tile->col;
        pack_pair(from, from + row_step, flip, zeros, right + k * CPU_INTEGER_COLS);
    }
    for (; k < tile->depth; k++) {
        const uint8_t *from = matrix->b.bytes + (tile->k + k) * row_step + tile->col;
        int16_t *to = right + k / 2 * 2 * CPU_INTEGER_COLS + k % 2;
        for (size_t i = 0; i < tile->cols; i++)
            to[2 * i] = (int16_t)((from[i] ^ flip) - zeros[i]);
    }
}

static float scale_at(const struct list *list, size_t at) {
    return ((const float *)list->view->data)[list->at + at * list->step];
}

static void emit(const void *source, const struct cpu_integer_tile *tile, const int32_t *sums) {
    const struct matrix *matrix = source;
    for (size_t row = 0; row < tile->rows; row++) {
        const int32_t *from = sums + row * CPU_INTEGER_COLS;
        size_t at = matrix->y_at + (tile->row + row) * matrix->product->cols + tile->col;
        if (!matrix->scaled) {
            memcpy((int32_t *)matrix->y->data + at, from, tile->cols * sizeof *from);
            continue;
        }
        float factors[CPU_INTEGER_COLS], left = scale_at(&matrix->a_scale, tile->row + row);
        for (size_t i = 0; i < tile->cols; i++)
            factors[i] = quantized_factor(left, scale_at(&matrix->b_scale, tile->col + i), matrix->y_scale);
        cpu_integer_requantize(from, factors, tile->cols, matrix->y_zero, matrix->y, at);
    }
}

/* Runs one product of the batch. */
static void multiply(const struct product *product, const struct view *a, const struct view *a_zero, size_t batch,
                     struct matrix *matrix) {
    struct list zero = list_of(product, a_zero, batch);
    matrix->product = product;
    matrix->y_at = batch * product->rows * product->cols;
    matrix->b = cpu_integer_bytes_of(matrix->b_of, product_start(product, matrix->b_of, 2, batch));
    struct cpu_integer_product run = {
        .rows = product->rows,
        .inner = product->inner,
        .cols = product->cols,
        .left = cpu_integer_bytes_of(a, product_start(product, a, 2, batch)),
        .left_of = a,
        .left_zero = a_zero,
        .left_zero_at = zero.at,
        .left_zero_step = zero.step,
        .pack = pack,
        .emit = emit,
        .source = matrix,
    };
    cpu_integer_run(&run);
}

static void matmul_integer(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                           void *scratch) {
    struct product product = product_of(&inputs[0], &inputs[1], outputs, false, false);
    struct matrix matrix = {.b_of = &inputs[1], .y = outputs};
    (void)operation;
    (void)scratch;
    for (size_t batch = 0; batch < product.batches; batch++) {
        matrix.b_zero = list_of(&product, &inputs[3], batch);
        multiply(&product, &inputs[0], &inputs[2], batch, &matrix);
    }
}

static void qlinear_matmul(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                           void *scratch) {
    struct product product = product_of(&inputs[0], &inputs[3], outputs, false, false);
    struct matrix matrix = {.b_of = &inputs[3],
                            .scaled = true,
                            .y_scale = quantized_scale(&inputs[6], 0),
                            .y_zero = quantized_zero(&inputs[7], 0),
                            .y = outputs};
    (void)operation;
    (void)scratch;
    for (size_t batch = 0; batch < product.batches; batch++) {
        matrix.b_zero = list_of(&product, &inputs[5], batch);
        matrix.a_scale = list_of(&product, &inputs[1], batch);
        matrix.b_scale = list_of(&product, &inputs[4], batch);
        multiply(&product, &inputs[0], &inputs[2], batch, &matrix);
    }
}

/* Spans shorter than this gain nothing. */
enum { LEAST_SPAN = 8 };

operation_function cpu_quantize_find(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs) {
    size_t length, inner;
    switch (operation->kind) {
    case OPERATION_QUANTIZE:
    case OPERATION_DEQUANTIZE:
        split(operation, &inputs[0], &inputs[1], &length, &inner);
        if (inner < LEAST_SPAN || inputs[0].element == ELEMENT_I32)
            return NULL;
        return operation->kind == OPERATION_QUANTIZE ? quantize : dequantize;
    case OPERATION_DYNAMIC_QUANTIZE:
        return dynamic_quantize;
    case OPERATION_MATMUL_INTEGER:
        return matmul_integer;
    case OPERATION_QLINEAR_MATMUL:
        return qlinear_matmul;
    default:
        return cpu_window_find(operation, inputs, outputs);
    }
}
