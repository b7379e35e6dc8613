/* The service's life after the start: signals, reload, drain. Everything here runs on the main thread; what touches a
 * loop is sent to it as mail. */
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "engine/catalog.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "server/exit_code.h"
#include "server/observe/log.h"
#include "server/observe/traces.h"
#include "server/service_state.h"

enum {
    DRAIN_LOOK_MS = 10,
    GIVE_UP_MS = 50,         /* between the last answers and the end */
    LOST_DELAY_MS = 250,     /* a lost device's service still says so for this long, unless drain_delay is shorter */
    WATCHDOG_LOOKS = 4,      /* in the time after which a batch is stuck */
    WATCHDOG_MOST_MS = 1000, /* between two looks */
};

/* An order for one loop. */
struct order {
    struct mail mail;
    struct service *service;
    struct loop *loop;
    enum { ORDER_OPTIONS, ORDER_LEAVE, ORDER_DRAIN, ORDER_GIVE_UP, ORDER_STOP } what;
    struct loop_options options;
};

static void deliver_order(struct mail *mail) {
    struct order *order = (struct order *)mail;
    struct loop *loop = order->loop;
    switch (order->what) {
    case ORDER_OPTIONS:
        loop->options = order->options;
        break;
    case ORDER_LEAVE:
        loop->draining = true;
        break;
    case ORDER_DRAIN:
        if (loop->index == 0)
            for (int i = 0; i < order->service->listener_count; i++)
                listener_finish(&order->service->listeners[i]);
        conn_drain(loop);
        break;
    case ORDER_GIVE_UP:
        conn_give_up(loop);
        break;
    case ORDER_STOP:
        loop_stop(loop);
        break;
    }
    free(order);
}

static void order_all(struct service *service, const struct order *order) {
    for (int i = 0; i < service->loop_count; i++) {
        if (!service->loops[i].started)
            continue;
        struct order *copy = malloc(sizeof *copy);
        if (!copy)
            abort(); /* an order that is lost leaves the process in no known state */
        *copy = *order;
        copy->mail.deliver = deliver_order;
        copy->service = service;
        copy->loop = &service->loops[i];
        mailbox_post(&copy->loop->mailbox, &copy->mail);
        mailbox_wake(&service->loops[i].mailbox);
    }
}

void service_loop_options(const struct config *config, struct loop_options *out) {
    *out = (struct loop_options){
        .head_timeout_ns = config->head_timeout_ms * CLOCK_NS_PER_MS,
        .body_timeout_ns = config->body_timeout_ms * CLOCK_NS_PER_MS,
        .write_timeout_ns = config->write_timeout_ms * CLOCK_NS_PER_MS,
        .idle_timeout_ns = config->idle_timeout_ms * CLOCK_NS_PER_MS,
        .framing = {.target_bytes = 8 * 1024, .head_bytes = 16 * 1024, .header_count = REQUEST_MAX_FIELDS},
    };
}

enum access_format service_access_format(const struct config *config) {
    return config->access_log_format == CONFIG_ACCESS_LOG_FORMAT_JSON ? ACCESS_JSON : ACCESS_COMBINED;
}

enum timing_mode service_timing_mode(const struct config *config) {
    static const enum timing_mode modes[CONFIG_SERVER_TIMING_COUNT] = {[CONFIG_SERVER_TIMING_OFF] = TIMING_OFF,
                                                                       [CONFIG_SERVER_TIMING_ON_REQUEST] =
                                                                           TIMING_ON_REQUEST,
                                                                       [CONFIG_SERVER_TIMING_ALWAYS] = TIMING_ALWAYS};
    return modes[config->server_timing];
}

static void log_problems(const struct config_problems *problems) {
    for (int i = 0; i < problems->count; i++) {
        char text[512], quoted[600];
        const struct config_problem *problem = &problems->items[i];
        config_problems_text(problem, text, sizeof text);
        log_event(problem->severity == CONFIG_ERROR ? LOG_ERROR : LOG_WARN, "config", "problem=%s",
                  log_quote(text, quoted, sizeof quoted));
    }
}

