/* From answers to bytes. */
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/conn.h"
#include "server/http/loop.h"
#include "server/http/reply.h"
#include "server/observe/access_entry.h"
#include "server/observe/metrics.h"
#include "server/put.h"

enum {
    OWN_HEAD_BYTES = 480 + EXCHANGE_ID_BYTES /* what conn_write_head writes at most beside reply->headers */
};
_Static_assert(OWN_HEAD_BYTES + REPLY_HEADERS_BYTES <= (int)CONN_HEAD_BYTES, "a reply's headers fit beside our own");

void conn_count(struct conn *conn, int code, enum reason reason) {
    struct exchange *exchange = &conn->exchange;
    enum route route = exchange->handler ? exchange->handler->route : ROUTE_OTHER;
    metrics_count_request(conn->loop->metrics, route, code, reason, exchange->model,
                          loop_now(conn->loop) - exchange->started_ns);
    if (conn->loop->access)
        conn_access_end(conn, code, reason);
    if (exchange->traced)
        conn_trace_end(conn, code, reason);
}

size_t conn_write_head(struct conn *conn, const struct reply *reply, bool is_stream, char *head) {
    struct exchange *exchange = &conn->exchange;
    char *to = put_text(head, "HTTP/1.1 ");
    to = put_number(to, (uint64_t)reply->code);
    *to++ = ' ';
    to = put_text(to, reply_phrase(reply->code));
    if (reply->content_type) {
        to = put_text(to, "\r\nContent-Type: ");
        to = put_text(to, reply->content_type);
    }
    if (is_stream) {
        to = put_text(to, exchange->http_1_0 ? "" : "\r\nTransfer-Encoding: chunked");
    } else if (reply->code != 204) {
        to = put_text(to, "\r\nContent-Length: ");
        to = put_number(to, reply->body_size);
    }
    to = put_text(to, "\r\nDate: ");
    to = put_text(to, loop_date(conn->loop));
    if (exchange->close)
        to = put_text(to, "\r\nConnection: close");
    else if (exchange->http_1_0)
        to = put_text(to, "\r\nConnection: keep-alive");
    if (reply->retry_after_s > 0) {
        to = put_text(to, "\r\nRetry-After: ");
        to = put_number(to, reply->retry_after_s);
    }
    if (exchange->request_id[0]) {
        to = put_text(to, "\r\nX-Request-Id: ");
        to = put_text(to, exchange->request_id);
    }
    if (trace_context_is_there(&exchange->trace)) {
        to = put_text(to, "\r\ntraceparent: ");
        to = trace_context_write(&exchange->trace, to);
    }
    to = put_text(to, "\r\n");
    if (reply->headers && strlen(reply->headers) < REPLY_HEADERS_BYTES)
        to = put_text(to, reply->headers);
    to = put_text(to, "\r\n");
    return (size_t)(to - head);
}

/* Keeps what the socket did not take. Returns false without memory. */
static bool keep_output(struct conn *conn, const struct iovec *parts, int count, size_t sent) {
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    char *out = malloc(total - sent);
    if (!out)
        return false;
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        memcpy(out + used, (const char *)parts[i].iov_base + skip, parts[i].iov_len - skip);
        used += parts[i].iov_len - skip;
        sent -= skip;
    }
    conn->out = out;
    conn->out_size = used;
    conn->out_sent = 0;
    return true;
}

bool conn_send_continue(struct conn *conn) {
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec part = {.iov_base = (void *)interim, .iov_len = sizeof interim - 1};
    return conn->transport.ops->writev(&conn->transport, &part, 1) == (ssize_t)part.iov_len;
}

void conn_unhold(struct conn *conn) {
    if (conn->unhold)
        conn->unhold(conn->unhold_context, conn->out_size);
    conn->unhold = NULL;
}

