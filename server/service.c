/* The composition root: builds the service from its configuration, runs it, and takes it apart again. */
#include "server/service.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "engine/catalog.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "server/api/ui.h"
#include "server/engine_options.h"
#include "server/exit_code.h"
#include "server/observe/access_log.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/statistics.h"
#include "server/observe/traces.h"
#include "server/service_state.h"

enum { DESCRIPTOR_RESERVE = 128, OPS_CONNECTIONS = 64, ADMIN_CONNECTIONS = 16, DEFAULT_MAX_CONNECTIONS = 10000 };

/* Raises the soft descriptor limit to the hard one and returns how many connections fit below it. */
static uint32_t connection_limit(int64_t configured) {
    struct rlimit limit;
    uint64_t descriptors = 1024;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
        descriptors = limit.rlim_cur == RLIM_INFINITY ? UINT32_MAX : limit.rlim_cur;
    }
    uint64_t room = descriptors > 2 * DESCRIPTOR_RESERVE ? descriptors - DESCRIPTOR_RESERVE : descriptors / 2;
    uint64_t wanted = configured > 0 ? (uint64_t)configured : DEFAULT_MAX_CONNECTIONS;
    if (configured > 0 && wanted > room)
        log_event(LOG_WARN, "max_connections_cut", "configured=%llu limit=%llu", (unsigned long long)wanted,
                  (unsigned long long)room);
    return (uint32_t)(wanted < room ? wanted : room);
}

static void batch_ran(void *context, int device, const struct version *version, const struct observer_batch *batch) {
    struct service *service = context;
    metrics_count_batch(metrics_shard(service->metrics, service->loop_count + device), engine_describe(version).tag,
                        batch->rows, batch->compute_ns);
    if (batch->status == WEIR_OK && batch->asked_rows > 0)
        statistics_add_batch(service->api.statistics, engine_describe(version).tag, batch->asked_rows,
                             &(struct statistics_batch){.input_ns = (uint64_t)batch->input_ns,
                                                        .infer_ns = (uint64_t)batch->infer_ns,
                                                        .output_ns = (uint64_t)batch->output_ns});
    if (batch->status != WEIR_OK) {
        static struct log_site site;
        log_event_limited(&site, clock_now_ns(), LOG_ERROR, "batch_failed", "device=%d rows=%u status=\"%s\"", device,
                          batch->rows, weir_status_text(batch->status));
    }
}

static void jobs_done(void *context) {
    struct service *service = context;
    for (int i = 0; i < service->loop_count; i++)
        mailbox_wake(&service->loops[i].mailbox);
}

static void version_retired(void *context) {
    struct service *service = context;
    if (service->catalog)
        catalog_wake(service->catalog);
}

static void device_lost(void *context, int device, const char *reason) {
    struct service *service = context;
    char quoted[256];
    log_event(LOG_ERROR, "device_lost", "device=%d reason=%s", device, log_quote(reason, quoted, sizeof quoted));
    if (!atomic_exchange(&service->api.device_lost, true)) /* a second signal would cut the drain short */
        kill(getpid(), SIGTERM);
}

static enum weir_status open_engine(struct service *service, struct weir_error *err) {
    const struct config *config = service->config;
    struct engine_options options = engine_options_of(config);
    options.observer = (struct observer){.context = service,
                                         .batch_ran = batch_ran,
                                         .jobs_done = jobs_done,
                                         .version_retired = version_retired,
                                         .device_lost = device_lost};
    if (!service_begin_opening(service))
        return weir_fail(err, WEIR_NO_MEMORY, "cannot start a thread");
    enum weir_status status = engine_open(&options, &service->engine, err);
    service_end_opening(service);
    if (status != WEIR_OK)
        return err->status = engine_options_blame(status);
    struct engine_status engine;
    char reason[700], description[200];
    engine_status(service->engine, &engine);
    log_event(engine.device_fell_back ? LOG_WARN : LOG_INFO, engine.device_fell_back ? "device_fallback" : "device",
              "device=%s count=%d reason=%s description=%s", engine.device, engine.device_count,
              log_quote(engine.device_reason, reason, sizeof reason),
              log_quote(engine.device_description, description, sizeof description));
    if (service->api.access_log)
        access_log_set_device(service->api.access_log, engine.device);
    if (service->api.traces)
        traces_set_device(service->api.traces, engine.device);
    if (engine.cpu_threads < (int)config->cpu_threads)
        log_event(LOG_WARN, "cpu_threads_cut", "configured=%d available=%d", (int)config->cpu_threads,
                  engine.cpu_threads);
    return WEIR_OK;
}

