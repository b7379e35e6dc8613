/* The load generator: one thread, epoll, kept HTTP/1.1 connections, one request at a time on each. load_options.c says
 * how it is used, load_stats.h what it counts, README.md why it stands on epoll. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/clock.h"
#include "loadtest/load_answer.h"
#include "loadtest/load_options.h"
#include "loadtest/load_record.h"
#include "loadtest/load_request.h"
#include "loadtest/load_schedule.h"
#include "loadtest/load_stats.h"

enum {
    READ_BYTES = 64 * 1024,
    EVENTS = 256,
    EVENTS_BETWEEN_SENDS = 8, /* what is due does not wait for more answers than these */
    RETRY_NS = 10 * CLOCK_NS_PER_MS,
    REASON_BYTES = 512, /* of a body, where its reason is looked for */
    NUMBERS_BYTES = 64 * 1024,
};

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_BUSY, CONN_IDLE };

struct conn {
    int fd;
    enum conn_state state;
    uint32_t events;         /* what epoll watches */
    struct load_event event; /* the request in progress */
    const char *bytes;       /* its bytes */
    size_t size, written;
    char *numbered; /* room for a request with numbers of its own */
    uint64_t first_number;
    size_t record;
    struct conn *earlier, *later; /* among the busy ones, by the time they began */
    struct load_answer answer;
};

struct load {
    struct load_options options;
    struct load_stats stats;
    struct load_records records;
    struct load_request requests[LOAD_CLASSES];
    struct sockaddr_storage address;
    socklen_t address_size;
    int epoll;
    struct conn *conns;
    struct conn **free; /* a stack: idle ones that were used last are on top, below them those never opened */
    struct conn *oldest, *newest;
    int free_count, busy_count;
    int64_t stop_ns;  /* no request is sent from here on */
    int64_t next_ns;  /* open loop: when the next request is due */
    int64_t retry_ns; /* closed loop: when failed connections try again */
    uint64_t next_number;
    double share_sum;
    bool numbers, keeps_records;
    char read_bytes[READ_BYTES];
};

static _Noreturn void die(const char *what, const char *why) {
    fprintf(stderr, "load: %s: %s\n", what, why);
    exit(2);
}

static void find_address(struct load *load) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    int code = getaddrinfo(load->options.host, load->options.port, &hints, &found);
    if (code != 0)
        die(load->options.host, gai_strerror(code));
    memcpy(&load->address, found->ai_addr, found->ai_addrlen);
    load->address_size = found->ai_addrlen;
    freeaddrinfo(found);
}

static void conn_close(struct conn *conn) {
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
    conn->state = CONN_CLOSED;
}

/* The request in progress has ended, well or not: the connection may take another. */
static void conn_release(struct load *load, struct conn *conn) {
    *(conn->earlier ? &conn->earlier->later : &load->oldest) = conn->later;
    *(conn->later ? &conn->later->earlier : &load->newest) = conn->earlier;
    load->busy_count--;
    load->free[load->free_count++] = conn;
}

static void conn_take(struct load *load, struct conn *conn) {
    conn->later = NULL;
    conn->earlier = load->newest;
    *(load->newest ? &load->newest->later : &load->oldest) = conn;
    load->newest = conn;
    load->busy_count++;
}

/* The measured request's record, or NULL. */
static struct load_record *record_of(struct load *load, const struct conn *conn) {
    bool has = load->keeps_records && load_stats_measures(&load->stats, conn->event.due_ns);
    return has ? &load->records.items[conn->record] : NULL;
}

static void conn_fail(struct load *load, struct conn *conn, enum load_error error) {
    int64_t now_ns = clock_now_ns();
    struct load_record *record = record_of(load, conn);
    load_stats_error(&load->stats, error, &conn->event);
    if (record)
        record->latency_us = (float)(now_ns - conn->event.due_ns) / CLOCK_NS_PER_US;
    conn_close(conn);
    conn_release(load, conn);
    load->retry_ns = now_ns + RETRY_NS;
}

static void conn_watch(struct load *load, struct conn *conn, uint32_t events) {
    if (conn->events == events)
        return;
    struct epoll_event event = {.events = events, .data.ptr = conn};
    epoll_ctl(load->epoll, EPOLL_CTL_MOD, conn->fd, &event);
    conn->events = events;
}

