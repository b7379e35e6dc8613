/* One point of the status page's history. */
#ifndef WEIR_SERVER_API_UI_SAMPLE_H
#define WEIR_SERVER_API_UI_SAMPLE_H

#include "engine/catalog.h"
#include "server/observe/history.h"

struct api;

/* What was read last. Begins as zeros. */
struct ui_sampler {
    struct metrics_totals totals;
    int64_t at_ns; /* 0: nothing was read yet */
    double cpu_seconds;
    uint64_t serials[CATALOG_MAX_MODELS], rows[CATALOG_MAX_MODELS];
};

/* Reads the counters and fills a point with what was counted since the last call. False: there is none, since it was
 * the first. Waits for nobody. thread: one at a time. */
bool ui_sample(struct ui_sampler *sampler, struct api *api, struct history_point *out);

#endif
