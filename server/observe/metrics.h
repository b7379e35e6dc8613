/* Counters of the service in Prometheus' text form. Each thread writes its own shard without locks; a scrape sums them.
 * Label values come from the closed sets of labels.h and from the loaded models. */
#ifndef WEIR_SERVER_OBSERVE_METRICS_H
#define WEIR_SERVER_OBSERVE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/bytes.h"
#include "server/observe/labels.h"

struct metrics;
struct metrics_shard;

/* Pairs of model name and version that get series of their own at a time; more share the labels "other". Of those that
 * are gone the last few keep theirs, so that their last counts are seen, and memory does not grow with every reload. */
enum {
    METRICS_KEPT_GONE = 16,
    METRICS_MAX_MODELS = 128,
    METRICS_TAGS = METRICS_MAX_MODELS + 2
}; /* the latter: metrics_model is below it */

/* Values read at scrape time. */
struct metrics_gauges {
    const char *device; /* "cpu", "cuda" */
    const char *device_reason;
    const char *device_description;
    bool ready;
    uint64_t in_flight_requests;
    uint64_t queued_requests;
    uint64_t queued_rows;
    uint64_t body_bytes;
    uint64_t connections;
    uint64_t max_concurrency;
    uint64_t batch_size;
    bool reload_refused;
    bool device_fell_back;
    double configured_seconds;                                          /* Unix time of the configuration in force */
    double cost_base_seconds, cost_row_seconds, cost_deviation_seconds; /* what a batch is expected to take */
    double start_time_seconds;                                          /* Unix time of the process start */
};

/* shards: one per loop and one per device. Errors: NULL if memory ran out. Owner: the service. */
struct metrics *metrics_create(int shards);
void metrics_destroy(struct metrics *metrics);

/* The number under which requests and batches of this model and version count; the same until it is retired and has
 * made room. 0 is no model. thread: any. */
int metrics_model(struct metrics *metrics, const char *name, uint64_t version);

/* The version is gone: its series may make room for another's, those of the one longest gone first. Until then they
 * stay, and go on if it comes back. thread: any. */
void metrics_retire(struct metrics *metrics, int model);

/* The shard that thread number `index` alone writes to. */
struct metrics_shard *metrics_shard(struct metrics *metrics, int index);

/* One finished request; duration from its first byte to the last byte written, or to the moment its client was gone.
 * model: that it was answered by (or meant for), which gives it its labels. code 499: the client was gone and no answer
 * was sent. */
void metrics_count_request(struct metrics_shard *shard, enum route route, int code, enum reason reason, int model,
                           int64_t duration_ns);
/* One prediction that was answered with its results: its rows, the time from its first byte until it was in the queue,
 * and from its results until they were written as an answer, before it was sent. */
void metrics_count_answer(struct metrics_shard *shard, int model, uint32_t rows, int64_t parse_ns, int64_t encode_ns);
/* One job that reached the device: time it waited, from submission to its first batch. */
void metrics_count_queue_delay(struct metrics_shard *shard, int model, int64_t delay_ns);
/* One finished job: by how much it was done later (above 0) or earlier than admission expected. */
void metrics_count_estimate(struct metrics_shard *shard, int model, int64_t error_ns);
/* One batch that ran: its rows and how long it took on the device. */
void metrics_count_batch(struct metrics_shard *shard, int model, uint32_t rows, int64_t compute_ns);
void metrics_count_connection(struct metrics_shard *shard, bool is_refused);
/* A request whose answer was worked out for nothing, since it was late or the client was gone: its rows, and their
 * share of the computing of their batch. */
void metrics_count_wasted(struct metrics_shard *shard, uint32_t rows, int64_t compute_ns);

/* Appends the whole page, `text/plain; version=0.0.4`. thread: any. */
void metrics_render(struct metrics *metrics, const struct metrics_gauges *gauges, struct bytes *out);

#endif
