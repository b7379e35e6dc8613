/* The last 15 minutes, one point a second, for the status page: a ring whose memory is bounded and fills as time
 * passes. One thread adds, any thread reads; both hold its lock for moments. */
#ifndef WEIR_SERVER_OBSERVE_HISTORY_H
#define WEIR_SERVER_OBSERVE_HISTORY_H

#include <stdint.h>

#include "server/bytes.h"
#include "server/observe/metrics_totals.h"

struct history;

enum { HISTORY_POINTS = 15 * 60, HISTORY_BUCKETS = 12 };

/* X(name): the figures of a point, all of the interval that ends with it. Counts (ok to gone, batches, rows, wasted)
 * are not rates: divide by interval_ms. rows: computed for predictions, those for nothing
 * (wasted) included; samples and copies are not among them, though among the batches. */
/* clang-format off */
#define HISTORY_FIELD_LIST(X) \
    X(interval_ms) \
    X(ok) X(refused) X(late) X(bad) X(failed) X(gone) \
    X(p50_us) X(p95_us) X(p99_us) X(queue_p50_us) X(queue_p95_us) X(queue_p99_us) \
    X(batches) X(rows) X(wasted) \
    X(capacity)           /* rows a second that the devices could do in full batches */ \
    X(busy_permille)      /* of the time the devices were at work */ \
    X(gpu_permille)       /* the same as NVML tells */ \
    X(gpu_memory_mib) X(gpu_memory_total_mib) \
    X(cpu_permille)       /* of the process; 1000 is one processor */ \
    X(resident_kib) X(in_flight) X(queued_rows) X(connections)
/* clang-format on */

/* What is not known is HISTORY_UNKNOWN, never 0. */
#define HISTORY_UNKNOWN UINT32_MAX
struct history_point {
    int64_t unix_ms; /* its end */
#define HISTORY_FIELD(name) uint32_t name;
    HISTORY_FIELD_LIST(HISTORY_FIELD)
#undef HISTORY_FIELD
    uint32_t batch_rows[HISTORY_BUCKETS]; /* batches by their rows, in the buckets of history_bound */
};

/* The upper bound of a bucket in rows; 0: the last one has none. */
uint32_t history_bound(int bucket);

/* A figure as the ring keeps it; not finite or negative is HISTORY_UNKNOWN. */
uint32_t history_figure(double value);

/* Fills a point with what was counted in an interval. The other figures become HISTORY_UNKNOWN. */
void history_measure(const struct metrics_totals *counted, int64_t interval_ns, struct history_point *out);

/* NULL: no memory. Owner: the caller. */
struct history *history_create(void);
void history_destroy(struct history *history);

/* Adds a point. Returns its number, counted from 1. thread: one. */
uint64_t history_add(struct history *history, const struct history_point *point);

/* Appends the points after number `after` that are still kept, as one JSON object of columns:
 * {"seq":number of the last,"t":[unix ms, ...],"interval_ms":[...],...,"batch_rows":[[12 counts], ...]}, null for what
 * is not known. Returns the last one's number. thread: any. */
uint64_t history_write(struct history *history, uint64_t after, struct bytes *out);

#endif
