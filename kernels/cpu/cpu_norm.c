#include "kernels/cpu/cpu_norm.h"

#include <math.h>

#include "kernels/cpu/cpu_lanes.h"

/* ---- softmax ---- */

struct softmax_job {
    const float *x;
    float *y;
    size_t length, inner;
    bool log;
};

/* One row of adjacent elements. */
CPU_TARGET_INLINE void soften_row(const float *x, float *y, size_t length, bool log_of) {
    size_t whole = length / LANE_COUNT * LANE_COUNT, rest = length - whole;
    float LANES last = lanes_load_part(x + whole, rest, -INFINITY);
    float LANES greatest = last;
    for (size_t i = 0; i < whole; i += LANE_COUNT)
        greatest = lanes_greater(greatest, lanes_load(x + i));
    /* A NaN may hide numbers here, but the sum is NaN then. */
    float most = lanes_greatest(greatest);
    float LANES sum = lanes_exp(last - most);
    if (rest > 0 && !log_of)
        lanes_store_part(y + whole, sum, rest);
    if (rest == 0)
        sum = lanes_of(0.0f);
    for (size_t i = 0; i < whole; i += LANE_COUNT) {
        float LANES power = lanes_exp(lanes_load(x + i) - most);
        if (!log_of)
            lanes_store(y + i, power);
        sum += power;
    }
    float total = lanes_sum(sum), log_total = log_of ? logf(total) : 0, inverse = 1.0f / total;
    for (size_t i = 0; i < whole; i += LANE_COUNT)
        lanes_store(y + i, log_of ? lanes_load(x + i) - most - log_total : lanes_load(y + i) * inverse);
    for (size_t i = whole; i < length; i++)
        y[i] = log_of ? x[i] - most - log_total : y[i] * inverse;
}

CPU_TARGET_INLINE void soften_rows(const void *of, size_t from, size_t to) {
    const struct softmax_job *job = of;
    for (size_t row = from; row < to; row++)
        soften_row(job->x + row * job->length, job->y + row * job->length, job->length, job->log);
}
LANES_VARIANTS(soften_rows);

/* Up to 16 adjacent columns, whose elements lie `inner` apart. */
CPU_TARGET_INLINE void soften_columns_at(const struct softmax_job *job, size_t at, size_t count) {
    const float *x = job->x + at;
    float *y = job->y + at;
    size_t end = job->length * job->inner;
    bool whole = count == LANE_COUNT;
    float LANES greatest = lanes_of(-INFINITY), sum = lanes_of(0.0f);
    for (size_t i = 0; i < end; i += job->inner)
        greatest = lanes_greater(greatest, whole ? lanes_load(x + i) : lanes_load_part(x + i, count, 0));
    for (size_t i = 0; i < end; i += job->inner) {
        float LANES shifted = (whole ? lanes_load(x + i) : lanes_load_part(x + i, count, 0)) - greatest;
        float LANES power = lanes_exp(shifted);
        sum += power;
        if (whole)
            lanes_store(y + i, job->log ? shifted : power);
        else
            lanes_store_part(y + i, job->log ? shifted : power, count);
    }
    float logs[LANE_COUNT];
    lanes_store(logs, sum);
    for (size_t i = 0; job->log && i < LANE_COUNT; i++)
        logs[i] = logf(logs[i]);
    float LANES log_sum = lanes_load(logs), inverse = 1.0f / sum;
    for (size_t i = 0; i < end; i += job->inner) {
        float LANES v = whole ? lanes_load(y + i) : lanes_load_part(y + i, count, 0);
        v = job->log ? v - log_sum : v * inverse;
        if (whole)
            lanes_store(y + i, v);
        else
            lanes_store_part(y + i, v, count);
    }
}

/* Part number: which block of 16 columns. */
CPU_TARGET_INLINE void soften_columns(const void *of, size_t from, size_t to) {
    const struct softmax_job *job = of;
    size_t blocks = (job->inner + LANE_COUNT - 1) / LANE_COUNT;
    for (size_t part = from; part < to; part++) {
        size_t column = part % blocks * LANE_COUNT, left = job->inner - column;
        soften_columns_at(job, part / blocks * job->length * job->inner + column,
                          left < LANE_COUNT ? left : LANE_COUNT);
    }
}
LANES_VARIANTS(soften_columns);

static void softmax(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch) {
    const struct softmax *softmax = &operation->softmax;
    const struct view *x = &inputs[0];
    size_t outer = view_product(x, 0, softmax->axis);
    size_t inner = softmax->flat ? 1 : view_product(x, softmax->axis + 1, x->rank);
    size_t length = softmax->flat ? view_product(x, softmax->axis, x->rank) : x->dims[softmax->axis];
    struct softmax_job job = {x->data, outputs[0].data, length, inner, softmax->log};
    (void)scratch;
    if (view_count(x) == 0)
        return;
    if (inner == 1)
        cpu_parallel_run(soften_rows_best, &job, outer, view_count(x));
    else
        cpu_parallel_run(soften_columns_best, &job, outer * ((inner + LANE_COUNT - 1) / LANE_COUNT), view_count(x));
}

