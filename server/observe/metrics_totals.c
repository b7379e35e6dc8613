#include "server/observe/metrics_totals.h"

#include "server/observe/metrics_shard.h"

static enum metrics_outcome outcome_of(enum code code) {
    switch (code) {
    case CODE_200:
    case CODE_204:
        return METRICS_OK;
    case CODE_429:
    case CODE_503:
        return METRICS_REFUSED;
    case CODE_504:
        return METRICS_LATE;
    case CODE_499:
        return METRICS_GONE;
    case CODE_500:
    case CODE_501:
    case CODE_505:
    case CODE_OTHER:
        return METRICS_FAILED;
    default:
        return METRICS_BAD;
    }
}

static bool is_current(const struct metrics *metrics, int model, const _Atomic uint32_t *era) {
    return atomic_load_explicit(era, memory_order_acquire) ==
           atomic_load_explicit(&metrics->eras[model], memory_order_relaxed);
}

static void add_requests(const struct request_counts *counts, struct metrics_totals *out) {
    for (int code = 0; code < CODE_COUNT; code++)
        for (int reason = 0; reason < REASON_COUNT; reason++)
            out->outcomes[outcome_of((enum code)code)] +=
                atomic_load_explicit(&counts->requests[code][reason], memory_order_relaxed);
}

static void add_model(const struct metrics *metrics, const struct metrics_shard *shard, int model,
                      struct metrics_totals *out) {
    const struct model_counts *counts = &shard->models[model];
    for (int route = 0; route <= (int)ROUTE_LAST_PREDICTION; route++)
        if (is_current(metrics, model, &shard->requests[model][route].era))
            add_requests(&shard->requests[model][route], out);
    if (!is_current(metrics, model, &counts->era))
        return;
    histogram_collect(&counts->duration[CLASS_2XX], &out->duration);
    histogram_collect(&counts->queue_delay, &out->queue_delay);
    histogram_collect(&counts->batch_rows, &out->batch_rows);
    histogram_collect(&counts->batch_compute, &out->batch_compute);
}

void metrics_totals_read(struct metrics *metrics, struct metrics_totals *out) {
    *out = (struct metrics_totals){
        .duration = {.bounds = metrics_duration_bounds, .bound_count = DURATION_BOUNDS},
        .queue_delay = {.bounds = metrics_delay_bounds, .bound_count = DELAY_BOUNDS},
        .batch_rows = {.bounds = metrics_rows_bounds, .bound_count = ROWS_BOUNDS},
        .batch_compute = {.bounds = metrics_delay_bounds, .bound_count = DELAY_BOUNDS},
    };
    pthread_mutex_lock(&metrics->naming);
    for (int s = 0; s < metrics->shard_count; s++) {
        const struct metrics_shard *shard = metrics->shards[s];
        for (int model = 0; model < MODEL_FIRST + metrics->model_count; model++)
            add_model(metrics, shard, model, out);
        add_model(metrics, shard, MODEL_OTHER, out);
        out->good_rows += atomic_load_explicit(&shard->good_rows, memory_order_relaxed);
        out->wasted_rows += atomic_load_explicit(&shard->wasted_rows, memory_order_relaxed);
    }
    pthread_mutex_unlock(&metrics->naming);
}

void metrics_totals_subtract(struct metrics_totals *totals, const struct metrics_totals *before) {
    for (int i = 0; i < METRICS_OUTCOMES; i++)
        totals->outcomes[i] = totals->outcomes[i] > before->outcomes[i] ? totals->outcomes[i] - before->outcomes[i] : 0;
    totals->good_rows = totals->good_rows > before->good_rows ? totals->good_rows - before->good_rows : 0;
    totals->wasted_rows = totals->wasted_rows > before->wasted_rows ? totals->wasted_rows - before->wasted_rows : 0;
    histogram_subtract(&totals->duration, &before->duration);
    histogram_subtract(&totals->queue_delay, &before->queue_delay);
    histogram_subtract(&totals->batch_rows, &before->batch_rows);
    histogram_subtract(&totals->batch_compute, &before->batch_compute);
}