void exchange_reply(struct exchange *exchange, const struct reply *reply) {
    struct conn *conn = exchange->conn;
    char head[CONN_HEAD_BYTES];
    /* A client that was not told to send its body, or has too much of it left, is not waited for. */
    bool too_much = !conn->body_done && !conn->chunked && conn->body_left > CONN_DISCARD_BYTES;
    if (reply->close || too_much || (exchange->expects_continue && !conn->body_done))
        exchange->close = true;
    conn->code = (uint16_t)reply->code;
    conn->reason = (uint8_t)reply->reason;
    size_t head_size = conn_write_head(conn, reply, false, head);
    struct iovec parts[2] = {{.iov_base = head, .iov_len = head_size},
                             {.iov_base = (void *)reply->body, .iov_len = reply->body_size}};
    int count = exchange->head_only || reply->body_size == 0 ? 1 : 2;
    size_t total = head_size + (count == 2 ? reply->body_size : 0);
    ssize_t sent = conn->transport.ops->writev(&conn->transport, parts, count);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        conn->state = CONN_WRITE;
        conn_close(conn);
        return;
    }
    if (sent < 0)
        sent = 0;
    if (exchange->entry)
        exchange->entry->answer_bytes = (int64_t)sent - (int64_t)head_size;
    if ((size_t)sent == total) {
        conn_answered(conn);
        return;
    }
    conn->state = CONN_WRITE;
    if ((reply->hold && !reply->hold(reply->context, total - (size_t)sent)) ||
        !keep_output(conn, parts, count, (size_t)sent)) {
        conn_close(conn);
        return;
    }
    if (reply->hold) {
        conn->unhold = reply->unhold;
        conn->unhold_context = reply->context;
    }
    conn_watch(conn, EV_WRITE);
    conn_deadline(conn, conn->loop->now_ns + conn->loop->options.write_timeout_ns);
}

bool conn_send_kept(struct conn *conn) {
    struct iovec part = {.iov_base = conn->out + conn->out_sent, .iov_len = conn->out_size - conn->out_sent};
    ssize_t sent = conn->transport.ops->writev(&conn->transport, &part, 1);
    if (sent < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            conn_close(conn);
        return false;
    }
    conn->out_sent += (size_t)sent;
    if (conn->exchange.entry)
        conn->exchange.entry->answer_bytes += sent;
    if (conn->out_sent < conn->out_size)
        return false;
    conn_unhold(conn);
    free(conn->out);
    conn->out = NULL;
    return true;
}

void conn_flush(struct conn *conn) {
    if (conn->state == CONN_STREAM)
        conn_flush_stream(conn);
    else if (conn_send_kept(conn))
        conn_answered(conn);
}

void conn_answered(struct conn *conn) {
    struct loop *loop = conn->loop;
    struct exchange *exchange = &conn->exchange;
    if (conn->code != 0)
        conn_count(conn, conn->code, (enum reason)conn->reason);
    conn->code = 0;
    conn->served = true;
    if (exchange->close) {
        conn_linger(conn);
        return;
    }
    if (conn->parsing_body || !conn->body_done) {
        conn->state = CONN_DISCARD;
        conn_deadline(conn, loop->now_ns + loop->options.body_timeout_ns);
    } else {
        conn->state = CONN_HEAD;
        conn->in_seen = 0;
        exchange->handler = NULL;
        exchange->model = 0;
        conn_deadline(conn, loop->now_ns + loop->options.idle_timeout_ns);
    }
    if (!conn->dispatching)
        conn_work(conn, NULL, 0);
}

void conn_refuse(struct conn *conn, int code, enum reason reason, const char *text) {
    struct exchange *exchange = &conn->exchange;
    if (conn->state == CONN_HEAD) {
        static const struct handler nobody = {.route = ROUTE_OTHER};
        if (conn->in_seen == 0 && exchange->started_ns == 0)
            exchange->started_ns = conn->loop->now_ns;
        exchange->handler = &nobody;
        exchange->http_1_0 = false;
        exchange->head_only = false;
        exchange->model = 0;
        exchange->request_id[0] = 0;
        exchange->trace = (struct trace_context){.span = 0};
        if (conn->loop->access)
            conn_access_begin_headless(conn);
    } else if (conn->state == CONN_BODY && exchange->handler->gone) {
        exchange->handler->gone(exchange);
    }
    conn->state = CONN_WAIT;
    reply_error(exchange, &(struct reply_error){.code = code, .reason = reason, .close = true}, "%s", text);
}

void exchange_set_deadline(struct exchange *exchange, int64_t at_ns) {
    if (exchange->conn->state == CONN_WAIT)
        conn_deadline(exchange->conn, at_ns);
    exchange->deadline_ns = at_ns;
}

void exchange_set_pace(struct exchange *exchange, size_t bytes) {
    exchange->conn->pace = bytes;
}

void exchange_set_body_limit(struct exchange *exchange, uint64_t bytes) {
    exchange->conn->body_limit = bytes;
}

const char *exchange_peer(const struct exchange *exchange, char *text, size_t size) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char host[64] = "?", port[8] = "?";
    if (getpeername(exchange->conn->transport.fd, (struct sockaddr *)&address, &length) == 0)
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool v6 = address.ss_family == AF_INET6;
    snprintf(text, size, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
    return text;
}
