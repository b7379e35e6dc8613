/* What a connection knows of a request, for the access log. */
#include <netinet/in.h>
#include <string.h>

#include "server/http/conn.h"
#include "server/http/loop.h"
#include "server/observe/access_log.h"

_Static_assert(sizeof((struct access_entry *)0)->trace_id == sizeof((struct trace_context *)0)->trace_id,
               "a trace's id is copied whole");

static void ask_peer(int fd, struct access_peer *out) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    out->family = 0;
    if (getpeername(fd, (struct sockaddr *)&address, &length) != 0)
        return;
    if (address.ss_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&address;
        memcpy(out->address, &ipv4->sin_addr, sizeof ipv4->sin_addr);
        out->port = ntohs(ipv4->sin_port);
    } else if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)&address;
        memcpy(out->address, &ipv6->sin6_addr, sizeof ipv6->sin6_addr);
        out->port = ntohs(ipv6->sin6_port);
    } else {
        return;
    }
    out->family = address.ss_family;
}

static void put_peer(const struct conn *conn, struct access_entry *entry) {
    bool known;
    struct access_peer *peer = access_log_peer(conn->loop->access, conn->transport.fd, &known);
    if (!known)
        ask_peer(conn->transport.fd, peer);
    entry->peer = *peer;
}

static uint8_t copy_field(const struct request *request, const char *name, char *to) {
    const struct request_field *field = request_find(request, name);
    return field ? (uint8_t)access_entry_copy(to, ACCESS_FIELD_BYTES, field->value, field->value_size) : 0;
}

void conn_access_begin(struct conn *conn, const struct request *request) {
    struct access_lane *lane = conn->loop->access;
    struct exchange *exchange = &conn->exchange;
    struct access_entry *entry = exchange->entry = access_log_begin(lane);
    if (!entry)
        return;
    put_peer(conn, entry);
    entry->method = llhttp_method_name((llhttp_method_t)request->method);
    entry->http_1_0 = exchange->http_1_0;
    entry->target_bytes = (uint32_t)request->target_size;
    entry->target_size =
        (uint16_t)access_entry_copy(entry->target, ACCESS_TARGET_BYTES, request->target, request->target_size);
    entry->id_size =
        (uint8_t)access_entry_copy(entry->id, ACCESS_ID_BYTES, exchange->request_id, strlen(exchange->request_id));
    memcpy(entry->trace_id, exchange->trace.trace_id, sizeof entry->trace_id);
    if (access_log_has_fields(lane)) {
        entry->referer_size = copy_field(request, "referer", entry->referer);
        entry->agent_size = copy_field(request, "user-agent", entry->agent);
    }
}

void conn_access_begin_headless(struct conn *conn) {
    struct access_entry *entry = conn->exchange.entry = access_log_begin(conn->loop->access);
    if (entry)
        put_peer(conn, entry);
}

void conn_access_end(struct conn *conn, int code, enum reason reason) {
    struct access_lane *lane = conn->loop->access;
    struct exchange *exchange = &conn->exchange;
    struct access_entry *entry = exchange->entry;
    if (entry) {
        entry->started_ns = exchange->started_ns;
        entry->ended_ns = conn->loop->now_ns;
        entry->route = (uint8_t)(exchange->handler ? exchange->handler->route : ROUTE_OTHER);
        entry->reason = (uint8_t)reason;
        if (entry->finished_ns > 0)
            entry->times_ns[ACCESS_WRITE] = entry->ended_ns - entry->finished_ns;
    }
    access_log_end(lane, entry, code);
    exchange->entry = NULL;
}
