/* What the counters of all models add up to, for the status page. */
#ifndef WEIR_SERVER_OBSERVE_METRICS_TOTALS_H
#define WEIR_SERVER_OBSERVE_METRICS_TOTALS_H

#include <stdint.h>

#include "server/observe/histogram.h"

struct metrics;

/* How a prediction ended. */
enum metrics_outcome {
    METRICS_OK,      /* answered */
    METRICS_REFUSED, /* 429, 503: not taken, for want of room or time */
    METRICS_LATE,    /* 504: its deadline passed */
    METRICS_BAD,     /* other 4xx: the client's fault */
    METRICS_FAILED,  /* other 5xx: the server's */
    METRICS_GONE,    /* its client left */
    METRICS_OUTCOMES
};

struct metrics_totals {
    uint64_t outcomes[METRICS_OUTCOMES]; /* of predictions, of all protocols */
    uint64_t good_rows, wasted_rows;     /* answered in time; computed for nothing */
    struct histogram_total duration;     /* of those that were answered */
    struct histogram_total queue_delay, batch_rows, batch_compute;
};

/* Sums all shards. A version whose series made room for another's takes its counts with it. thread: any. */
void metrics_totals_read(struct metrics *metrics, struct metrics_totals *out);

/* Takes away what was counted before; what has become less counts as nothing. */
void metrics_totals_subtract(struct metrics_totals *totals, const struct metrics_totals *before);

#endif
