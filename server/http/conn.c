/* Opening, watching, reading and closing connections. */
#include "server/http/conn.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/thread.h"
#include "server/http/listener.h"
#include "server/http/loop.h"
#include "server/observe/access_log.h"
#include "server/observe/metrics.h"

enum {
    AHEAD_BYTES = 16 * 1024, /* input kept behind an unanswered request before reading stops */
    FINISHING_MS = 500,      /* how long a connection accepted at the very end may say nothing */
    LINGER_MS = 2000,        /* how long input is dropped after the last answer */
    PACED_MS = 5,            /* how long a turn may work on bodies that are read at a pace */
};

static void ready(evutil_socket_t fd, short what, void *context) {
    struct conn *conn = context;
    struct loop *loop = conn->loop;
    (void)fd;
    assert(thread_is(THREAD_LOOP));
    loop_event(loop);
    if (what & EV_WRITE)
        conn_flush(conn);
    else
        conn_read(conn); /* conn may be gone */
    loop_breathe(loop);
}

void conn_watch(struct conn *conn, short what) {
    if (conn->watched == what)
        return;
    if (conn->watched)
        event_del(&conn->event);
    conn->watched = what;
    if (what) {
        event_assign(&conn->event, conn->loop->base, conn->transport.fd, (short)(what | EV_PERSIST), ready, conn);
        event_add(&conn->event, NULL);
    }
}

void conn_deadline(struct conn *conn, int64_t at_ns) {
    loop_set_deadline(conn->loop, &conn->deadline, at_ns);
}

void conn_open(struct loop *loop, struct listener *listener, int fd, const char *refusal) {
    struct conn *conn = calloc(1, sizeof *conn);
    if (!conn || !deadlines_reserve(&loop->deadlines, loop->conn_count + 1)) {
        free(conn);
        close(fd);
        atomic_fetch_sub(&listener->budget->open, 1);
        return;
    }
    transport_plain(&conn->transport, fd);
    if (loop->access)
        access_log_forget(loop->access, fd);
    conn->loop = loop;
    conn->listener = listener;
    conn->deadline.at_ns = DEADLINE_NEVER;
    conn->exchange.conn = conn;
    conn->exchange.loop = loop;
    conn->next = loop->conns;
    if (loop->conns)
        loop->conns->previous = conn;
    loop->conns = conn;
    loop->conn_count++;
    loop_now(loop);
    if (refusal) {
        struct iovec part = {.iov_base = (void *)refusal, .iov_len = strlen(refusal)};
        conn->transport.ops->writev(&conn->transport, &part, 1);
        conn_linger(conn);
        return;
    }
    conn_watch(conn, EV_READ);
    conn_deadline(conn,
                  loop->now_ns + (loop->finishing ? FINISHING_MS * INT64_C(1000000) : loop->options.head_timeout_ns));
}

static void remove_paced(struct conn *conn);

static void release(struct conn *conn) {
    struct loop *loop = conn->loop;
    if (conn->is_paced)
        remove_paced(conn);
    conn_unhold(conn);
    conn_watch(conn, 0);
    deadlines_remove(&loop->deadlines, &conn->deadline);
    conn->transport.ops->close(&conn->transport);
    if (conn->previous)
        conn->previous->next = conn->next;
    else
        loop->conns = conn->next;
    if (conn->next)
        conn->next->previous = conn->previous;
    loop->conn_count--;
    atomic_fetch_sub(&conn->listener->budget->open, 1);
    free(conn->in);
    free(conn->out);
    free(conn);
}

void conn_close(struct conn *conn) {
    if (conn->state == CONN_CLOSED)
        return;
    struct exchange *exchange = &conn->exchange;
    bool owed = conn->state == CONN_BODY || conn->state == CONN_WAIT;
    bool sending = conn->state == CONN_WRITE;
    bool begun = conn->state == CONN_HEAD && conn->in_seen > 0;
    bool streaming = conn->state == CONN_STREAM;
    conn->state = CONN_CLOSED;
    if ((owed || streaming) && exchange->handler && exchange->handler->gone)
        exchange->handler->gone(exchange);
    if (begun && conn->loop->access)
        conn_access_begin_headless(conn);
    if (owed || begun || sending)
        conn_count(conn, 499, REASON_GONE);
    else if (streaming)
        conn_count(conn, conn->code, (enum reason)conn->reason);
    if (!conn->dispatching)
        release(conn);
}

void conn_linger(struct conn *conn) {
    conn->transport.ops->shutdown(&conn->transport);
    conn->state = CONN_LINGER;
    conn_watch(conn, EV_READ);
    conn_deadline(conn, conn->loop->now_ns + LINGER_MS * INT64_C(1000000));
}

