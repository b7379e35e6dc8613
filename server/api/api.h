/* What the endpoints share: the engine below them and the state of the service around them. */
#ifndef WEIR_SERVER_API_API_H
#define WEIR_SERVER_API_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/admit/admission.h"
#include "server/http/exchange.h"

struct engine;
struct listener_budget;
struct loop;
struct metrics;
struct version;

enum { API_HEADERS_BYTES = 400 };

/* Owned by one loop. */
struct api_loop {
    bool submitted; /* jobs wait to be published at the end of the turn */
    const struct version *headers_version;
    char headers[API_HEADERS_BYTES]; /* X-Weir-* lines of headers_version */
    double answer_ns;                /* how long all but one in a hundred answers take to encode and send */
    uint64_t random;                 /* for the jitter of Retry-After */
};

struct api {
    struct engine *engine;
    struct admission admission;
    struct metrics *metrics;
    struct listener_budget *connections;
    struct api_loop *loops; /* by loop index */
    _Atomic int64_t timeout_ns;
    _Atomic uint64_t max_body_bytes;
    _Atomic uint32_t max_request_rows;
    atomic_bool reload_refused; /* the last SIGHUP changed nothing */
    atomic_bool draining;       /* SIGTERM came: not ready, but serving */
    atomic_bool device_lost;
    _Atomic int64_t high_seen_ns; /* when a request of high priority last came */
    int64_t started_ns;
    double started_unix_s;
    uint32_t batch_size;
    _Atomic(const char *) not_ready; /* why no model is loaded */
};

/* The handlers; their context is the api. */
extern const struct handler api_predict_handler;
extern const struct handler api_health_handler;
extern const struct handler api_live_handler;
extern const struct handler api_ready_handler;
extern const struct handler api_metrics_handler;
extern const struct handler api_root_handler;

/* Why the service is not ready, at most `room` texts; returns how many. None: it is ready. */
int api_obstacles(struct api *api, const char **texts, int room);

/* The X-Weir-Model, X-Weir-Version and X-Weir-Device lines for a version. thread: the loop's. */
const char *api_headers(struct api *api, struct loop *loop, const struct version *version);

/* Publishes what the loop's requests submitted in this turn. */
void api_end_of_turn(struct loop *loop, void *context);

#endif
