#include "server/observe/history.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "server/observe/metrics_shard.h"

_Static_assert(HISTORY_BUCKETS == ROWS_BOUNDS + 1, "a point has a count for each bucket of batch_rows");

struct history {
    pthread_mutex_t lock;
    uint64_t count; /* points that were ever added */
    struct history_point points[HISTORY_POINTS];
};

static const struct {
    const char *name;
    size_t offset;
} fields[] = {
#define FIELD(name) {#name, offsetof(struct history_point, name)},
    HISTORY_FIELD_LIST(FIELD)
#undef FIELD
};

uint32_t history_bound(int bucket) {
    return bucket < ROWS_BOUNDS ? (uint32_t)metrics_rows_bounds[bucket] : 0;
}

uint32_t history_figure(double value) {
    if (!isfinite(value) || value < 0)
        return HISTORY_UNKNOWN;
    return value < (double)HISTORY_UNKNOWN - 1 ? (uint32_t)(value + 0.5) : HISTORY_UNKNOWN - 1;
}

void history_measure(const struct metrics_totals *counted, int64_t interval_ns, struct history_point *out) {
    *out = (struct history_point){.unix_ms = 0};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        *(uint32_t *)(void *)((char *)out + fields[i].offset) = HISTORY_UNKNOWN;
    const uint64_t *outcomes = counted->outcomes;
    out->interval_ms = history_figure((double)interval_ns / 1e6);
    out->ok = history_figure((double)outcomes[METRICS_OK]);
    out->refused = history_figure((double)outcomes[METRICS_REFUSED]);
    out->late = history_figure((double)outcomes[METRICS_LATE]);
    out->bad = history_figure((double)outcomes[METRICS_BAD]);
    out->failed = history_figure((double)outcomes[METRICS_FAILED]);
    out->gone = history_figure((double)outcomes[METRICS_GONE]);
    out->p50_us = history_figure(histogram_quantile(&counted->duration, 0.5) * 1e6);
    out->p95_us = history_figure(histogram_quantile(&counted->duration, 0.95) * 1e6);
    out->p99_us = history_figure(histogram_quantile(&counted->duration, 0.99) * 1e6);
    out->queue_p50_us = history_figure(histogram_quantile(&counted->queue_delay, 0.5) * 1e6);
    out->queue_p95_us = history_figure(histogram_quantile(&counted->queue_delay, 0.95) * 1e6);
    out->queue_p99_us = history_figure(histogram_quantile(&counted->queue_delay, 0.99) * 1e6);
    out->rows = history_figure((double)(counted->good_rows + counted->wasted_rows));
    out->wasted = history_figure((double)counted->wasted_rows);
    out->batches = 0;
    for (int i = 0; i < HISTORY_BUCKETS; i++) {
        out->batch_rows[i] = history_figure((double)counted->batch_rows.buckets[i]);
        out->batches += out->batch_rows[i];
    }
}

struct history *history_create(void) {
    struct history *history = calloc(1, sizeof *history);
    if (history)
        pthread_mutex_init(&history->lock, NULL);
    return history;
}

void history_destroy(struct history *history) {
    if (!history)
        return;
    pthread_mutex_destroy(&history->lock);
    free(history);
}

uint64_t history_add(struct history *history, const struct history_point *point) {
    pthread_mutex_lock(&history->lock);
    history->points[history->count % HISTORY_POINTS] = *point;
    uint64_t number = ++history->count;
    pthread_mutex_unlock(&history->lock);
    return number;
}

static void put_figure(struct bytes *out, uint32_t value) {
    if (value == HISTORY_UNKNOWN)
        bytes_append(out, "null", 4);
    else
        bytes_number(out, value);
}

static void put_column(struct bytes *out, const struct history *history, uint64_t first, size_t field) {
    bytes_text(out, ",\"");
    bytes_text(out, fields[field].name);
    bytes_text(out, "\":[");
    for (uint64_t i = first; i < history->count; i++) {
        const struct history_point *point = &history->points[i % HISTORY_POINTS];
        bytes_append(out, ",", i > first);
        put_figure(out, *(const uint32_t *)(const void *)((const char *)point + fields[field].offset));
    }
    bytes_append(out, "]", 1);
}

uint64_t history_write(struct history *history, uint64_t after, struct bytes *out) {
    pthread_mutex_lock(&history->lock);
    uint64_t count = history->count, first = count > HISTORY_POINTS ? count - HISTORY_POINTS : 0;
    if (after > first)
        first = after < count ? after : count;
    bytes_printf(out, "{\"seq\":%" PRIu64 ",\"t\":[", count);
    for (uint64_t i = first; i < count; i++) {
        bytes_append(out, ",", i > first);
        bytes_number(out, (uint64_t)history->points[i % HISTORY_POINTS].unix_ms);
    }
    bytes_append(out, "]", 1);
    for (size_t field = 0; field < sizeof fields / sizeof fields[0]; field++)
        put_column(out, history, first, field);
    bytes_text(out, ",\"batch_rows\":[");
    for (uint64_t i = first; i < count; i++) {
        for (int k = 0; k < HISTORY_BUCKETS; k++) {
            bytes_text(out, k > 0 ? "," : i > first ? ",[" : "[");
            put_figure(out, history->points[i % HISTORY_POINTS].batch_rows[k]);
        }
        bytes_append(out, "]", 1);
    }
    bytes_append(out, "]}", 2);
    pthread_mutex_unlock(&history->lock);
    return count;
}