/* ---- layer and instance normalization ---- */

struct norm_job {
    const float *x, *scale, *bias;
    float *y, *means, *inverses;
    size_t length, inner; /* inner: elements of one channel (INSTANCE_NORM) */
    size_t groups, channels;
    float epsilon;
};

struct moments {
    float mean, inverse;
};

/* The second pass also sums the deviations from the first mean, which corrects what that was rounded by. */
CPU_TARGET_INLINE struct moments measure(const float *x, size_t length, float epsilon) {
    size_t whole = length / LANE_COUNT * LANE_COUNT;
    float LANES sum = lanes_of(0.0f), more = sum, squares = sum;
    float tail = 0, tail_squares = 0;
    size_t i = 0;
    for (; i + 2 * LANE_COUNT <= whole; i += 2 * LANE_COUNT) {
        sum += lanes_load(x + i);
        more += lanes_load(x + i + LANE_COUNT);
    }
    if (i < whole)
        sum += lanes_load(x + i);
    for (i = whole; i < length; i++)
        tail += x[i];
    float first = (lanes_sum(sum + more) + tail) / (float)length;
    sum = lanes_of(0.0f);
    tail = 0;
    for (i = 0; i < whole; i += LANE_COUNT) {
        float LANES centred = lanes_load(x + i) - first;
        sum += centred;
        squares += centred * centred;
    }
    for (; i < length; i++) {
        float centred = x[i] - first;
        tail += centred;
        tail_squares += centred * centred;
    }
    float correction = (lanes_sum(sum) + tail) / (float)length;
    float variance = (lanes_sum(squares) + tail_squares) / (float)length - correction * correction;
    variance = variance < 0 ? 0 : variance;
    return (struct moments){first + correction, 1.0f / sqrtf(variance + epsilon)};
}

CPU_TARGET_INLINE void layer_norm_row(const struct norm_job *job, size_t row) {
    const float *x = job->x + row * job->length, *scale = job->scale, *bias = job->bias;
    float *y = job->y + row * job->length;
    size_t length = job->length, i = 0;
    struct moments is = measure(x, length, job->epsilon);
    for (; i + LANE_COUNT <= length; i += LANE_COUNT) {
        float LANES v = (lanes_load(x + i) - is.mean) * is.inverse * lanes_load(scale + i);
        lanes_store(y + i, bias ? v + lanes_load(bias + i) : v);
    }
    for (; i < length; i++)
        y[i] = (x[i] - is.mean) * is.inverse * scale[i] + (bias ? bias[i] : 0.0f);
    if (job->means)
        job->means[row] = is.mean;
    if (job->inverses)
        job->inverses[row] = is.inverse;
}

CPU_TARGET_INLINE void layer_norm_rows(const void *of, size_t from, size_t to) {
    for (size_t row = from; row < to; row++)
        layer_norm_row(of, row);
}
LANES_VARIANTS(layer_norm_rows);

static void layer_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                       void *scratch) {
    const struct view *x = &inputs[0];
    struct norm_job job = {.x = x->data,
                           .scale = inputs[1].data,
                           .bias = inputs[2].data,
                           .y = outputs[0].data,
                           .means = outputs[1].data,
                           .inverses = outputs[2].data,
                           .length = view_product(x, operation->norm.axis, x->rank),
                           .epsilon = operation->norm.epsilon};
    (void)scratch;
    cpu_parallel_run(layer_norm_rows_best, &job, view_product(x, 0, operation->norm.axis), view_count(x));
}

/* y = x * factor + shift. */
CPU_TARGET_INLINE void scale_run(const float *x, float *y, size_t count, float factor, float shift) {
    size_t i = 0;
    for (; i + LANE_COUNT <= count; i += LANE_COUNT)
        lanes_store(y + i, lanes_load(x + i) * factor + shift);
    for (; i < count; i++)
        y[i] = x[i] * factor + shift;
}

CPU_TARGET_INLINE void instance_norm_group(const struct norm_job *job, size_t group) {
    const float *x = job->x + group * job->length;
    float *y = job->y + group * job->length;
    size_t each = job->channels / job->groups, channel = group % job->groups * each;
    struct moments is = measure(x, job->length, job->epsilon);
    for (size_t c = 0; c < each; c++, x += job->inner, y += job->inner) {
        float factor = is.inverse * job->scale[channel + c], shift = job->bias[channel + c];
        size_t i = 0;
        for (; i + LANE_COUNT <= job->inner; i += LANE_COUNT)
            lanes_store(y + i, (lanes_load(x + i) - is.mean) * factor + shift);
        for (; i < job->inner; i++)
            y[i] = (x[i] - is.mean) * factor + shift;
    }
}

