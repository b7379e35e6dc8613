/* How long a batch takes: t(rows) = a + b * rows, learned from the batches that ran, one model per version, device
 * and free sizes (cost_table.h). It follows slow changes and shrugs off single outliers. Not thread-safe: the batcher
 * keeps it under its lock. */
#ifndef WEIR_ENGINE_MODEL_COST_MODEL_H
#define WEIR_ENGINE_MODEL_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct cost_model {
    double middle_ns;    /* of a batch of half the largest */
    double slope_ns;     /* what the largest costs beyond that */
    double largest;      /* rows of the largest batch */
    double deviation_ns; /* mean absolute error of late */
    uint64_t samples;
};

void cost_model_init(struct cost_model *model, uint32_t largest_batch);

/* A batch of `rows` rows took took_ns, from its being taken to its results being back. The first samples (the
 * warm-up's) set the model; later ones move it by a tenth of the error, an outlier by no more than a multiple of the
 * deviation. */
void cost_model_learn(struct cost_model *model, uint32_t rows, int64_t took_ns);

/* Stretches the line so that a batch of `rows` rows takes took_ns: what is known of other sizes of the same network
 * begins the model of these. A model that knows nothing learns it. */
void cost_model_scale(struct cost_model *model, uint32_t rows, int64_t took_ns);

/* What a batch of `rows` rows is expected to take; 0 before anything was learned. */
int64_t cost_model_predict(const struct cost_model *model, uint32_t rows);

/* a and b of t(rows) = a + b * rows, for people. */
void cost_model_line(const struct cost_model *model, double *base_ns, double *row_ns);

/* The most rows, at least 1 and at most `largest`, whose batch is expected to take no longer than limit_ns. */
uint32_t cost_model_rows_within(const struct cost_model *model, uint32_t largest, int64_t limit_ns);

#endif
