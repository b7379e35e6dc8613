#include "kernels/ref/ref_matmul.h"

#include <string.h>

#include "kernels/product.h"
#include "kernels/ref/ref_elementwise.h"

enum { BLOCK = 256 }; /* columns whose sums are taken together */

/* sums[i] = the row of a times column i of b, i < count. The order of the loops follows b's elements. */
static void row_sums(const struct product *product, const float *a, const float *b, size_t count, double *sums) {
    memset(sums, 0, count * sizeof *sums);
    if (product->b_col_step == 1) {
        for (size_t k = 0; k < product->inner; k++) {
            double factor = a[k * product->a_inner_step];
            for (size_t i = 0; i < count; i++)
                sums[i] += factor * b[k * product->b_inner_step + i];
        }
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < product->inner; k++)
            sums[i] += (double)a[k * product->a_inner_step] * b[i * product->b_col_step + k];
}

/* How far c moves from one row, one column of y to the next. */
static void c_steps(const struct product *product, const struct view *c, size_t *row_step, size_t *col_step) {
    int at = c->rank - 1;
    size_t step = 1;
    *row_step = *col_step = 0;
    if (product->has_col && at >= 0) {
        *col_step = c->dims[at] == 1 ? 0 : 1;
        step = c->dims[at--];
    }
    if (product->has_row && at >= 0)
        *row_step = c->dims[at] == 1 ? 0 : step;
}

void ref_matmul(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    const struct matmul *matmul = &operation->matmul;
    const struct view *c = &inputs[2];
    struct product product = product_of(&inputs[0], &inputs[1], outputs, matmul->transpose_a, matmul->transpose_b);
    size_t rows = product.batches * product.rows, row_step = 0, col_step = 0;
    float *y = outputs[0].data;
    (void)scratch;
    if (c->data)
        c_steps(&product, c, &row_step, &col_step);
    for (size_t at = 0; at < rows; at++) {
        size_t batch = at / product.rows, row = at % product.rows;
        const float *a = (const float *)inputs[0].data + product_start(&product, &inputs[0], 2, batch);
        const float *b = (const float *)inputs[1].data + product_start(&product, &inputs[1], 2, batch);
        const float *add = c->data;
        if (add)
            add += product_start(&product, c, product.has_row + product.has_col, batch) + row * row_step;
        for (size_t from = 0; from < product.cols; from += BLOCK) {
            size_t count = product.cols - from < BLOCK ? product.cols - from : BLOCK;
            double sums[BLOCK];
            row_sums(&product, a + row * product.a_row_step, b + from * product.b_col_step, count, sums);
            for (size_t i = 0; i < count; i++) {
                double sum = matmul->alpha * sums[i];
                if (add)
                    sum += (double)matmul->beta * add[(from + i) * col_step];
                *y++ = ref_unary_value(&operation->then, (float)sum);
            }
        }
    }
}

/* Labels as nested loops: those of the output outside, those that are summed inside. */
struct nest {
    int count, outer;
    size_t sizes[OPERATION_MAX_LABELS];
    size_t steps[OPERATION_MAX_TERMS][OPERATION_MAX_LABELS];
};

static size_t label_size(const struct einsum *einsum, const struct view *inputs, int label) {
    size_t size = 1;
    for (int term = 0; term < einsum->term_count; term++)
        for (int i = 0; i < inputs[term].rank; i++)
            if (einsum->inputs[term][i] == label && inputs[term].dims[i] != 1)
                size = inputs[term].dims[i];
    return size;
}

static void add_label(const struct einsum *einsum, const struct view *inputs, int label, struct nest *nest) {
    nest->sizes[nest->count] = label_size(einsum, inputs, label);
    for (int term = 0; term < einsum->term_count; term++) {
        size_t step = 1, sum = 0;
        for (int i = inputs[term].rank - 1; i >= 0; i--) {
            if (einsum->inputs[term][i] == label && inputs[term].dims[i] != 1)
                sum += step; /* twice for a label that occurs twice: the diagonal */
            step *= inputs[term].dims[i];
        }
        nest->steps[term][nest->count] = sum;
    }
    nest->count++;
}

static struct nest make_nest(const struct einsum *einsum, const struct view *inputs, const struct view *y) {
    struct nest nest = {.count = 0};
    bool placed[OPERATION_MAX_LABELS] = {false};
    for (int i = 0; i < y->rank; i++) {
        add_label(einsum, inputs, einsum->output[i], &nest);
        placed[(int)einsum->output[i]] = true;
    }
    nest.outer = nest.count;
    for (int label = 0; label < einsum->label_count; label++)
        if (!placed[label])
            add_label(einsum, inputs, label, &nest);
    return nest;
}

/* The element of each term at number `at` of the loops from..to, added to start. */
static void locate(const struct nest *nest, int from, int to, size_t at, size_t *start) {
    for (int i = to - 1; i >= from; i--) {
        for (int term = 0; term < OPERATION_MAX_TERMS; term++)
            start[term] += at % nest->sizes[i] * nest->steps[term][i];
        at /= nest->sizes[i];
    }
}

/* Sum over the innermost label, or the one product where nothing is summed. */
static double sum_innermost(const struct nest *nest, const struct einsum *einsum, const struct view *inputs,
                            const size_t *start) {
    bool summed = nest->count > nest->outer;
    size_t count = summed ? nest->sizes[nest->count - 1] : 1;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        double value = 1.0;
        for (int term = 0; term < einsum->term_count; term++) {
            size_t step = summed ? nest->steps[term][nest->count - 1] : 0;
            value *= ((const float *)inputs[term].data)[start[term] + i * step];
        }
        sum += value;
    }
    return sum;
}

void ref_einsum(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    const struct einsum *einsum = &operation->einsum;
    struct nest nest = make_nest(einsum, inputs, outputs);
    size_t count = view_count(outputs), middle = 1;
    float *y = outputs[0].data;
    (void)scratch;
    for (int i = nest.outer; i < nest.count - 1; i++)
        middle *= nest.sizes[i];
    for (size_t at = 0; at < count; at++) {
        size_t start[OPERATION_MAX_TERMS] = {0};
        double sum = 0.0;
        locate(&nest, 0, nest.outer, at, start);
        for (size_t k = 0; k < middle; k++) {
            size_t place[OPERATION_MAX_TERMS];
            memcpy(place, start, sizeof place);
            locate(&nest, nest.outer, nest.count - 1, k, place);
            sum += sum_innermost(&nest, einsum, inputs, place);
        }
        y[at] = (float)sum;
    }
}