/* Has the other side reset the connection? */
static bool is_reset(struct conn *conn) {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(conn->transport.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0;
}

/* The other side sends no more. An answer that is owed is still sent: to tell a client that closed from one that only
 * finished sending, one interim answer goes out; a closed socket answers it with a reset. */
static void end_of_input(struct conn *conn) {
    if (conn->state != CONN_WAIT) {
        conn_close(conn);
        return;
    }
    conn->end_of_input = true;
    conn_watch(conn, EV_READ | EV_ET);
    if (!conn->exchange.http_1_0 && !conn_send_continue(conn))
        conn_close(conn);
}

void conn_read(struct conn *conn) {
    struct loop *loop = conn->loop;
    size_t size = LOOP_READ_BYTES;
    if (conn->state == CONN_WAIT) {
        if (conn->end_of_input || conn->in_size >= AHEAD_BYTES) { /* only watched for a reset */
            if (is_reset(conn))
                conn_close(conn);
            return;
        }
        size = AHEAD_BYTES - conn->in_size;
    }
    ssize_t got = conn->transport.ops->read(&conn->transport, loop->read_bytes, size);
    if (got < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            conn_close(conn);
    } else if (got == 0) {
        end_of_input(conn);
    } else if (conn->state != CONN_LINGER) {
        conn_work(conn, loop->read_bytes, (size_t)got);
    }
}

static void add_paced(struct conn *conn) {
    struct loop *loop = conn->loop;
    conn->is_paced = true;
    conn->paced_next = NULL;
    if (loop->paced)
        loop->paced_last->paced_next = conn;
    else
        loop->paced = conn;
    loop->paced_last = conn;
}

static void remove_paced(struct conn *conn) {
    struct loop *loop = conn->loop;
    struct conn **link = &loop->paced, *before = NULL;
    while (*link != conn) {
        before = *link;
        link = &(*link)->paced_next;
    }
    *link = conn->paced_next;
    if (loop->paced_last == conn)
        loop->paced_last = before;
    conn->is_paced = false;
}

void conn_resume_paced(struct loop *loop) {
    if (!loop->paced)
        return;
    int64_t end_ns = loop_now(loop) + PACED_MS * INT64_C(1000000);
    struct conn *last = loop->paced_last, *conn;
    do { /* each once, as long as there is time */
        conn = loop->paced;
        remove_paced(conn);
        conn_work(conn, NULL, 0);
    } while (conn != last && loop->paced && loop_now(loop) < end_ns);
}

void conn_work(struct conn *conn, const char *bytes, size_t size) {
    conn->dispatching = true;
    conn_consume(conn, bytes, size);
    conn->dispatching = false;
    if (conn->state == CONN_BODY && conn->pace > 0 && conn->in_size > 0) {
        conn_watch(conn, 0); /* not more before these are worked off */
        add_paced(conn);
        return;
    }
    switch ((enum conn_state)conn->state) {
    case CONN_HEAD:
    case CONN_BODY:
    case CONN_DISCARD:
        if (conn->end_of_input)
            conn_close(conn);
        else
            conn_watch(conn, EV_READ);
        break;
    case CONN_WAIT:
        conn_watch(conn, conn->end_of_input || conn->in_size >= AHEAD_BYTES ? EV_READ | EV_ET : EV_READ);
        break;
    case CONN_WRITE:
        conn_watch(conn, EV_WRITE);
        break;
    case CONN_STREAM:
        conn_watch(conn, conn->out ? EV_READ | EV_WRITE : EV_READ);
        break;
    case CONN_LINGER:
        conn_watch(conn, EV_READ);
        break;
    case CONN_CLOSED:
        release(conn);
        break;
    }
}

/* Closes a connection that owes nothing, unless a request has arrived meanwhile: that is still answered. */
static void close_idle(struct conn *conn) {
    struct loop *loop = conn->loop;
    char byte;
    if (!conn->served) /* it has just connected, and its request is about to come */
        conn_deadline(conn, loop->now_ns + FINISHING_MS * INT64_C(1000000));
    else if (recv(conn->transport.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
        conn_deadline(conn, loop->now_ns + loop->options.head_timeout_ns); /* its event is about to come */
    else
        conn_close(conn);
}

void conn_drain(struct loop *loop) {
    loop->draining = true;
    loop->finishing = true;
    for (struct conn *conn = loop->conns, *next; conn; conn = next) {
        next = conn->next;
        conn->exchange.close = true;
        if (conn->state == CONN_HEAD && conn->in_seen == 0)
            close_idle(conn);
        else if (conn->state == CONN_STREAM)
            conn_end_stream(conn);
    }
}

void conn_give_up(struct loop *loop) {
    for (struct conn *conn = loop->conns, *next; conn; conn = next) {
        next = conn->next;
        if (conn->state == CONN_WAIT && conn->exchange.handler->late)
            conn->exchange.handler->late(&conn->exchange);
    }
}

void conn_deadline_passed(struct deadline *deadline, struct loop *loop) {
    struct conn *conn = (struct conn *)((char *)deadline - offsetof(struct conn, deadline));
    assert(conn->loop == loop);
    (void)loop;
    switch ((enum conn_state)conn->state) {
    case CONN_HEAD:
        if (conn->in_seen == 0)
            conn_close(conn);
        else
            conn_refuse(conn, 408, REASON_HEAD_TIMEOUT, "the request head did not arrive in time");
        break;
    case CONN_BODY:
        conn_refuse(conn, 408, REASON_BODY_TIMEOUT, "the request body did not arrive in time");
        break;
    case CONN_WAIT:
        if (conn->exchange.handler->late)
            conn->exchange.handler->late(&conn->exchange);
        break;
    case CONN_WRITE:
    case CONN_STREAM:
    case CONN_DISCARD:
    case CONN_LINGER:
        conn_close(conn);
        break;
    case CONN_CLOSED:
        break;
    }
}
