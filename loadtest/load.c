/* The load generator: one thread, epoll, kept HTTP/1.1 connections, one request at a time on each. load_options.c says
 * how it is used, load_stats.h what it counts. */
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/clock.h"
#include "loadtest/load_answer.h"
#include "loadtest/load_options.h"
#include "loadtest/load_stats.h"

enum { READ_BYTES = 64 * 1024, EVENTS = 256, ACTIVE_NS = 10 * CLOCK_NS_PER_MS };

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_BUSY, CONN_IDLE };

struct conn {
    int fd;
    enum conn_state state;
    uint32_t events; /* what epoll watches */
    int64_t due_ns;  /* of the request in progress */
    size_t written;
    struct load_answer answer;
};

struct load {
    struct load_options options;
    struct load_stats stats;
    struct sockaddr_storage address;
    socklen_t address_size;
    char *request;
    size_t request_size;
    int epoll;
    struct conn *conns;
    struct conn **free; /* a stack: idle ones that were used last are on top, below them those never opened */
    int free_count, busy_count;
    int64_t stop_ns;  /* no request is sent from here on */
    int64_t next_ns;  /* open loop: when the next request is due */
    int64_t retry_ns; /* closed loop: when failed connections try again */
    double gap_ns;
    uint64_t random;
    char read_bytes[READ_BYTES];
};

static _Noreturn void die(const char *what, const char *why) {
    fprintf(stderr, "load: %s: %s\n", what, why);
    exit(2);
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die(path, strerror(errno));
    long end = ftell(file);
    rewind(file);
    char *data = end < 0 ? NULL : malloc((size_t)end + 1);
    if (!data || fread(data, 1, (size_t)end, file) != (size_t)end)
        die(path, "cannot be read");
    fclose(file);
    *size = (size_t)end;
    return data;
}

static void build_request(struct load *load) {
    const struct load_options *options = &load->options;
    size_t body_size = 0;
    char *body = options->body_path ? read_file(options->body_path, &body_size) : NULL;
    FILE *out = open_memstream(&load->request, &load->request_size);
    if (!out)
        die("request", strerror(errno));
    fprintf(out, "%s %s HTTP/1.1\r\nHost: %s:%s\r\n", body ? "POST" : "GET", options->path, options->host,
            options->port);
    if (options->accept)
        fprintf(out, "Accept: %s\r\n", options->accept);
    if (options->header)
        fprintf(out, "%s\r\n", options->header);
    if (body)
        fprintf(out, "Content-Type: %s\r\nContent-Length: %zu\r\n", options->content_type, body_size);
    fputs("\r\n", out);
    if (body)
        fwrite(body, 1, body_size, out);
    if (fclose(out) != 0)
        die("request", strerror(errno));
    free(body);
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
    load->busy_count--;
    load->free[load->free_count++] = conn;
}

static void conn_fail(struct load *load, struct conn *conn, enum load_error error) {
    load_stats_error(&load->stats, error, conn->due_ns);
    conn_close(conn);
    conn_release(load, conn);
    load->retry_ns = clock_now_ns() + ACTIVE_NS;
}

static void conn_watch(struct load *load, struct conn *conn, uint32_t events) {
    if (conn->events == events)
        return;
    struct epoll_event event = {.events = events, .data.ptr = conn};
    epoll_ctl(load->epoll, EPOLL_CTL_MOD, conn->fd, &event);
    conn->events = events;
}