CPU_TARGET_INLINE void instance_norm_groups(const void *of, size_t from, size_t to) {
    for (size_t group = from; group < to; group++)
        instance_norm_group(of, group);
}
LANES_VARIANTS(instance_norm_groups);

static void instance_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                          void *scratch) {
    const struct view *x = &inputs[0];
    size_t groups = operation->norm.groups ? operation->norm.groups : x->dims[1];
    (void)scratch;
    if (view_count(x) == 0)
        return;
    struct norm_job job = {.x = x->data,
                           .scale = inputs[1].data,
                           .bias = inputs[2].data,
                           .y = outputs[0].data,
                           .inner = view_product(x, 2, x->rank),
                           .groups = groups,
                           .channels = x->dims[1],
                           .epsilon = operation->norm.epsilon};
    job.length = job.channels / groups * job.inner;
    cpu_parallel_run(instance_norm_groups_best, &job, x->dims[0] * groups, view_count(x));
}

/* ---- batch normalization ---- */

struct batch_norm_job {
    const float *x, *scale, *bias, *mean, *variance;
    float *y;
    size_t rows, channels, inner;
    float epsilon;
};

/* The factor and shift of a channel, rounded once: y = x * factor + shift. */
CPU_TARGET_INLINE void channel_of(const struct batch_norm_job *job, size_t c, float *factor, float *shift) {
    double exact = (double)job->scale[c] / sqrt((double)job->variance[c] + (double)job->epsilon);
    *factor = (float)exact;
    *shift = (float)((double)job->bias[c] - (double)job->mean[c] * exact);
}

/* Part number: row * channels + channel. */
CPU_TARGET_INLINE void batch_norm_planes(const void *of, size_t from, size_t to) {
    const struct batch_norm_job *job = of;
    for (size_t part = from; part < to; part++) {
        float factor, shift;
        channel_of(job, part % job->channels, &factor, &shift);
        scale_run(job->x + part * job->inner, job->y + part * job->inner, job->inner, factor, shift);
    }
}
LANES_VARIANTS(batch_norm_planes);

/* Channels side by side. Part number: which block of 16 channels. */
CPU_TARGET_INLINE void batch_norm_columns(const void *of, size_t from, size_t to) {
    const struct batch_norm_job *job = of;
    for (size_t part = from; part < to; part++) {
        float factors[LANE_COUNT] = {0}, shifts[LANE_COUNT] = {0};
        size_t column = part * LANE_COUNT, left = job->channels - column;
        size_t count = left < LANE_COUNT ? left : LANE_COUNT;
        for (size_t c = 0; c < count; c++)
            channel_of(job, column + c, &factors[c], &shifts[c]);
        float LANES factor = lanes_load(factors), shift = lanes_load(shifts);
        for (size_t row = 0; row < job->rows; row++) {
            size_t at = row * job->channels + column;
            if (count == LANE_COUNT)
                lanes_store(job->y + at, lanes_load(job->x + at) * factor + shift);
            else
                lanes_store_part(job->y + at, lanes_load_part(job->x + at, count, 0) * factor + shift, count);
        }
    }
}
LANES_VARIANTS(batch_norm_columns);

static void batch_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                       void *scratch) {
    const struct view *x = &inputs[0];
    struct batch_norm_job job = {.x = x->data,
                                 .scale = inputs[1].data,
                                 .bias = inputs[2].data,
                                 .mean = inputs[3].data,
                                 .variance = inputs[4].data,
                                 .y = outputs[0].data,
                                 .rows = x->dims[0],
                                 .channels = x->dims[1],
                                 .inner = view_product(x, 2, x->rank),
                                 .epsilon = operation->norm.epsilon};
    (void)scratch;
    if (job.inner == 1)
        cpu_parallel_run(batch_norm_columns_best, &job, (job.channels + LANE_COUNT - 1) / LANE_COUNT, view_count(x));
    else
        cpu_parallel_run(batch_norm_planes_best, &job, job.rows * job.channels, view_count(x));
}

operation_function cpu_norm_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs) {
    (void)outputs;
    if (inputs[0].element != ELEMENT_F32)
        return NULL;
    switch (operation->kind) {
    case OPERATION_SOFTMAX:
        return operation->softmax.hard ? NULL : softmax;
    case OPERATION_LAYER_NORM:
        return layer_norm;
    case OPERATION_BATCH_NORM:
        return batch_norm;
    case OPERATION_INSTANCE_NORM:
        return instance_norm;
    default:
        return NULL;
    }
}
