/* Answers whose body comes in pieces, without a known end. */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/clock.h"
#include "server/http/conn.h"
#include "server/http/loop.h"
#include "server/observe/access_entry.h"

/* Keeps bytes for later, behind those that wait already. False: no memory. */
static bool keep(struct conn *conn, const char *bytes, size_t size) {
    size_t left = conn->out ? conn->out_size - conn->out_sent : 0;
    if (size == 0)
        return true;
    char *out = malloc(left + size);
    if (!out)
        return false;
    if (left > 0)
        memcpy(out, conn->out + conn->out_sent, left);
    memcpy(out + left, bytes, size);
    free(conn->out);
    if (left == 0) /* the time to take it begins */
        conn_deadline(conn, conn->loop->now_ns + conn->loop->options.write_timeout_ns);
    conn->out = out;
    conn->out_size = left + size;
    conn->out_sent = 0;
    return true;
}

/* Sends parts, or keeps what the socket does not take. False: the connection is of no more use. */
static bool send_parts(struct conn *conn, const struct iovec *parts, int count) {
    ssize_t sent = 0;
    bool good = true;
    if (!conn->out) {
        sent = conn->transport.ops->writev(&conn->transport, parts, count);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            return false;
        if (sent > 0 && conn->exchange.entry)
            conn->exchange.entry->answer_bytes += sent;
    }
    size_t skip = sent > 0 ? (size_t)sent : 0;
    for (int i = 0; i < count; i++) {
        size_t taken = skip < parts[i].iov_len ? skip : parts[i].iov_len;
        good = good && keep(conn, (const char *)parts[i].iov_base + taken, parts[i].iov_len - taken);
        skip -= taken;
    }
    return good;
}

bool exchange_stream(struct exchange *exchange, const struct reply *reply) {
    struct conn *conn = exchange->conn;
    char head[CONN_HEAD_BYTES];
    exchange->close = true;
    conn->code = (uint16_t)reply->code;
    conn->reason = (uint8_t)reply->reason;
    struct iovec part = {.iov_base = head, .iov_len = conn_write_head(conn, reply, true, head)};
    if (exchange->entry)
        exchange->entry->answer_bytes = -(int64_t)part.iov_len;
    conn->state = CONN_STREAM;
    conn_deadline(conn, DEADLINE_NEVER);
    /* A client that fell off the net is noticed by what it does not acknowledge. */
    unsigned wait_ms = (unsigned)(conn->loop->options.write_timeout_ns / CLOCK_NS_PER_MS);
    setsockopt(conn->transport.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &wait_ms, sizeof wait_ms);
    if (!send_parts(conn, &part, 1)) {
        conn_close(conn);
        return false;
    }
    if (!exchange->head_only)
        return true;
    conn->state = CONN_WRITE;
    if (conn->out)
        conn_watch(conn, EV_WRITE);
    else
        conn_answered(conn);
    return false;
}

bool exchange_send(struct exchange *exchange, const char *bytes, size_t size) {
    struct conn *conn = exchange->conn;
    char length[24];
    loop_now(conn->loop);
    size_t behind = conn->out ? conn->out_size - conn->out_sent : 0;
    if (behind > 0 && behind + size > EXCHANGE_BEHIND_BYTES) {
        conn_close(conn);
        return false;
    }
    int length_size = snprintf(length, sizeof length, "%zx\r\n", size);
    struct iovec parts[3] = {{.iov_base = length, .iov_len = (size_t)length_size},
                             {.iov_base = (void *)bytes, .iov_len = size},
                             {.iov_base = (void *)"\r\n", .iov_len = 2}};
    bool is_plain = exchange->http_1_0;
    if (size > 0 && !send_parts(conn, is_plain ? &parts[1] : parts, is_plain ? 1 : 3)) {
        conn_close(conn);
        return false;
    }
    if (!conn->dispatching)
        conn_watch(conn, conn->out ? EV_READ | EV_WRITE : EV_READ);
    return true;
}

void conn_flush_stream(struct conn *conn) {
    if (conn->out && !conn_send_kept(conn))
        return;
    conn_deadline(conn, DEADLINE_NEVER);
    conn_watch(conn, EV_READ);
}

void conn_end_stream(struct conn *conn) {
    static const char last[] = "0\r\n\r\n";
    struct iovec part = {.iov_base = (void *)last, .iov_len = sizeof last - 1};
    if (!conn->out && !conn->exchange.http_1_0)
        conn->transport.ops->writev(&conn->transport, &part, 1);
    conn_close(conn);
}