static void conn_write(struct load *load, struct conn *conn) {
    while (conn->written < load->request_size) {
        ssize_t size = write(conn->fd, load->request + conn->written, load->request_size - conn->written);
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

/* Begins a request that was due at due_ns on a free connection. There is one. */
static void send_request(struct load *load, int64_t due_ns) {
    struct conn *conn = load->free[--load->free_count];
    load->busy_count++;
    conn->due_ns = due_ns;
    conn->written = 0;
    load_answer_reset(&conn->answer);
    if (load_stats_measures(&load->stats, due_ns)) {
        load->stats.sent++;
        latency_add(&load->stats.send_lag, clock_now_ns() - due_ns);
    }
    if (conn->state == CONN_CLOSED) {
        conn_open(load, conn);
    } else {
        conn->state = CONN_BUSY;
        conn_write(load, conn);
    }
}

static void plan_request(struct load *load, int64_t due_ns) {
    bool measured = load_stats_measures(&load->stats, due_ns);
    load->stats.planned += measured;
    if (load->free_count > 0)
        send_request(load, due_ns);
    else
        load->stats.unsent_late += measured;
}

static void answer_came(struct load *load, struct conn *conn, int64_t now_ns) {
    load_stats_answer(&load->stats, conn->answer.status, conn->due_ns, now_ns, load->options.deadline_ms);
    if (conn->answer.closes)
        conn_close(conn);
    else
        conn->state = CONN_IDLE;
    conn_release(load, conn);
    if (load->options.rate <= 0 && now_ns < load->stop_ns)
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

/* A gap of a Poisson process: exponential with the mean gap_ns. */
static double next_gap_ns(struct load *load) {
    load->random ^= load->random << 13;
    load->random ^= load->random >> 7;
    load->random ^= load->random << 17;
    double uniform = ((double)(load->random >> 11) + 1) * 0x1p-53;
    return -load->gap_ns * log(uniform);
}

/* Sends what is due. Closed loop: connections that are free are those that begin or failed. */
static void send_due(struct load *load, int64_t now_ns) {
    if (load->options.rate > 0) {
        double next_ns = (double)load->next_ns;
        while (load->next_ns <= now_ns && load->next_ns < load->stop_ns) {
            plan_request(load, load->next_ns);
            next_ns += next_gap_ns(load);
            load->next_ns = (int64_t)next_ns;
        }
        return;
    }
    if (now_ns < load->retry_ns || now_ns >= load->stop_ns)
        return;
    for (int count = load->free_count; count > 0; count--)
        plan_request(load, clock_now_ns());
}

static void mark_window(struct load *load, int64_t now_ns) {
    struct load_stats *stats = &load->stats;
    if (!stats->window_begin_ns && now_ns >= stats->begin_ns)
        load_stats_open_window(stats, load->options.watch_pid);
    if (!stats->window_end_ns && now_ns >= stats->end_ns)
        load_stats_close_window(stats, load->options.watch_pid);
}

/* How long epoll may sleep. An open loop sleeps only when the next request is further off than a sleep is coarse. */
static int wait_ms(const struct load *load, int64_t now_ns) {
    const struct load_stats *stats = &load->stats;
    int64_t wait_ns = ACTIVE_NS;
    if (load->options.spin)
        return 0;
    if (load->options.rate > 0 && load->next_ns < load->stop_ns && load->next_ns - now_ns < wait_ns)
        wait_ns = load->next_ns - now_ns - CLOCK_NS_PER_MS;
    int64_t mark_ns = stats->window_begin_ns ? stats->end_ns : stats->begin_ns;
    if (!stats->window_end_ns && mark_ns - now_ns < wait_ns)
        wait_ns = mark_ns - now_ns;
    return wait_ns < 0 ? 0 : (int)(wait_ns / CLOCK_NS_PER_MS);
}

static void run(struct load *load) {
    struct epoll_event events[EVENTS];
    int64_t give_up_ns = load->stop_ns + (int64_t)(load->options.drain_seconds * (double)CLOCK_NS_PER_S);
    for (;;) {
        int64_t now_ns = clock_now_ns();
        mark_window(load, now_ns);
        send_due(load, now_ns);
        if (load->stats.window_end_ns && (load->busy_count == 0 || now_ns >= give_up_ns))
            return;
        int count = epoll_wait(load->epoll, events, EVENTS, wait_ms(load, now_ns));
        for (int i = 0; i < count; i++)
            conn_ready(load, events[i].data.ptr, events[i].events);
    }
}

static void begin(struct load *load) {
    const struct load_options *options = &load->options;
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->conns = calloc((size_t)options->connections, sizeof *load->conns);
    load->free = calloc((size_t)options->connections, sizeof *load->free);
    if (load->epoll < 0 || !load->conns || !load->free)
        die("start", strerror(errno));
    for (int i = 0; i < options->connections; i++) {
        load->conns[i].fd = -1;
        load->free[load->free_count++] = &load->conns[i];
    }
    int64_t now_ns = clock_now_ns();
    load->stats.begin_ns = now_ns + (int64_t)(options->warm_up_seconds * (double)CLOCK_NS_PER_S);
    load->stats.end_ns = load->stats.begin_ns + (int64_t)(options->seconds * (double)CLOCK_NS_PER_S);
    load->stop_ns = load->stats.end_ns;
    load->random = options->seed * UINT64_C(0x9E3779B97F4A7C15);
    load->gap_ns = options->rate > 0 ? (double)CLOCK_NS_PER_S / options->rate : 0;
    load->next_ns = now_ns + (options->rate > 0 ? (int64_t)next_gap_ns(load) : 0);
}

/* Counts the requests that no answer came for, and releases everything. */
static void finish(struct load *load) {
    for (int i = 0; i < load->options.connections; i++) {
        struct conn *conn = &load->conns[i];
        if ((conn->state == CONN_BUSY || conn->state == CONN_CONNECTING) &&
            load_stats_measures(&load->stats, conn->due_ns))
            load->stats.unanswered++;
        conn_close(conn);
    }
    close(load->epoll);
    free(load->conns);
    free(load->free);
    free(load->request);
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
    build_request(load);
    find_address(load);
    begin(load);
    run(load);
    finish(load);
    load_stats_print(&load->stats, &load->options);
    int code = load->stats.answered > 0 ? 0 : 1;
    free(load);
    return code;
}
