/* What a connection knows of a request, for its trace. */
#include <string.h>

#include "server/http/conn.h"
#include "server/http/loop.h"
#include "server/observe/access_entry.h"
#include "server/observe/traces.h"

_Static_assert((int)TRACE_CONTEXT_ID_BYTES == (int)TRACE_ID_BYTES, "a trace's id is copied whole");

static uint8_t copy(char *to, size_t capacity, const char *text, size_t size) {
    size_t taken = size < capacity ? size : capacity;
    memcpy(to, text, taken);
    return (uint8_t)taken;
}

static void begin(struct conn *conn, const struct request *request) {
    struct exchange *exchange = &conn->exchange;
    struct trace_entry *entry = exchange->traced = traces_begin(conn->loop->traces);
    if (!entry)
        return;
    const char *query = memchr(request->target, '?', request->target_size);
    size_t path_size = query ? (size_t)(query - request->target) : request->target_size;
    memcpy(entry->trace_id, exchange->trace.trace_id, sizeof entry->trace_id);
    entry->span = exchange->trace.span;
    entry->parent = exchange->trace.parent;
    entry->method = llhttp_method_name((llhttp_method_t)request->method);
    entry->http_1_0 = exchange->http_1_0;
    entry->path_size = copy(entry->path, sizeof entry->path, request->target, path_size);
    entry->id_size = copy(entry->id, sizeof entry->id, exchange->request_id, strlen(exchange->request_id));
}

void conn_trace_begin(struct conn *conn, const struct request *request) {
    conn->exchange.traced = NULL;
    if (trace_context_is_sampled(&conn->exchange.trace))
        begin(conn, request);
}

void conn_trace_draw(struct conn *conn, const struct request *request) {
    struct exchange *exchange = &conn->exchange;
    struct loop *loop = conn->loop;
    if ((int)exchange->handler->route > (int)ROUTE_LAST_PREDICTION || trace_context_is_there(&exchange->trace) ||
        !traces_draw(loop->traces))
        return;
    trace_context_begin(&exchange->trace, loop_random(loop), loop_random(loop), loop_random(loop));
    if (exchange->entry)
        memcpy(exchange->entry->trace_id, exchange->trace.trace_id, sizeof exchange->entry->trace_id);
    begin(conn, request);
}

void conn_trace_end(struct conn *conn, int code, enum reason reason) {
    struct exchange *exchange = &conn->exchange;
    struct trace_entry *entry = exchange->traced;
    entry->started_ns = exchange->started_ns;
    entry->ended_ns = conn->loop->now_ns;
    entry->route = (uint8_t)(exchange->handler ? exchange->handler->route : ROUTE_OTHER);
    entry->reason = (uint8_t)reason;
    entry->code = (uint16_t)code;
    traces_end(conn->loop->traces, entry);
    exchange->traced = NULL;
}
