/* What service.c builds, service_models.c fills and service_life.c runs: private to these. */
#ifndef WEIR_SERVER_SERVICE_STATE_H
#define WEIR_SERVER_SERVICE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "server/api/api.h"
#include "server/api/timing.h"
#include "server/http/conn.h"
#include "server/http/listener.h"
#include "server/http/loop.h"
#include "server/http/router.h"
#include "server/observe/access_log.h"

struct event;
struct event_base;

enum { SERVICE_MAX_LISTENERS = 3, SERVICE_PATH_BYTES = 160 };

enum service_phase {
    SERVICE_RUNNING,
    SERVICE_LEAVING,  /* SIGTERM came: not ready, but still serving for drain_delay_ms */
    SERVICE_DRAINING, /* no new connections; what is owed is still answered */
    SERVICE_ENDED,
};

struct service {
    const struct config *config; /* as started; a reload changes the copies of it */
    const struct config_sources *sources;
    struct engine *engine;
    struct metrics *metrics;
    struct api api;
    struct loop *loops;
    int loop_count;
    struct router router;
    struct listener listeners[SERVICE_MAX_LISTENERS];
    const char *listener_names[SERVICE_MAX_LISTENERS];
    int listener_count;
    struct listener_budget connections;
    struct listener_budget ops_connections; /* of the ops port: clients of the data port cannot use them up */
    struct listener_budget admin_connections;
    char live_path[SERVICE_PATH_BYTES];
    char ready_path[SERVICE_PATH_BYTES];
    struct catalog *catalog;

    /* The first look at the models, whose end the main thread hears through an eventfd. */
    bool loader_ended;
    int load_code;                /* valid once it is over */
    struct weir_error load_error; /* likewise */
    struct event *load_event;
    int load_fd;

    /* The main thread's own loop. */
    struct event_base *base;
    struct event *signal_event;
    struct event *timer;
    struct event *watchdog;
    struct event *ui_timer;
    int signal_fd;
    int opened_fd;         /* becomes readable when the devices are open */
    int opening_signal_fd; /* SIGTERM and SIGINT until then */
    pthread_t opening;
    enum service_phase phase;
    int64_t drain_delay_ns;
    int64_t drain_timeout_ns;
    int64_t drain_began_ns;
    bool stuck;          /* a batch has run for too long, and was complained of */
    bool gives_up;       /* the drain took too long: requests were answered without their results */
    bool abandons_batch; /* the end does not wait for what runs on a device */
};

/* The connections' limits as the configuration has them. */
void service_loop_options(const struct config *config, struct loop_options *out);

/* Its format, as the access log has it. */
enum access_format service_access_format(const struct config *config);
enum timing_mode service_timing_mode(const struct config *config);

/* Takes SIGTERM, SIGINT, SIGHUP and SIGUSR1 away from the process (before any thread starts) and makes the main loop
 * hear them.
 */
bool service_open_signals(struct service *service);
void service_close_signals(struct service *service);

/* server/service_models.c: opens the catalog as the configuration says. Errors: INVALID, IO, NO_MEMORY. */
enum weir_status service_open_models(struct service *service, struct weir_error *err) WEIR_CHECKED;

/* Starts the loader's threads. Errors: NO_MEMORY. */
enum weir_status service_start_loading(struct service *service, struct weir_error *err) WEIR_CHECKED;

/* server/service_ui.c: begins to take the status page's points, if there is one. Errors: NO_MEMORY. */
enum weir_status service_start_ui(struct service *service, struct weir_error *err) WEIR_CHECKED;

/* Tells the status page the values that hold from now on. thread: main. */
void service_tell_config(struct service *service, const struct config *config);

/* From the one to the other SIGTERM and SIGINT end the process at once: there is no loop yet that hears them, and a
 * device that hangs is long in saying so. False: no memory. */
bool service_begin_opening(struct service *service);
void service_end_opening(struct service *service);

/* Runs the main loop until the service has drained or was cut short. thread: main. */
void service_wait(struct service *service);

/* Ends the loops' threads. */
void service_stop_loops(struct service *service);

#endif