static void conn_write(struct load *load, struct conn *conn) {
    while (conn->written < conn->size) {
        ssize_t size = write(conn->fd, conn->bytes + conn->written, conn->size - conn->written);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN) {
            conn_watch(load, conn, EPOLLIN | EPOLLOUT);
            return;
        }
        if (size < 0)
            break; /* the server may have answered and closed: reading will tell */
        conn->written += (size_t)size;
    }
    conn_watch(load, conn, EPOLLIN);
}

static void conn_open(struct load *load, struct conn *conn) {
    int one = 1;
    conn->fd = socket(load->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->fd < 0) {
        conn_fail(load, conn, LOAD_ERROR_CONNECT);
        return;
    }
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    conn->events = EPOLLIN | EPOLLOUT;
    struct epoll_event event = {.events = conn->events, .data.ptr = conn};
    load->stats.connections_opened++;
    conn->state = CONN_CONNECTING;
    int code = connect(conn->fd, (struct sockaddr *)&load->address, load->address_size);
    if ((code != 0 && errno != EINPROGRESS) || epoll_ctl(load->epoll, EPOLL_CTL_ADD, conn->fd, &event) != 0)
        conn_fail(load, conn, LOAD_ERROR_CONNECT);
}

static void choose_bytes(struct load *load, struct conn *conn, int class) {
    const struct load_request *request = &load->requests[class];
    conn->size = request->size;
    conn->bytes = request->bytes;
    if (request->place_count == 0)
        return;
    memcpy(conn->numbered, request->bytes, request->size);
    conn->first_number = load->next_number;
    load->next_number += request->place_count;
    load_request_number(request, conn->numbered, conn->first_number);
    conn->bytes = conn->numbered;
}

/* Begins a request on a free connection. There is one. */
static void send_request(struct load *load, int64_t due_ns, int class) {
    struct conn *conn = load->free[--load->free_count];
    conn_take(load, conn);
    conn->event = (struct load_event){.class = class, .due_ns = due_ns, .sent_ns = clock_now_ns()};
    conn->written = 0;
    conn->record = load->records.count - 1;
    load_answer_reset(&conn->answer);
    choose_bytes(load, conn, class);
    if (load_stats_measures(&load->stats, due_ns)) {
        load->stats.tallies[class].sent++;
        histogram_add(&load->stats.send_lag, conn->event.sent_ns - due_ns);
    }
    if (conn->state == CONN_CLOSED) {
        conn_open(load, conn);
    } else {
        conn->state = CONN_BUSY;
        conn_write(load, conn);
    }
}

static int choose_class(struct load *load) {
    const struct load_options *options = &load->options;
    int class = 0;
    if (options->class_count > 1) {
        double at = schedule_random(&load->options.schedule) * load->share_sum;
        while (class < options->class_count - 1 && at > options->classes[class].share)
            at -= options->classes[class ++].share;
    }
    return class;
}

static void plan_request(struct load *load, int64_t due_ns) {
    bool measured = load_stats_measures(&load->stats, due_ns);
    int class = choose_class(load);
    load->stats.tallies[class].planned += measured;
    if (measured && load->keeps_records)
        load_records_add(&load->records, &(struct load_record){.due_ns = due_ns, .class = (uint8_t) class});
    if (load->free_count > 0)
        send_request(load, due_ns, class);
    else
        load->stats.tallies[class].unsent_late += measured;
}

static void check_numbers(struct load *load, const struct conn *conn) {
    const struct load_request *request = &load->requests[conn->event.class];
    const struct load_answer *answer = &conn->answer;
    struct load_tally *tally = &load->stats.tallies[conn->event.class];
    if (request->place_count == 0 || answer->status != 200)
        return;
    if (load_request_matches(request, answer->body, answer->body_size, conn->first_number))
        tally->numbers_right++;
    else
        tally->numbers_wrong++;
}

static void answer_came(struct load *load, struct conn *conn, int64_t now_ns) {
    struct load_record *record = record_of(load, conn);
    conn->event.now_ns = now_ns;
    bool good = load_stats_answer(&load->stats, &conn->event, &conn->answer,
                                  load->options.classes[conn->event.class].deadline_ms);
    check_numbers(load, conn);
    if (record) {
        record->latency_us = (float)(now_ns - conn->event.due_ns) / CLOCK_NS_PER_US;
        record->status = (uint16_t)conn->answer.status;
        record->good = good;
    }
    if (conn->answer.closes)
        conn_close(conn);
    else
        conn->state = CONN_IDLE;
    conn_release(load, conn);
    if (!load->options.open && now_ns < load->stop_ns)
        plan_request(load, now_ns);
}