/* Applies the keys that may change while running. */
static void apply(struct service *service, const struct config *config) {
    struct api *api = &service->api;
    struct order order = {.what = ORDER_OPTIONS};
    atomic_store(&api->timeout_ns, config->timeout_ms * CLOCK_NS_PER_MS);
    atomic_store(&api->max_body_bytes, (uint64_t)config->max_body_bytes);
    atomic_store(&api->max_request_rows, (uint32_t)config->max_request_rows);
    atomic_store(&api->server_timing, (int)service_timing_mode(config));
    admission_set_limits(&api->admission, (uint32_t)config->max_concurrency, (uint64_t)config->max_inflight_body_bytes);
    engine_set_queue_delays(service->engine, config->max_queue_delay_us * CLOCK_NS_PER_US,
                            config->queue_delay_target_ms * CLOCK_NS_PER_MS);
    service->drain_delay_ns = config->drain_delay_ms * CLOCK_NS_PER_MS;
    service->drain_timeout_ns = config->drain_timeout_ms * CLOCK_NS_PER_MS;
    log_set_level((enum log_level)config->log_level);
    if (api->access_log)
        access_log_set(api->access_log, service_access_format(config), (uint32_t)config->access_log_sample);
    if (api->traces)
        traces_set(api->traces, (uint32_t)config->traces_sample);
    service_tell_config(service, config);
    service_loop_options(config, &order.options);
    order_all(service, &order);
}

/* SIGHUP: the new configuration applies as a whole or not at all. */
static void reload(struct service *service) {
    struct config_problems *problems = calloc(1, sizeof *problems);
    struct config config;
    char names[256];
    if (!problems)
        return;
    bool good = config_load(service->sources, &config, problems);
    log_problems(problems);
    if (!good) {
        atomic_store(&service->api.reload_refused, true);
        log_event(LOG_ERROR, "reload_refused", "errors=%d", problems->errors);
    } else if (!config_may_reload(service->config, &config, names, sizeof names)) {
        atomic_store(&service->api.reload_refused, true);
        log_event(LOG_ERROR, "reload_refused", "needs_restart=\"%s\"", names);
    } else {
        apply(service, &config);
        atomic_store(&service->api.reload_refused, false);
        atomic_store(&service->api.configured_unix_s, (double)clock_unix_s());
        catalog_look(service->catalog, config.scan_ms * CLOCK_NS_PER_MS);
        log_event(LOG_INFO, "reloaded", "max_concurrency=%lld timeout_ms=%lld", (long long)config.max_concurrency,
                  (long long)config.timeout_ms);
    }
    if (good)
        config_release(&config);
    free(problems);
}

/* The first look at the models is over. Models of which none can be served end the service. */
static void load_ready(evutil_socket_t fd, short what, void *context) {
    struct service *service = context;
    (void)what;
    uint64_t count;
    if (read(fd, &count, sizeof count) != (ssize_t)sizeof count)
        return;
    service->loader_ended = true;
    if (service->load_code != EXIT_CODE_DONE) {
        service->phase = SERVICE_ENDED;
        event_base_loopbreak(service->base);
    }
}

/* Looks whether a batch is stuck. One that stays so ends the service: nothing else frees a device that hangs. */
static void watchdog_ready(evutil_socket_t fd, short what, void *context) {
    struct service *service = context;
    struct engine_status status;
    (void)fd;
    (void)what;
    engine_status(service->engine, &status);
    if (status.stuck != service->stuck)
        log_event(status.stuck ? LOG_ERROR : LOG_WARN, status.stuck ? "batch_stuck" : "batch_came_back",
                  "limit_ms=%lld", (long long)service->config->watchdog_ms);
    service->stuck = status.stuck;
    if (status.stuck_for_good && !atomic_exchange(&service->api.device_lost, true)) {
        log_event(LOG_ERROR, "device_lost", "reason=\"a batch has been stuck for twice watchdog_ms\"");
        kill(getpid(), SIGTERM);
    }
}