static enum weir_status open_access_log(struct service *service, struct weir_error *err) {
    const struct config *config = service->config;
    struct access_log_options options = {.path = config->access_log,
                                         .lanes = (int)config->workers,
                                         .format = service_access_format(config),
                                         .percent = (uint32_t)config->access_log_sample};
    return config->access_log ? access_log_open(&options, &service->api.access_log, err) : WEIR_OK;
}

static enum weir_status open_traces(struct service *service, struct weir_error *err) {
    const struct config *config = service->config;
    struct traces_options options = {.endpoint = config->traces_endpoint,
                                     .service = config->traces_service,
                                     .lanes = (int)config->workers,
                                     .percent = (uint32_t)config->traces_sample};
    return config->traces_endpoint ? traces_open(&options, &service->api.traces, err) : WEIR_OK;
}

/* Opens metrics and loops; their threads do not run yet. */
static enum weir_status open_loops(struct service *service, struct weir_error *err) {
    int count = (int)service->config->workers;
    service->metrics = metrics_create(count + (int)service->config->gpu_count);
    service->api.statistics = statistics_create(METRICS_TAGS, (uint32_t)service->config->batch_size);
    service->loops = calloc((size_t)count, sizeof *service->loops);
    service->api.loops = calloc((size_t)count, sizeof *service->api.loops);
    if (!service->metrics || !service->api.statistics || !service->loops || !service->api.loops)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %d event loops", count);
    for (int i = 0; i < count; i++) {
        struct loop *loop = &service->loops[i];
        enum weir_status status = loop_open(loop, i, err);
        if (status != WEIR_OK)
            return status;
        service->loop_count = i + 1;
        loop->metrics = metrics_shard(service->metrics, i);
        loop->access = service->api.access_log ? access_log_lane(service->api.access_log, i) : NULL;
        loop->traces = service->api.traces ? traces_lane(service->api.traces, i) : NULL;
        loop->end_of_turn = api_end_of_turn;
        loop->end_of_turn_context = &service->api;
        service_loop_options(service->config, &loop->options);
    }
    return WEIR_OK;
}

static void add_route(struct service *service, const char *path, const struct handler *handler, unsigned sets) {
    router_add(&service->router,
               &(struct router_entry){.path = path, .handler = handler, .context = &service->api, .sets = sets});
}

static void add_routes_of(struct service *service, const struct api_route *routes, unsigned sets) {
    for (const struct api_route *route = routes; route->path; route++)
        add_route(service, route->path, route->handler, sets);
}

static void add_routes(struct service *service) {
    const char *health = service->config->health_path;
    snprintf(service->live_path, sizeof service->live_path, "%s/live", health);
    snprintf(service->ready_path, sizeof service->ready_path, "%s/ready", health);
    add_route(service, "/predict", &api_predict_handler, ROUTE_SET_DATA);
    add_route(service, "/models/{model}/predict", &api_model_predict_handler, ROUTE_SET_DATA);
    add_route(service, health, &api_health_handler, ROUTE_SET_OPS);
    add_route(service, service->live_path, &api_live_handler, ROUTE_SET_OPS);
    add_route(service, service->ready_path, &api_ready_handler, ROUTE_SET_OPS);
    add_route(service, "/metrics", &api_metrics_handler, ROUTE_SET_OPS);
    if (service->config->ui) { /* "/" leads to the page where it is */
        add_route(service, "/", &api_root_ui_handler, ROUTE_SET_OPS);
        add_routes_of(service, api_ui_routes, ROUTE_SET_OPS);
    }
    add_route(service, "/", &api_root_handler, ROUTE_SET_DATA | ROUTE_SET_OPS);
    add_route(service, "/openapi.json", &api_openapi_handler, ROUTE_SET_DATA);
    add_routes_of(service, api_v1_routes, ROUTE_SET_DATA);
    /* The statistics' "/v2/models/stats" comes before "/v2/models/{model}". */
    add_routes_of(service, api_v2_statistics_routes, ROUTE_SET_DATA);
    add_routes_of(service, api_v2_routes, ROUTE_SET_DATA);
    add_routes_of(service, api_admin_routes, ROUTE_SET_ADMIN);
}