static void conn_read(struct load *load, struct conn *conn) {
    ssize_t size = read(conn->fd, load->read_bytes, sizeof load->read_bytes);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (conn->state == CONN_IDLE) { /* closed by the server, or it talks unasked; it is on the free stack already */
        conn_close(conn);
        return;
    }
    if (size < 0) {
        conn_fail(load, conn, LOAD_ERROR_RESET);
        return;
    }
    if (size == 0) {
        conn_fail(load, conn, conn->answer.status || conn->answer.head_size ? LOAD_ERROR_SHORT : LOAD_ERROR_CLOSED);
        return;
    }
    switch (load_answer_feed(&conn->answer, load->read_bytes, (size_t)size)) {
    case LOAD_ANSWER_MORE:
        break;
    case LOAD_ANSWER_WHOLE:
        answer_came(load, conn, clock_now_ns());
        break;
    case LOAD_ANSWER_MALFORMED:
        conn_fail(load, conn, LOAD_ERROR_MALFORMED);
        break;
    }
}

static void conn_ready(struct load *load, struct conn *conn, uint32_t events) {
    if (conn->fd < 0)
        return;
    if (conn->state == CONN_CONNECTING) {
        int code = 0;
        socklen_t size = sizeof code;
        getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &code, &size);
        if (code != 0) {
            conn_fail(load, conn, LOAD_ERROR_CONNECT);
            return;
        }
        conn->state = CONN_BUSY;
        conn_write(load, conn);
        return;
    }
    if (events & EPOLLOUT && conn->state == CONN_BUSY)
        conn_write(load, conn);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        conn_read(load, conn);
}

/* Sends what is due. Closed loop: connections that are free are those that begin or failed. */
static void send_due(struct load *load, int64_t now_ns) {
    if (load->options.open) {
        for (; load->next_ns <= now_ns && load->next_ns < load->stop_ns;
             load->next_ns = schedule_next(&load->options.schedule))
            plan_request(load, load->next_ns);
        return;
    }
    if (now_ns < load->retry_ns || now_ns >= load->stop_ns)
        return;
    for (int count = load->free_count; count > 0; count--)
        plan_request(load, clock_now_ns());
}

static int64_t give_up_ns(const struct load *load) {
    if (load->options.give_up_ms <= 0 || !load->oldest)
        return INT64_MAX;
    return load->oldest->event.due_ns + (int64_t)(load->options.give_up_ms * CLOCK_NS_PER_MS);
}

static void mark_window(struct load *load, int64_t now_ns) {
    struct load_stats *stats = &load->stats;
    if (!stats->window_begin_ns && now_ns >= stats->begin_ns)
        load_stats_open_window(stats, load->options.watch_pid);
    if (!stats->window_end_ns && now_ns >= stats->end_ns)
        load_stats_close_window(stats, load->options.watch_pid);
}

static void earlier_of(int64_t *at_ns, int64_t other_ns) {
    if (other_ns < *at_ns)
        *at_ns = other_ns;
}

/* How long epoll may sleep. */
static struct timespec wait_time(const struct load *load, int64_t now_ns) {
    const struct load_stats *stats = &load->stats;
    int64_t until_ns = now_ns + RETRY_NS;
    if (load->options.open && load->next_ns < load->stop_ns)
        earlier_of(&until_ns, load->next_ns);
    if (!stats->window_end_ns)
        earlier_of(&until_ns, stats->window_begin_ns ? stats->end_ns : stats->begin_ns);
    earlier_of(&until_ns, give_up_ns(load));
    int64_t wait_ns = load->options.spin || until_ns < now_ns ? 0 : until_ns - now_ns;
    return (struct timespec){.tv_sec = wait_ns / CLOCK_NS_PER_S, .tv_nsec = wait_ns % CLOCK_NS_PER_S};
}

static void run(struct load *load) {
    struct epoll_event events[EVENTS];
    int64_t end_ns = load->stop_ns + (int64_t)(load->options.drain_seconds * (double)CLOCK_NS_PER_S);
    for (;;) {
        int64_t now_ns = clock_now_ns();
        mark_window(load, now_ns);
        send_due(load, now_ns);
        while (give_up_ns(load) <= now_ns)
            conn_fail(load, load->oldest, LOAD_ERROR_GAVE_UP);
        if (load->stats.window_end_ns && (load->busy_count == 0 || now_ns >= end_ns))
            return;
        struct timespec wait = wait_time(load, clock_now_ns());
        int count = epoll_pwait2(load->epoll, events, EVENTS, &wait, NULL);
        for (int i = 0; i < count; i++) {
            if (load->options.open && i % EVENTS_BETWEEN_SENDS == 0)
                send_due(load, clock_now_ns());
            conn_ready(load, events[i].data.ptr, events[i].events);
        }
    }
}

