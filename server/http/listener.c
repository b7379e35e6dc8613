#include "server/http/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/clock.h"
#include "server/http/conn.h"
#include "server/http/loop.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

enum {
    BACKLOG = 4096,      /* the kernel cuts it to net.core.somaxconn */
    ACCEPTS_A_TURN = 64, /* then the other connections get their turn */
    RETRY_MS = 100,      /* pause after accept failed for want of descriptors or memory */
    OVER_LIMIT = 64,     /* connections above the limit that are told so; more are closed without a word */
};

#define TOO_MANY_BODY                                                                                                  \
    "{\"error\":\"too many connections\",\"code\":503,\"reason\":\"connections\",\"retry_after_ms\":1000}"
_Static_assert(sizeof TOO_MANY_BODY - 1 == 88, "the length stands in the answer below");
static const char too_many[] = "HTTP/1.1 503 Service Unavailable\r\n"
                               "Content-Type: application/json\r\n"
                               "Content-Length: 88\r\n"
                               "Retry-After: 1\r\n"
                               "Connection: close\r\n\r\n" TOO_MANY_BODY;

/* A new connection on its way to another loop. */
struct handover {
    struct mail mail;
    struct loop *loop;
    struct listener *listener;
    int fd;
    const char *refusal;
};

static void deliver_handover(struct mail *mail) {
    struct handover *handover = (struct handover *)mail;
    conn_open(handover->loop, handover->listener, handover->fd, handover->refusal);
    free(handover);
}

static void hand_over(struct listener *listener, int fd, const char *refusal) {
    struct loop *loop = &listener->loops[listener->next_loop];
    listener->next_loop = (listener->next_loop + 1) % listener->loop_count;
    if (loop == listener->loops) {
        conn_open(loop, listener, fd, refusal);
        return;
    }
    struct handover *handover = malloc(sizeof *handover);
    if (!handover) {
        close(fd);
        atomic_fetch_sub(&listener->budget->open, 1);
        return;
    }
    *handover = (struct handover){
        .mail.deliver = deliver_handover, .loop = loop, .listener = listener, .fd = fd, .refusal = refusal};
    mailbox_post(&loop->mailbox, &handover->mail);
    mailbox_wake(&loop->mailbox);
}

/* accept(2) failed for want of descriptors or memory: no more for a moment, or the loop would spin. */
static void pause_accepting(struct listener *listener, int error) {
    static struct log_site site;
    log_event_limited(&site, listener->loops->now_ns, LOG_WARN, "accept_paused", "address=%s error=\"%s\"",
                      listener->address, strerror(error));
    struct timeval pause = {.tv_usec = RETRY_MS * 1000};
    event_del(listener->event);
    event_add(listener->retry, &pause);
}

/* Accepts one connection. Returns false if there was none. */
static bool accept_one(struct listener *listener) {
    int accepted = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(listener, errno);
            return false;
        }
        return errno != EAGAIN && errno != EWOULDBLOCK; /* else this one failed (ECONNABORTED and the like) */
    }
    int one = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    uint32_t open = atomic_fetch_add(&listener->budget->open, 1);
    metrics_count_connection(listener->loops->metrics, open >= listener->budget->max);
    if (open >= listener->budget->max + OVER_LIMIT) {
        close(accepted);
        atomic_fetch_sub(&listener->budget->open, 1);
        return true;
    }
    hand_over(listener, accepted, open >= listener->budget->max ? too_many : NULL);
    return true;
}

static void accept_ready(evutil_socket_t fd, short what, void *context) {
    struct listener *listener = context;
    (void)fd;
    (void)what;
    for (int i = 0; i < ACCEPTS_A_TURN && accept_one(listener); i++)
        ;
}

static void retry_ready(evutil_socket_t fd, short what, void *context) {
    struct listener *listener = context;
    (void)fd;
    (void)what;
    event_add(listener->event, NULL);
}

static void note_address(struct listener *listener) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char host[64] = "?", port[8] = "?";
    if (getsockname(listener->fd, (struct sockaddr *)&address, &size) == 0)
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool v6 = address.ss_family == AF_INET6;
    snprintf(listener->address, sizeof listener->address, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static enum weir_status bind_to(struct listener *listener, const struct addrinfo *info, const char *name,
                                struct weir_error *err) {
    int one = 1, zero = 0;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return weir_fail(err, WEIR_IO, "cannot listen on %s: %s", name, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        weir_fail(err, WEIR_IO, "cannot listen on %s: %s", name, strerror(errno));
        close(fd);
        return WEIR_IO;
    }
    listener->fd = fd;
    note_address(listener);
    return WEIR_OK;
}

enum weir_status listener_open(struct listener *listener, const struct listener_options *options,
                               struct weir_error *err) {
    memset(listener, 0, sizeof *listener);
    listener->fd = -1;
    listener->loops = options->loops;
    listener->loop_count = options->loop_count;
    listener->router = options->router;
    listener->route_sets = options->route_sets;
    listener->budget = options->budget;

    char host[256], port[8], name[280];
    size_t size = strlen(options->host);
    bool brackets = size >= 2 && options->host[0] == '[' && options->host[size - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(brackets ? size - 2 : size), options->host + (brackets ? 1 : 0));
    snprintf(port, sizeof port, "%d", options->port);
    snprintf(name, sizeof name, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *info;
    int error = getaddrinfo(host, port, &hints, &info);
    if (error != 0)
        return weir_fail(err, WEIR_INVALID, "host %s: %s", options->host, gai_strerror(error));
    enum weir_status status = bind_to(listener, info, name, err);
    freeaddrinfo(info);
    return status;
}

enum weir_status listener_start(struct listener *listener, struct weir_error *err) {
    struct event_base *base = listener->loops->base;
    listener->event = event_new(base, listener->fd, EV_READ | EV_PERSIST, accept_ready, listener);
    listener->retry = event_new(base, -1, 0, retry_ready, listener);
    if (!listener->event || !listener->retry || event_add(listener->event, NULL) != 0)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to listen on %s", listener->address);
    return WEIR_OK;
}

void listener_finish(struct listener *listener) {
    for (int i = 0; i < BACKLOG && listener->fd >= 0 && accept_one(listener); i++)
        ;
    listener_close(listener);
}

void listener_close(struct listener *listener) {
    if (listener->event)
        event_free(listener->event);
    if (listener->retry)
        event_free(listener->retry);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->event = NULL;
    listener->retry = NULL;
    listener->fd = -1;
}