/* Binds the data listener and, where they have ports of their own, those of ops and admin. */
static enum weir_status open_listeners(struct service *service, struct weir_error *err) {
    const struct config *config = service->config;
    bool split = config->ops_port > 0;
    const char *admin = config->admin_listen, *colon = admin ? strrchr(admin, ':') : NULL;
    char admin_host[64] = "";
    if (colon)
        snprintf(admin_host, sizeof admin_host, "%.*s", (int)(colon - admin), admin);
    struct {
        const char *name, *host;
        int64_t port;
        unsigned sets;
        struct listener_budget *budget;
        bool wanted;
    } all[] = {
        {"data", config->host, config->port, split ? ROUTE_SET_DATA : ROUTE_SET_DATA | ROUTE_SET_OPS,
         &service->connections, true},
        {"ops", config->host, config->ops_port, ROUTE_SET_OPS, &service->ops_connections, split},
        {"admin", admin_host, colon ? atoi(colon + 1) : 0, ROUTE_SET_ADMIN, &service->admin_connections, colon != NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct listener_options options = {.host = all[i].host,
                                           .port = (int)all[i].port,
                                           .loops = service->loops,
                                           .loop_count = service->loop_count,
                                           .router = &service->router,
                                           .route_sets = all[i].sets,
                                           .budget = all[i].budget};
        if (!all[i].wanted)
            continue;
        enum weir_status status = listener_open(&service->listeners[service->listener_count], &options, err);
        if (status != WEIR_OK)
            return status;
        service->listener_names[service->listener_count++] = all[i].name;
    }
    return WEIR_OK;
}

static enum weir_status start(struct service *service, struct weir_error *err) {
    for (int i = 0; i < service->listener_count; i++) {
        enum weir_status status = listener_start(&service->listeners[i], err);
        if (status != WEIR_OK)
            return status;
    }
    for (int i = 0; i < service->loop_count; i++) {
        enum weir_status status = loop_start(&service->loops[i], err);
        if (status != WEIR_OK)
            return status;
    }
    for (int i = 0; i < service->listener_count; i++)
        log_event(LOG_INFO, "listening", "listener=%s address=%s", service->listener_names[i],
                  service->listeners[i].address);
    return WEIR_OK;
}

static int exit_code_of(enum weir_status status) {
    switch (status) {
    case WEIR_OK:
        return EXIT_CODE_DONE;
    case WEIR_DEVICE:
    case WEIR_DEVICE_LOST:
        return EXIT_CODE_DEVICE;
    case WEIR_IO:
    case WEIR_INVALID:
        return EXIT_CODE_IO;
    default:
        return EXIT_CODE_INTERNAL;
    }
}

static void init(struct service *service, const struct config *config) {
    struct api *api = &service->api;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    service->connections.max = connection_limit(config->max_connections);
    service->ops_connections.max = OPS_CONNECTIONS;
    service->admin_connections.max = ADMIN_CONNECTIONS;
    admission_init(&api->admission, (uint32_t)config->max_concurrency, (uint64_t)config->max_inflight_body_bytes);
    atomic_init(&api->timeout_ns, config->timeout_ms * CLOCK_NS_PER_MS);
    atomic_init(&api->max_body_bytes, (uint64_t)config->max_body_bytes);
    atomic_init(&api->max_request_rows, (uint32_t)config->max_request_rows);
    atomic_init(&api->server_timing, (int)service_timing_mode(config));
    api->connections = &service->connections;
    api->started_unix_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    atomic_init(&api->configured_unix_s, api->started_unix_s);
    api->batch_size = (uint32_t)config->batch_size;
    api->triton_names = config->metrics_triton_names != 0;
}

static enum weir_status build(struct service *service, struct weir_error *err) {
    enum weir_status status = open_access_log(service, err);
    if (status == WEIR_OK)
        status = open_traces(service, err);
    if (status == WEIR_OK)
        status = open_loops(service, err);
    if (status != WEIR_OK)
        return status;
    service->api.metrics = service->metrics;
    if (service->config->ui)
        status = ui_create(&service->api, service->loops, service->loop_count, &service->api.ui, err);
    if (status != WEIR_OK)
        return status;
    service_tell_config(service, service->config);
    add_routes(service);
    status = open_listeners(service, err);
    if (status != WEIR_OK)
        return status;
    status = open_engine(service, err);
    service->api.engine = service->engine;
    return status == WEIR_OK ? service_open_models(service, err) : status;
}

/* Ends the loops' threads, then closes what they left open, then the engine, whose last jobs find their way home. */
static void take_apart(struct service *service) {
    service_stop_loops(service);
    for (int i = 0; i < service->listener_count; i++)
        listener_close(&service->listeners[i]);
    if (service->engine)
        engine_drain(service->engine);
    for (int i = 0; i < service->loop_count; i++)
        mailbox_deliver(&service->loops[i].mailbox); /* connections on their way, among others */
    for (int i = 0; i < service->loop_count; i++)
        while (service->loops[i].conns)
            conn_close(service->loops[i].conns);
    if (service->engine)
        engine_stop(service->engine);
    for (int i = 0; i < service->loop_count; i++)
        mailbox_deliver(&service->loops[i].mailbox);
    catalog_close(service->catalog);
    engine_close(service->engine);
    for (int i = 0; i < service->loop_count; i++)
        loop_close(&service->loops[i]);
    traces_close(service->api.traces);
    access_log_close(service->api.access_log);
    metrics_destroy(service->metrics);
    statistics_destroy(service->api.statistics);
    ui_destroy(service->api.ui);
    free(service->loops);
    free(service->api.loops);
}

/* The weights of a version go back to the system when they are freed. By itself the C library learns from the first
 * ones to keep the next. */
static void return_large_blocks(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

int service_run(const struct config *config, const struct config_sources *sources) {
    struct service service = {.config = config, .sources = sources, .api.started_ns = clock_now_ns()};
    struct weir_error err;
    signal(SIGPIPE, SIG_IGN);
    return_large_blocks();
    signal(SIGXFSZ, SIG_IGN); /* a log or a state file at the limit of file sizes is an error like a full disk */
    log_set_level((enum log_level)config->log_level);
    if (!service_open_signals(&service)) {
        log_event(LOG_ERROR, "start_failed", "error=\"cannot take signals\"");
        return EXIT_CODE_INTERNAL;
    }
    init(&service, config);
    log_event(LOG_INFO, "starting", "version=%s pid=%d", WEIR_VERSION, (int)getpid());
    int code = exit_code_of(build(&service, &err));
    if (code == EXIT_CODE_DONE)
        code = exit_code_of(start(&service, &err));
    if (code == EXIT_CODE_DONE)
        code = exit_code_of(service_start_loading(&service, &err));
    if (code == EXIT_CODE_DONE)
        code = exit_code_of(service_start_ui(&service, &err));
    if (code == EXIT_CODE_DONE) {
        service_wait(&service);
        code = atomic_load(&service.api.device_lost) ? EXIT_CODE_DEVICE_LOST
               : service.loader_ended                ? service.load_code
                                                     : EXIT_CODE_DONE;
        if (service.loader_ended)
            err = service.load_error;
        bool is_loading = !catalog_stop(service.catalog, false);
        if (is_loading || service.abandons_batch) {
            traces_stop(service.api.traces);
            access_log_stop(service.api.access_log);
            log_event(LOG_INFO, "stopped", "code=%d while=%s", code, is_loading ? "loading" : "computing");
            return code | EXIT_AT_ONCE; /* a thread still runs: nothing can be taken apart */
        }
    }
    if (code != EXIT_CODE_DONE && code != EXIT_CODE_DEVICE_LOST) {
        char quoted[700];
        log_event(LOG_ERROR, "start_failed", "error=%s", log_quote(err.text, quoted, sizeof quoted));
    }
    take_apart(&service);
    service_close_signals(&service);
    log_event(LOG_INFO, "stopped", "code=%d", code);
    return code;
}
