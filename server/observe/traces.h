/* Traces: the spans of sampled requests, sent to a collector by a thread of its own. A loop takes an entry from its
 * lane for a request that is sampled, has it filled while the request runs, and puts it into the lane's ring. A loop
 * never waits and allocates nothing: when the collector does not keep up and all entries are under way, requests go
 * untraced and are counted. */
#ifndef WEIR_SERVER_OBSERVE_TRACES_H
#define WEIR_SERVER_OBSERVE_TRACES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"
#include "server/observe/trace_entry.h"

struct traces;
struct trace_lane;

enum {
    TRACES_ENTRIES = 2048, /* of each lane: traced requests in progress, or not yet taken by the thread */
    TRACES_BATCH = 512,    /* most requests in one export */
    TRACES_STOP_MS = 1500, /* what the stop waits for the last export */
    TRACES_RETRIES = 3,    /* of one export, after answers 429, 502, 503, 504 or none */
};

struct traces_options {
    const char *endpoint; /* http://HOST[:PORT][/PATH]; without a path /v1/traces, without a port 4318 */
    const char *service;  /* service.name; both must outlive the traces */
    int lanes;            /* one for each loop */
    uint32_t percent;     /* of the predictions that come without a trace of their own */
    int64_t export_ns;    /* how long a trace waits for others to be sent with; 0: a second */
    int64_t limit_ns;     /* for one request to the collector; 0: ten seconds */
    int64_t back_off_ns;  /* before the first retry, then twice as long each time; 0: a second */
};

/* Starts the thread. Nobody asks here whether the collector is there. Errors: INVALID (endpoint), NO_MEMORY. Owner: the
 * service, by traces_close. */
enum weir_status traces_open(const struct traces_options *options, struct traces **out,
                             struct weir_error *err) WEIR_CHECKED;

/* Sends what is there, as far as that goes within TRACES_STOP_MS, and ends the thread. One that hangs beyond that is
 * left behind. Lanes may be used on, but nobody reads them any more. NULL is fine. */
void traces_stop(struct traces *traces);

/* traces_stop, and frees everything. No lane may be in use. NULL is fine. */
void traces_close(struct traces *traces);

/* From the next request on. thread: any. */
void traces_set(struct traces *traces, uint32_t percent);

/* The kind of device that spans name, "cpu" or "cuda": a text that stays. thread: any. */
void traces_set_device(struct traces *traces, const char *kind);

/* Traced requests that the collector took; that found no room here; that were given up after retries, or that the
 * collector refused. thread: any. */
struct traces_counts {
    uint64_t exported, dropped, failed;
    uint64_t rejected_spans; /* of those that were exported */
};
struct traces_counts traces_counts(const struct traces *traces);

/* The rest belongs to the thread whose lane it is. */
struct trace_lane *traces_lane(struct traces *traces, int index);

/* Is a request without a trace of its own one of the sample? By chance. */
bool traces_draw(struct trace_lane *lane);

/* An entry in which nothing is known; NULL if there is none left, which is counted. */
struct trace_entry *traces_begin(struct trace_lane *lane);

/* The request is over: hands its entry to the thread. */
void traces_end(struct trace_lane *lane, struct trace_entry *entry);

#endif
