/* When would a job be done that came now? The arithmetic of admission, without locks or clocks. */
#ifndef WEIR_ENGINE_BATCH_FORECAST_H
#define WEIR_ENGINE_BATCH_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/model/cost_model.h"

enum { FORECAST_MAX_DEVICES = 16 };

/* The present state of the queue and the devices. */
struct forecast_state {
    const struct cost_model *costs; /* of the job's version */
    int64_t now_ns;
    const int64_t *free_ns; /* for each device, when what runs on it is expected to end; the past if nothing runs */
    int device_count;
    uint32_t queued_rows; /* ahead of the job */
    uint32_t batch_rows;  /* most rows of a batch */
    double arrival_rate;  /* rows that come in a nanosecond: they fill the job's batch while it waits */
};

struct forecast {
    int64_t wait_ns; /* until the first of its rows runs */
    int64_t done_ns; /* when its last row is done, on the clock of now_ns */
};

/* Formula: the running batch's remainder, full batches for the rows ahead, then its own batch, as full as the arrivals
 * will make it by then; with several devices each batch goes to the one that is free first. */
void forecast_make(const struct forecast_state *state, uint32_t rows, struct forecast *out);

/* Estimates that refuse everything never learn that they are wrong. So an idle device is given a job to try in spite of
 * them: at any time where nothing of its sizes has run yet, and once a second where many were refused. All zero at
 * first. */
struct forecast_trials {
    uint32_t refused; /* by an idle device, since the last one that was tried */
    int64_t tried_ns;
};

/* A job of an idle device would be refused: is it to be tried? known: jobs of its sizes have run. */
bool forecast_try(struct forecast_trials *trials, bool known, int64_t now_ns);

#endif
