/* How the counters lie in memory. Private to the metrics files. */
#ifndef WEIR_SERVER_OBSERVE_METRICS_SHARD_H
#define WEIR_SERVER_OBSERVE_METRICS_SHARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/observe/histogram.h"
#include "server/observe/labels.h"
#include "server/observe/metrics.h"

/* The codes that have a series of their own. 499 is never sent: the client was gone before its answer. */
#define CODE_LIST(X)                                                                                                   \
    X(200)                                                                                                             \
    X(204)                                                                                                             \
    X(302)                                                                                                             \
    X(400)                                                                                                             \
    X(403)                                                                                                             \
    X(404)                                                                                                             \
    X(405)                                                                                                             \
    X(408)                                                                                                             \
    X(409)                                                                                                             \
    X(413)                                                                                                             \
    X(414)                                                                                                             \
    X(415)                                                                                                             \
    X(417)                                                                                                             \
    X(429)                                                                                                             \
    X(431)                                                                                                             \
    X(499)                                                                                                             \
    X(500)                                                                                                             \
    X(501)                                                                                                             \
    X(503)                                                                                                             \
    X(504)                                                                                                             \
    X(505)

enum code {
#define CODE_ENUM(code) CODE_##code,
    CODE_LIST(CODE_ENUM)
#undef CODE_ENUM
        CODE_OTHER,
    CODE_COUNT
};

/* Durations of predictions are kept apart by the first digit of the code, so that quick refusals do not flatter the
 * slow answers. */
enum { CLASS_2XX, CLASS_3XX, CLASS_4XX, CLASS_5XX, CLASS_COUNT };

enum {
    MODEL_NONE,                                     /* requests that concern no model */
    MODEL_FIRST,                                    /* the pairs of name and version */
    MODEL_OTHER = MODEL_FIRST + METRICS_MAX_MODELS, /* those for which there was no room */
    MODEL_COUNT,
};

/* era: set by the writer once the counts are empty and ready. They count for nothing unless it is the model's. */
struct request_counts {
    _Atomic uint32_t era;
    _Atomic uint64_t requests[CODE_COUNT][REASON_COUNT];
};

struct model_counts {
    _Atomic uint32_t era;
    struct histogram duration[CLASS_COUNT], parse, queue_delay, encode, batch_rows, batch_compute, early, late;
};

/* Large, and touched only where something was counted. */
struct metrics_shard {
    struct metrics *metrics;
    _Atomic uint64_t connections, refused_connections;
    _Atomic uint64_t good_rows, wasted_rows, wasted_ns;
    struct model_counts models[MODEL_COUNT];
    struct request_counts requests[MODEL_COUNT][ROUTE_COUNT];
};

struct metrics {
    int shard_count;
    struct metrics_shard **shards;
    _Atomic uint32_t eras[MODEL_COUNT]; /* from 1; grows when a pair makes room for another */
    pthread_mutex_t naming;             /* guards what follows; the eras grow under it */
    int model_count;
    char *names[METRICS_MAX_MODELS];
    uint64_t versions[METRICS_MAX_MODELS];
    uint64_t retired[METRICS_MAX_MODELS], retirements; /* which retirement it was, counted from 1; 0: in use */
};

enum { DURATION_BOUNDS = 17, DELAY_BOUNDS = 18, ROWS_BOUNDS = 11 };
extern const double metrics_duration_bounds[DURATION_BOUNDS];
extern const double metrics_delay_bounds[DELAY_BOUNDS]; /* queue delay and batch time */
extern const double metrics_rows_bounds[ROWS_BOUNDS];

#endif
