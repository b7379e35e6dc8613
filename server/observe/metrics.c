#include "server/observe/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "server/observe/metrics_shard.h"

const double metrics_duration_bounds[DURATION_BOUNDS] = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
};
const double metrics_delay_bounds[DELAY_BOUNDS] = {
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
    0.01,    0.025,    0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,
};
const double metrics_rows_bounds[ROWS_BOUNDS] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

struct metrics *metrics_create(int shards) {
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return NULL;
    pthread_mutex_init(&metrics->naming, NULL);
    for (int i = 0; i < MODEL_COUNT; i++)
        atomic_init(&metrics->eras[i], 1);
    metrics->shards = calloc((size_t)shards, sizeof *metrics->shards);
    for (int i = 0; metrics->shards && i < shards; i++) {
        metrics->shards[i] = calloc(1, sizeof *metrics->shards[i]);
        if (!metrics->shards[i])
            break;
        metrics->shards[i]->metrics = metrics;
        metrics->shard_count++;
    }
    if (metrics->shard_count < shards || !metrics->shards) {
        metrics_destroy(metrics);
        return NULL;
    }
    return metrics;
}

void metrics_destroy(struct metrics *metrics) {
    if (!metrics)
        return;
    for (int i = 0; i < metrics->shard_count; i++)
        free(metrics->shards[i]);
    free(metrics->shards);
    for (int i = 0; i < METRICS_MAX_MODELS; i++)
        free(metrics->names[i]);
    pthread_mutex_destroy(&metrics->naming);
    free(metrics);
}

struct metrics_shard *metrics_shard(struct metrics *metrics, int index) {
    return metrics->shards[index];
}

/* The place of a new pair: a fresh one while few are gone, else that of the one longest gone; -1: all are in use.
 * Called with the lock. */
static int find_room(const struct metrics *metrics) {
    int longest = -1, gone = 0;
    for (int i = 0; i < metrics->model_count; i++) {
        if (metrics->retired[i] == 0)
            continue;
        gone++;
        if (longest < 0 || metrics->retired[i] < metrics->retired[longest])
            longest = i;
    }
    return gone < METRICS_KEPT_GONE && metrics->model_count < METRICS_MAX_MODELS ? metrics->model_count : longest;
}

/* Called with the lock. */
static int find_or_add(struct metrics *metrics, const char *name, uint64_t version) {
    for (int i = 0; i < metrics->model_count; i++)
        if (metrics->versions[i] == version && strcmp(metrics->names[i], name) == 0)
            return i;
    int i = find_room(metrics);
    char *copy = i >= 0 ? strdup(name) : NULL;
    if (!copy)
        return -1;
    if (i < metrics->model_count)
        atomic_fetch_add_explicit(&metrics->eras[MODEL_FIRST + i], 1, memory_order_release);
    else
        metrics->model_count++;
    free(metrics->names[i]);
    metrics->names[i] = copy;
    metrics->versions[i] = version;
    return i;
}

int metrics_model(struct metrics *metrics, const char *name, uint64_t version) {
    pthread_mutex_lock(&metrics->naming);
    int i = find_or_add(metrics, name, version);
    if (i >= 0)
        metrics->retired[i] = 0;
    pthread_mutex_unlock(&metrics->naming);
    return i >= 0 ? MODEL_FIRST + i : MODEL_OTHER;
}

void metrics_retire(struct metrics *metrics, int model) {
    if (model < MODEL_FIRST || model >= MODEL_OTHER)
        return;
    pthread_mutex_lock(&metrics->naming);
    metrics->retired[model - MODEL_FIRST] = ++metrics->retirements;
    pthread_mutex_unlock(&metrics->naming);
}

/* Each counter has one writer: a load, an add and a store, no locked instruction. */
static void add(_Atomic uint64_t *counter, uint64_t n) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static double seconds(int64_t ns) {
    return ns > 0 ? (double)ns * 1e-9 : 0;
}

static enum code code_of(int code) {
    switch (code) {
#define CODE_CASE(number)                                                                                              \
    case number:                                                                                                       \
        return CODE_##number;
        CODE_LIST(CODE_CASE)
#undef CODE_CASE
    default:
        return CODE_OTHER;
    }
}