static bool start_watchdog(struct service *service) {
    int64_t look_ms = service->config->watchdog_ms / WATCHDOG_LOOKS;
    struct timeval wait = {0};
    if (look_ms > WATCHDOG_MOST_MS)
        look_ms = WATCHDOG_MOST_MS;
    wait.tv_sec = look_ms / 1000;
    wait.tv_usec = look_ms % 1000 * 1000;
    service->watchdog = event_new(service->base, -1, EV_PERSIST, watchdog_ready, service);
    return service->watchdog && event_add(service->watchdog, &wait) == 0;
}

enum weir_status service_start_loading(struct service *service, struct weir_error *err) {
    service->load_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (service->load_fd >= 0)
        service->load_event = event_new(service->base, service->load_fd, EV_READ | EV_PERSIST, load_ready, service);
    if (!start_watchdog(service) || !service->load_event || event_add(service->load_event, NULL) != 0)
        return weir_fail(err, WEIR_NO_MEMORY, "cannot start the loader's thread");
    return catalog_start(service->catalog, err);
}

static void set_timer(struct service *service, int64_t wait_ns) {
    struct timeval wait = {.tv_sec = wait_ns / CLOCK_NS_PER_S, .tv_usec = wait_ns % CLOCK_NS_PER_S / CLOCK_NS_PER_US};
    event_add(service->timer, &wait);
}

/* Nothing is waited for any more, neither a batch that still runs nor a version that still loads: a device that hangs
 * would never give them back. */
static void end(struct service *service, const char *how) {
    struct engine_status status;
    engine_status(service->engine, &status);
    service->abandons_batch = status.running_rows > 0;
    log_event(LOG_INFO, "drained", "outcome=%s connections=%u in_flight=%u", how,
              atomic_load(&service->connections.open), atomic_load(&service->api.admission.slots));
    service->phase = SERVICE_ENDED;
    event_base_loopbreak(service->base);
}

static void drain(struct service *service) {
    service->phase = SERVICE_DRAINING;
    service->drain_began_ns = clock_now_ns();
    log_event(LOG_INFO, "draining", "connections=%u in_flight=%u", atomic_load(&service->connections.open),
              atomic_load(&service->api.admission.slots));
    order_all(service, &(struct order){.what = ORDER_DRAIN});
    set_timer(service, 0);
}

static void leave(struct service *service, int64_t delay_ns) {
    atomic_store(&service->api.draining, true);
    service->phase = SERVICE_LEAVING;
    order_all(service, &(struct order){.what = ORDER_LEAVE});
    if (delay_ns == 0) {
        drain(service);
        return;
    }
    log_event(LOG_INFO, "leaving", "delay_ms=%lld", (long long)(delay_ns / CLOCK_NS_PER_MS));
    set_timer(service, delay_ns);
}

/* The time is up: who still waits is told so, and gets a moment to hear it. */
static void give_up(struct service *service) {
    service->gives_up = true;
    order_all(service, &(struct order){.what = ORDER_GIVE_UP});
    set_timer(service, GIVE_UP_MS * INT64_C(1000000));
}

static void timer_ready(evutil_socket_t fd, short what, void *context) {
    struct service *service = context;
    (void)fd;
    (void)what;
    if (service->phase == SERVICE_LEAVING) {
        drain(service);
    } else if (service->phase == SERVICE_DRAINING) {
        if (atomic_load(&service->connections.open) == 0 && atomic_load(&service->ops_connections.open) == 0 &&
            (atomic_load(&service->api.admission.slots) == 0 || service->stuck))
            end(service, service->stuck ? "stuck" : "clean");
        else if (clock_now_ns() - service->drain_began_ns >= service->drain_timeout_ns && service->gives_up)
            end(service, "timeout");
        else if (clock_now_ns() - service->drain_began_ns >= service->drain_timeout_ns)
            give_up(service);
        else
            set_timer(service, DRAIN_LOOK_MS * INT64_C(1000000));
    }
}

