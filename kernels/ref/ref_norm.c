#include "kernels/ref/ref_norm.h"

#include <math.h>

/* One group: `length` elements, `stride` apart. */
struct group {
    size_t length, stride;
};

static void harden(const float *x, float *y, const struct group *group) {
    size_t best = 0;
    for (size_t i = 1; i < group->length; i++)
        if (x[i * group->stride] > x[best * group->stride])
            best = i;
    for (size_t i = 0; i < group->length; i++)
        y[i * group->stride] = i == best;
}

static void soften(const float *x, float *y, const struct group *group, bool log_of) {
    double greatest = -INFINITY, sum = 0;
    for (size_t i = 0; i < group->length; i++)
        greatest = fmax(greatest, x[i * group->stride]);
    for (size_t i = 0; i < group->length; i++)
        sum += exp(x[i * group->stride] - greatest);
    for (size_t i = 0; i < group->length; i++) {
        double shifted = x[i * group->stride] - greatest;
        y[i * group->stride] = (float)(log_of ? shifted - log(sum) : exp(shifted) / sum);
    }
}

void ref_softmax(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch) {
    const struct softmax *softmax = &operation->softmax;
    const struct view *view = &inputs[0];
    const float *x = view->data;
    float *y = outputs[0].data;
    size_t outer = view_product(view, 0, softmax->axis);
    size_t inner = softmax->flat ? 1 : view_product(view, softmax->axis + 1, view->rank);
    size_t length = softmax->flat ? view_product(view, softmax->axis, view->rank) : view->dims[softmax->axis];
    struct group group = {length, inner};
    (void)scratch;
    if (length == 0)
        return;
    for (size_t i = 0; i < outer * inner; i++) {
        size_t base = i / inner * length * inner + i % inner;
        if (softmax->hard)
            harden(x + base, y + base, &group);
        else
            soften(x + base, y + base, &group, softmax->log);
    }
}

/* Mean and 1 / sqrt(variance + epsilon) of count elements. */
static void measure(const float *x, size_t count, float epsilon, double *mean, double *inverse) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    *mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inverse = 1 / sqrt(squares / (double)count + (double)epsilon);
}

void ref_layer_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch) {
    const struct view *view = &inputs[0];
    const float *x = view->data, *scale = inputs[1].data, *bias = inputs[2].data;
    float *y = outputs[0].data, *means = outputs[1].data, *inverses = outputs[2].data;
    size_t rows = view_product(view, 0, operation->norm.axis);
    size_t length = view_product(view, operation->norm.axis, view->rank);
    (void)scratch;
    for (size_t row = 0; row < rows; row++, x += length, y += length) {
        double mean, inverse;
        measure(x, length, operation->norm.epsilon, &mean, &inverse);
        for (size_t i = 0; i < length; i++)
            y[i] = (float)((x[i] - mean) * inverse * scale[i] + (bias ? (double)bias[i] : 0.0));
        if (means)
            means[row] = (float)mean;
        if (inverses)
            inverses[row] = (float)inverse;
    }
}

void ref_batch_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch) {
    const struct view *view = &inputs[0];
    const float *x = view->data, *scale = inputs[1].data, *bias = inputs[2].data;
    const float *mean = inputs[3].data, *variance = inputs[4].data;
    float *y = outputs[0].data;
    size_t channels = view->dims[1], inner = view_product(view, 2, view->rank);
    (void)scratch;
    for (size_t i = 0; i < view_count(view); i++) {
        size_t c = i / inner % channels;
        double deviation = sqrt((double)variance[c] + (double)operation->norm.epsilon);
        y[i] = (float)(((double)x[i] - (double)mean[c]) / deviation * scale[c] + bias[c]);
    }
}

void ref_instance_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                       void *scratch) {
    const struct view *view = &inputs[0];
    const float *x = view->data, *scale = inputs[1].data, *bias = inputs[2].data;
    float *y = outputs[0].data;
    size_t channels = view->dims[1], inner = view_product(view, 2, view->rank);
    size_t groups = operation->norm.groups ? operation->norm.groups : channels;
    (void)scratch;
    if (view_count(view) == 0)
        return;
    size_t length = channels / groups * inner;
    for (size_t g = 0; g < view->dims[0] * groups; g++, x += length, y += length) {
        double mean, inverse;
        measure(x, length, operation->norm.epsilon, &mean, &inverse);
        for (size_t i = 0; i < length; i++) {
            size_t c = g % groups * (channels / groups) + i / inner;
            y[i] = (float)((x[i] - mean) * inverse * scale[c] + bias[c]);
        }
    }
}

void ref_lrn(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    const struct norm *norm = &operation->norm;
    const struct view *view = &inputs[0];
    const float *x = view->data;
    float *y = outputs[0].data;
    size_t channels = view->dims[1], inner = view_product(view, 2, view->rank), size = (size_t)norm->size;
    size_t before = (size - 1) / 2, behind = size - 1 - before;
    (void)scratch;
    for (size_t i = 0; i < view_count(view); i++) {
        size_t c = i / inner % channels;
        size_t from = c < before ? 0 : c - before;
        size_t to = behind < channels - 1 - c ? c + behind : channels - 1;
        double sum = 0;
        for (size_t k = from; k <= to; k++) {
            double element = x[i - c * inner + k * inner];
            sum += element * element;
        }
        double divisor = pow((double)norm->bias + (double)norm->alpha / (double)size * sum, (double)norm->beta);
        y[i] = (float)(x[i] / divisor);
    }
}

void ref_lp_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch) {
    const struct norm *norm = &operation->norm;
    const struct view *view = &inputs[0];
    const float *x = view->data;
    float *y = outputs[0].data;
    size_t length = view->dims[norm->axis], inner = view_product(view, norm->axis + 1, view->rank);
    size_t lines = view_product(view, 0, norm->axis) * inner;
    (void)scratch;
    for (size_t l = 0; l < lines; l++) {
        size_t base = l / inner * length * inner + l % inner;
        double sum = 0;
        for (size_t i = 0; i < length; i++) {
            double element = x[base + i * inner];
            sum += norm->size == 1 ? fabs(element) : element * element;
        }
        if (norm->size != 1)
            sum = sqrt(sum);
        for (size_t i = 0; i < length; i++)
            y[base + i * inner] = sum == 0 ? 0.0f : (float)(x[base + i * inner] / sum);
    }
}
