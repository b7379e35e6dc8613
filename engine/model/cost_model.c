#include "engine/model/cost_model.h"

#include <math.h>
#include <string.h>

/* Normalised least mean squares on the features 1 and c, where c runs from -1 (no rows) to 1 (the largest batch): each
 * sample moves the prediction for its own row count by LEARN of the error and leaves what it says nothing about alone,
 * so that a model which sees one batch size for hours keeps its slope. Source: Widrow and Hoff, "Adaptive switching
 * circuits" (1960); clipping the error is Huber's idea. */
static const double LEARN = 0.1;
static const double LEARN_DEVIATION = 0.05;
static const double CLIP = 4;          /* deviations an error may count for */
static const double LEAST_CLIP = 0.05; /* of the prediction: a deviation of nearly 0 must not stop the learning */
enum { SEEDS = 3 };

void cost_model_init(struct cost_model *model, uint32_t largest_batch) {
    memset(model, 0, sizeof *model);
    model->largest = largest_batch > 0 ? largest_batch : 1;
}

static double feature(const struct cost_model *model, uint32_t rows) {
    return 2 * rows / model->largest - 1;
}

/* No batch is expected to be free, and none to be cheaper for having more rows. */
static double predict(const struct cost_model *model, uint32_t rows) {
    if (model->samples == 0)
        return 0;
    return model->middle_ns + model->slope_ns * feature(model, rows);
}

static void keep_rising(struct cost_model *model) {
    if (model->slope_ns < 0)
        model->slope_ns = 0;
    if (model->middle_ns < 0)
        model->middle_ns = 0;
    if (model->slope_ns > model->middle_ns) /* no rows would take less than no time */
        model->slope_ns = model->middle_ns;
}

/* The first samples are taken as they are: a constant, then the line through the smallest and the largest batch. */
static void seed(struct cost_model *model, uint32_t rows, double took_ns) {
    double c = feature(model, rows), one = feature(model, 1), at_one = predict(model, 1);
    if (model->samples == 0 || c <= one) {
        model->middle_ns = took_ns;
        model->slope_ns = 0;
    } else {
        double slope = (took_ns - at_one) / (c - one);
        model->slope_ns = slope > 0 ? slope : 0;
        model->middle_ns = at_one - model->slope_ns * one;
    }
    keep_rising(model);
    model->deviation_ns = 0.05 * took_ns;
}

void cost_model_learn(struct cost_model *model, uint32_t rows, int64_t took_ns) {
    if (rows == 0 || took_ns <= 0)
        return;
    if (model->samples < SEEDS) {
        seed(model, rows, (double)took_ns);
        model->samples++;
        return;
    }
    double expected = predict(model, rows), error = (double)took_ns - expected;
    double bound = CLIP * model->deviation_ns;
    if (bound < LEAST_CLIP * expected)
        bound = LEAST_CLIP * expected;
    double clipped = error > bound ? bound : error < -bound ? -bound : error;
    double c = feature(model, rows);
    double step = LEARN * clipped / (1 + c * c);
    model->middle_ns += step;
    model->slope_ns += step * c;
    keep_rising(model);
    /* Bounded more loosely than the step: a lasting change widens the bound until the model can follow it. */
    double size = fabs(error) > 2 * bound ? 2 * bound : fabs(error);
    model->deviation_ns += LEARN_DEVIATION * (size - model->deviation_ns);
    model->samples++;
}

void cost_model_scale(struct cost_model *model, uint32_t rows, int64_t took_ns) {
    double expected = predict(model, rows);
    if (expected <= 0) {
        cost_model_learn(model, rows, took_ns);
        return;
    }
    double factor = (double)took_ns / expected;
    model->middle_ns *= factor;
    model->slope_ns *= factor;
    model->deviation_ns *= factor;
}

int64_t cost_model_predict(const struct cost_model *model, uint32_t rows) {
    return (int64_t)predict(model, rows);
}

void cost_model_line(const struct cost_model *model, double *base_ns, double *row_ns) {
    *base_ns = model->middle_ns - model->slope_ns;
    *row_ns = 2 * model->slope_ns / model->largest;
}

uint32_t cost_model_rows_within(const struct cost_model *model, uint32_t largest, int64_t limit_ns) {
    double base_ns, row_ns;
    if (model->samples == 0 || predict(model, largest) <= (double)limit_ns)
        return largest;
    cost_model_line(model, &base_ns, &row_ns);
    if (row_ns <= 0)
        return 1;
    double rows = ((double)limit_ns - base_ns) / row_ns;
    return rows < 1 ? 1 : rows > largest ? largest : (uint32_t)rows;
}