static void signal_ready(evutil_socket_t fd, short what, void *context) {
    struct service *service = context;
    struct signalfd_siginfo info;
    (void)what;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        bool is_hangup = info.ssi_signo == SIGHUP;
        if (is_hangup || info.ssi_signo == SIGUSR1) {
            if (is_hangup && service->phase == SERVICE_RUNNING)
                reload(service);
            if (service->api.access_log)
                access_log_reopen(service->api.access_log);
        } else if (service->phase == SERVICE_RUNNING) {
            log_event(LOG_INFO, "signal", "name=%s", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
            int64_t delay_ns = service->drain_delay_ns;
            if (atomic_load(&service->api.device_lost) && delay_ns > LOST_DELAY_MS * CLOCK_NS_PER_MS)
                delay_ns = LOST_DELAY_MS * CLOCK_NS_PER_MS;
            leave(service, info.ssi_signo == SIGINT || !service->loader_ended ? 0 : delay_ns);
        } else {
            end(service, "cut"); /* a second signal */
        }
    }
}

bool service_open_signals(struct service *service) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    service->drain_delay_ns = service->config->drain_delay_ms * CLOCK_NS_PER_MS;
    service->drain_timeout_ns = service->config->drain_timeout_ms * CLOCK_NS_PER_MS;
    if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0)
        return false;
    service->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    service->base = event_base_new();
    if (service->signal_fd < 0 || !service->base)
        return false;
    service->signal_event = event_new(service->base, service->signal_fd, EV_READ | EV_PERSIST, signal_ready, service);
    service->timer = event_new(service->base, -1, 0, timer_ready, service);
    return service->signal_event && service->timer && event_add(service->signal_event, NULL) == 0;
}

void service_close_signals(struct service *service) {
    if (service->signal_event)
        event_free(service->signal_event);
    if (service->timer)
        event_free(service->timer);
    if (service->watchdog)
        event_free(service->watchdog);
    if (service->ui_timer)
        event_free(service->ui_timer);
    if (service->load_event)
        event_free(service->load_event);
    if (service->load_fd > 0)
        close(service->load_fd);
    if (service->base)
        event_base_free(service->base);
    if (service->signal_fd >= 0)
        close(service->signal_fd);
}

/* Reads from a descriptor of its own, which leaves the other signals to the main loop. */
static void *end_while_opening(void *context) {
    struct service *service = context;
    struct pollfd awaited[2] = {{.fd = service->opening_signal_fd, .events = POLLIN},
                                {.fd = service->opened_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    while (poll(awaited, 2, -1) >= 0 || errno == EINTR) {
        if (awaited[1].revents != 0)
            break;
        if (read(service->opening_signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
            log_event(LOG_INFO, "stopped", "code=%d while=opening", EXIT_CODE_DONE);
            _exit(EXIT_CODE_DONE);
        }
    }
    return NULL;
}

static void close_opening(struct service *service) {
    if (service->opened_fd >= 0)
        close(service->opened_fd);
    if (service->opening_signal_fd >= 0)
        close(service->opening_signal_fd);
}

bool service_begin_opening(struct service *service) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    service->opened_fd = eventfd(0, EFD_CLOEXEC);
    service->opening_signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (service->opened_fd >= 0 && service->opening_signal_fd >= 0 &&
        pthread_create(&service->opening, NULL, end_while_opening, service) == 0)
        return true;
    close_opening(service);
    return false;
}

void service_end_opening(struct service *service) {
    uint64_t one = 1;
    ssize_t ignored = write(service->opened_fd, &one, sizeof one);
    (void)ignored;
    pthread_join(service->opening, NULL);
    close_opening(service);
}

void service_wait(struct service *service) {
    if (service->phase != SERVICE_ENDED)
        event_base_dispatch(service->base);
}

void service_stop_loops(struct service *service) {
    order_all(service, &(struct order){.what = ORDER_STOP});
    for (int i = 0; i < service->loop_count; i++) {
        if (service->loops[i].started)
            pthread_join(service->loops[i].thread, NULL);
        service->loops[i].started = false;
    }
}
