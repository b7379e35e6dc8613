/* What happened to the requests, class by class. */
#ifndef WEIR_LOADTEST_LOAD_STATS_H
#define WEIR_LOADTEST_LOAD_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/load_answer.h"
#include "loadtest/load_histogram.h"
#include "loadtest/load_options.h"
#include "loadtest/load_watch.h"

enum load_outcome { LOAD_OUTCOME_OK, LOAD_OUTCOME_REFUSED, LOAD_OUTCOME_LATE, LOAD_OUTCOME_OTHER, LOAD_OUTCOME_COUNT };

/* X(name, text) */
#define LOAD_ERROR_LIST(X)                                                                                             \
    X(CONNECT, "connect")                                                                                              \
    X(RESET, "reset")                                                                                                  \
    X(CLOSED, "closed")                                                                                                \
    X(SHORT, "short")                                                                                                  \
    X(MALFORMED, "malformed")                                                                                          \
    X(GAVE_UP, "gave_up")

enum load_error {
#define LOAD_ERROR_ENUM(name, text) LOAD_ERROR_##name,
    LOAD_ERROR_LIST(LOAD_ERROR_ENUM)
#undef LOAD_ERROR_ENUM
        LOAD_ERROR_COUNT
};

enum { LOAD_REASONS = 32, LOAD_REASON_BYTES = 32 };

struct load_reason {
    char text[LOAD_REASON_BYTES];
    int status;
    uint64_t count;
};

/* A request is measured when it was due in the measured time, from begin_ns to end_ns. Of these
 * planned = sent + unsent_late, and sent = answered + errors + unanswered. */
struct load_tally {
    uint64_t planned, sent, unsent_late, answered, good, unanswered;
    uint64_t ok_late; /* a 200, but too late */
    uint64_t errors[LOAD_ERROR_COUNT];
    uint64_t codes[600];
    uint64_t numbers_right, numbers_wrong; /* answers whose rows were compared with the request's numbers */
    struct load_reason reasons[LOAD_REASONS];
    int reason_count;
    struct histogram outcomes[LOAD_OUTCOME_COUNT];
    struct histogram refused_from_send; /* the refusals once more, from the request's first byte handed over */
};

struct load_stats {
    int64_t begin_ns, end_ns;
    struct load_tally tallies[LOAD_CLASSES];
    uint64_t errors_outside; /* of requests that are not measured */
    uint64_t connections_opened;
    struct histogram send_lag; /* from when a request was due to its first byte handed over, or to the connect */

    /* What is compared with CPU times: the answers between two readings of the clocks. */
    int64_t window_begin_ns, window_end_ns;
    uint64_t window_answers;
    int64_t own_cpu_ns;
    struct watch watched;
};

/* A request and its answer. */
struct load_event {
    int class;
    int64_t due_ns, sent_ns, now_ns;
};

enum load_outcome load_outcome_of(int status);
bool load_stats_measures(const struct load_stats *stats, int64_t due_ns);

/* Returns whether it was good. */
bool load_stats_answer(struct load_stats *stats, const struct load_event *event, const struct load_answer *answer,
                       double deadline_ms);
void load_stats_error(struct load_stats *stats, enum load_error error, const struct load_event *event);

/* The window's two ends: notes the clocks, and how far they went. */
void load_stats_open_window(struct load_stats *stats, int watch_pid);
void load_stats_close_window(struct load_stats *stats, int watch_pid);

/* load_report.c: prints the JSON object; writes the distribution of the 200s' latencies, for several classes also one
 * file for each, with its name at the end. Returns NULL, or what is wrong. */
void load_stats_print(const struct load_stats *stats, const struct load_options *options);
const char *load_stats_write_percentiles(const struct load_stats *stats, const struct load_options *options);

#endif
