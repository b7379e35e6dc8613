/* What happened to the requests, and the report about it. */
#ifndef WEIR_LOADTEST_LOAD_STATS_H
#define WEIR_LOADTEST_LOAD_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/load_options.h"

/* Latencies in buckets of 1/1024 of their size; the largest is kept exactly. */
enum { LATENCY_PRECISION_BITS = 10, LATENCY_BUCKETS = 40 << LATENCY_PRECISION_BITS };

struct latency {
    uint64_t count;
    int64_t max_ns;
    double sum_ns;
    uint32_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, int64_t ns);
void latency_merge(struct latency *into, const struct latency *from);

/* The smallest latency that `share` (0 to 1) of all do not exceed; 0 if there are none. */
double latency_quantile_ns(const struct latency *latency, double share);

enum load_class { LOAD_CLASS_OK, LOAD_CLASS_REFUSED, LOAD_CLASS_LATE, LOAD_CLASS_OTHER, LOAD_CLASS_COUNT };

/* X(name, text) */
#define LOAD_ERROR_LIST(X)                                                                                             \
    X(CONNECT, "connect")                                                                                              \
    X(RESET, "reset")                                                                                                  \
    X(CLOSED, "closed")                                                                                                \
    X(SHORT, "short")                                                                                                  \
    X(MALFORMED, "malformed")

enum load_error {
#define LOAD_ERROR_ENUM(name, text) LOAD_ERROR_##name,
    LOAD_ERROR_LIST(LOAD_ERROR_ENUM)
#undef LOAD_ERROR_ENUM
        LOAD_ERROR_COUNT
};

/* A request is measured when it was due in the measured time, from begin_ns to end_ns. Of these
 * planned = sent + unsent_late, and sent = answered + errors + unanswered. */
struct load_stats {
    int64_t begin_ns, end_ns;
    uint64_t planned, sent, unsent_late, answered, good, unanswered;
    uint64_t errors[LOAD_ERROR_COUNT];
    uint64_t errors_outside; /* of requests that are not measured */
    uint64_t codes[600];
    uint64_t connections_opened;
    struct latency classes[LOAD_CLASS_COUNT];
    struct latency send_lag; /* from when a request was due to its first byte handed over, or to the connect */

    /* What is compared with CPU times: the answers between two readings of the clocks. */
    int64_t window_begin_ns, window_end_ns;
    uint64_t window_answers;
    int64_t own_cpu_ns, watched_cpu_ns; /* -1: could not be read */
};

bool load_stats_measures(const struct load_stats *stats, int64_t due_ns);
void load_stats_answer(struct load_stats *stats, int status, int64_t due_ns, int64_t now_ns, double deadline_ms);
void load_stats_error(struct load_stats *stats, enum load_error error, int64_t due_ns);

/* The window's two ends: notes the clocks, and how far they went. */
void load_stats_open_window(struct load_stats *stats, int watch_pid);
void load_stats_close_window(struct load_stats *stats, int watch_pid);

/* Prints the JSON object. */
void load_stats_print(const struct load_stats *stats, const struct load_options *options);

#endif