static uint32_t era_of(const struct metrics_shard *shard, int model) {
    return atomic_load_explicit(&shard->metrics->eras[model], memory_order_acquire);
}

static struct model_counts *counts_of(struct metrics_shard *shard, int model) {
    struct model_counts *counts = &shard->models[model];
    uint32_t era = era_of(shard, model);
    if (atomic_load_explicit(&counts->era, memory_order_relaxed) != era) {
        for (int i = 0; i < CLASS_COUNT; i++)
            histogram_init(&counts->duration[i], metrics_duration_bounds, DURATION_BOUNDS);
        histogram_init(&counts->parse, metrics_delay_bounds, DELAY_BOUNDS);
        histogram_init(&counts->encode, metrics_delay_bounds, DELAY_BOUNDS);
        histogram_init(&counts->queue_delay, metrics_delay_bounds, DELAY_BOUNDS);
        histogram_init(&counts->batch_rows, metrics_rows_bounds, ROWS_BOUNDS);
        histogram_init(&counts->batch_compute, metrics_delay_bounds, DELAY_BOUNDS);
        histogram_init(&counts->early, metrics_delay_bounds, DELAY_BOUNDS);
        histogram_init(&counts->late, metrics_delay_bounds, DELAY_BOUNDS);
        atomic_store_explicit(&counts->era, era, memory_order_release);
    }
    return counts;
}

static int class_of(int code) {
    int group = code / 100 - 2 + CLASS_2XX;
    return group < CLASS_2XX ? CLASS_2XX : group > CLASS_5XX ? CLASS_5XX : group;
}

void metrics_count_request(struct metrics_shard *shard, enum route route, int code, enum reason reason, int model,
                           int64_t duration_ns) {
    struct request_counts *counts = &shard->requests[model][(unsigned)route < ROUTE_COUNT ? route : ROUTE_OTHER];
    uint32_t era = era_of(shard, model);
    if (atomic_load_explicit(&counts->era, memory_order_relaxed) != era) {
        for (int i = 0; i < CODE_COUNT; i++)
            for (int k = 0; k < REASON_COUNT; k++)
                atomic_store_explicit(&counts->requests[i][k], 0, memory_order_relaxed);
        atomic_store_explicit(&counts->era, era, memory_order_release);
    }
    add(&counts->requests[code_of(code)][(unsigned)reason < REASON_COUNT ? reason : REASON_INTERNAL], 1);
    if ((int)route <= (int)ROUTE_LAST_PREDICTION)
        histogram_add(&counts_of(shard, model)->duration[class_of(code)], seconds(duration_ns));
}

void metrics_count_answer(struct metrics_shard *shard, int model, uint32_t rows, int64_t parse_ns, int64_t encode_ns) {
    struct model_counts *counts = counts_of(shard, model);
    histogram_add(&counts->parse, seconds(parse_ns));
    histogram_add(&counts->encode, seconds(encode_ns));
    add(&shard->good_rows, rows);
}

void metrics_count_queue_delay(struct metrics_shard *shard, int model, int64_t delay_ns) {
    histogram_add(&counts_of(shard, model)->queue_delay, seconds(delay_ns));
}

void metrics_count_estimate(struct metrics_shard *shard, int model, int64_t error_ns) {
    struct model_counts *counts = counts_of(shard, model);
    histogram_add(error_ns < 0 ? &counts->early : &counts->late, seconds(error_ns < 0 ? -error_ns : error_ns));
}

void metrics_count_batch(struct metrics_shard *shard, int model, uint32_t rows, int64_t compute_ns) {
    struct model_counts *counts = counts_of(shard, model);
    histogram_add(&counts->batch_rows, rows);
    histogram_add(&counts->batch_compute, seconds(compute_ns));
}

void metrics_count_connection(struct metrics_shard *shard, bool is_refused) {
    add(&shard->connections, 1);
    add(&shard->refused_connections, is_refused);
}

void metrics_count_wasted(struct metrics_shard *shard, uint32_t rows, int64_t compute_ns) {
    add(&shard->wasted_rows, rows);
    add(&shard->wasted_ns, compute_ns > 0 ? (uint64_t)compute_ns : 0);
}
