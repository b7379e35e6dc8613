/* What the endpoints share: the engine below them and the state of the service around them. */
#ifndef WEIR_SERVER_API_API_H
#define WEIR_SERVER_API_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/catalog_admin.h"
#include "server/admit/admission.h"
#include "server/http/exchange.h"

struct access_log;
struct catalog;
struct engine;
struct listener_budget;
struct loop;
struct metrics;
struct statistics;
struct traces;
struct ui;
struct version;

enum { API_HEADERS_BYTES = 400, API_HEADERS_KEPT = 64 };

/* Owned by one loop. */
struct api_loop {
    bool submitted; /* jobs wait to be published at the end of the turn */
    struct {
        uint64_t serial; /* of the version */
        char text[API_HEADERS_BYTES];
    } headers[API_HEADERS_KEPT]; /* X-Weir-* lines of versions that answered, by their serial */
    double answer_ns;            /* how long all but one in a hundred answers take to encode and send */
};

struct api;

struct api {
    struct engine *engine;
    struct catalog *catalog;
    struct admission admission;
    struct metrics *metrics;
    struct statistics *statistics;
    struct access_log *access_log; /* NULL: none is kept */
    struct traces *traces;         /* NULL: there are none */
    struct ui *ui;                 /* NULL: there is no status page */
    struct listener_budget *connections;
    struct api_loop *loops; /* by loop index */
    _Atomic int64_t timeout_ns;
    _Atomic uint64_t max_body_bytes;
    _Atomic uint32_t max_request_rows;
    _Atomic int server_timing;  /* enum timing_mode */
    atomic_bool reload_refused; /* the last SIGHUP changed nothing */
    atomic_bool draining;       /* SIGTERM came: not ready, but serving */
    atomic_bool device_lost;
    _Atomic int64_t high_seen_ns; /* when a request of high priority last came */
    int64_t started_ns;
    double started_unix_s;
    _Atomic double configured_unix_s; /* when the configuration in force was read */
    uint32_t batch_size;
    bool triton_names; /* GPUs are told of by Triton's names too */
};

/* The handlers; their context is the api. */
extern const struct handler api_predict_handler;
extern const struct handler api_health_handler;
extern const struct handler api_live_handler;
extern const struct handler api_ready_handler;
extern const struct handler api_metrics_handler;
extern const struct handler api_root_handler;
extern const struct handler api_openapi_handler;
extern const struct handler api_model_predict_handler; /* the path names the model */

/* Paths and handlers of a family, up to the one without a path; their context is the api. */
struct api_route {
    const char *path;
    const struct handler *handler;
};
extern const struct api_route api_v1_routes[];
extern const struct api_route api_v2_routes[];
extern const struct api_route api_v2_statistics_routes[];
extern const struct handler api_root_ui_handler; /* / where there is a status page */
extern const struct api_route api_ui_routes[];
extern const struct api_route api_admin_routes[]; /* for the listener of admin_listen alone */

/* Why the service is not ready. None: it is ready. */
enum { API_MAX_OBSTACLES = 4, API_OBSTACLE_BYTES = 512 };
struct api_obstacles {
    const char *texts[API_MAX_OBSTACLES];
    int count;
    char model[API_OBSTACLE_BYTES];
};
void api_obstacles(struct api *api, struct api_obstacles *out);

/* The model that a path names; "" is the default one. Errors: NOT_FOUND. */
enum weir_status api_find_model(const struct api *api, const char *name, int *out, struct weir_error *err);

/* Is text, a version in a path, a decimal number? Errors: INVALID. */
enum weir_status api_check_number(const char *text, struct weir_error *err);

/* The X-Weir-Model, X-Weir-Version and X-Weir-Device lines for a version. thread: the loop's. */
const char *api_headers(struct api *api, struct loop *loop, const struct version *version);

/* Publishes what the loop's requests submitted in this turn. */
void api_end_of_turn(struct loop *loop, void *context);

#endif