static void build_requests(struct load *load) {
    for (int i = 0; i < load->options.class_count; i++) {
        const struct load_class *class = &load->options.classes[i];
        const char *wrong = load_request_build(&load->options, class, &load->requests[i]);
        if (wrong)
            die(class->body_path ? class->body_path : class->name, wrong);
        load->share_sum += class->share;
        load->numbers = load->numbers || load->requests[i].place_count > 0;
    }
}

static void prepare_conn(const struct load *load, struct conn *conn) {
    size_t largest = 0;
    conn->fd = -1;
    conn->answer.body_room = load->numbers ? NUMBERS_BYTES : REASON_BYTES;
    conn->answer.body = malloc(conn->answer.body_room);
    for (int i = 0; load->numbers && i < load->options.class_count; i++)
        largest = load->requests[i].size > largest ? load->requests[i].size : largest;
    conn->numbered = malloc(largest + 1);
    if (!conn->answer.body || !conn->numbered)
        die("start", "no memory");
}

static void begin(struct load *load) {
    struct load_options *options = &load->options;
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->conns = calloc((size_t)options->connections, sizeof *load->conns);
    load->free = calloc((size_t)options->connections, sizeof *load->free);
    if (load->epoll < 0 || !load->conns || !load->free)
        die("start", strerror(errno));
    for (int i = 0; i < options->connections; i++) {
        prepare_conn(load, &load->conns[i]);
        load->free[load->free_count++] = &load->conns[i];
    }
    load->keeps_records = options->series_path || options->trace_path;
    int64_t now_ns = clock_now_ns();
    load->stats.begin_ns = now_ns + (int64_t)(options->warm_up_seconds * (double)CLOCK_NS_PER_S);
    load->stats.end_ns = load->stats.begin_ns + (int64_t)(options->seconds * (double)CLOCK_NS_PER_S);
    load->stop_ns = load->stats.end_ns;
    schedule_start(&options->schedule, now_ns, options->seed);
    load->next_ns = schedule_next(&options->schedule);
}

/* Counts the requests that no answer came for, and releases everything but the figures. */
static void finish(struct load *load) {
    for (int i = 0; i < load->options.connections; i++) {
        struct conn *conn = &load->conns[i];
        if ((conn->state == CONN_BUSY || conn->state == CONN_CONNECTING) &&
            load_stats_measures(&load->stats, conn->event.due_ns))
            load->stats.tallies[conn->event.class].unanswered++;
        conn_close(conn);
        free(conn->answer.body);
        free(conn->numbered);
    }
    for (int i = 0; i < load->options.class_count; i++)
        load_request_release(&load->requests[i]);
    close(load->epoll);
    free(load->conns);
    free(load->free);
}

static void write_files(const struct load *load) {
    const struct load_options *options = &load->options;
    const char *wrong = NULL;
    if (options->percentiles_path && (wrong = load_stats_write_percentiles(&load->stats, options)) != NULL)
        die(options->percentiles_path, wrong);
    if (options->series_path &&
        (wrong = load_records_write_series(&load->records, options, load->stats.begin_ns)) != NULL)
        die(options->series_path, wrong);
    if (options->trace_path &&
        (wrong = load_records_write_trace(&load->records, options, load->stats.begin_ns)) != NULL)
        die(options->trace_path, wrong);
}

int main(int argc, char **argv) {
    struct load *load = calloc(1, sizeof *load);
    if (!load)
        die("start", "no memory");
    load_options_parse(argc, argv, &load->options);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1UL); /* sleeps end when they should, not up to 50 us later */
    build_requests(load);
    find_address(load);
    begin(load);
    run(load);
    finish(load);
    load_stats_print(&load->stats, &load->options);
    write_files(load);
    uint64_t answered = 0;
    for (int i = 0; i < load->options.class_count; i++)
        answered += load->stats.tallies[i].answered;
    free(load->records.items);
    free(load);
    return answered > 0 ? 0 : 1;
}
