/* From bytes to requests: heads through the gate and llhttp, bodies to their handlers. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http/conn.h"
#include "server/http/listener.h"
#include "server/http/loop.h"
#include "server/http/reply.h"
#include "server/http/router.h"
#include "server/observe/access_entry.h"

/* What llhttp's callbacks fill while it is given one complete head. */
struct head_reader {
    struct conn *conn;
    struct request *request;
    bool overflow;
    bool keep_alive;
};

static bool equals_ignoring_case(const char *bytes, size_t size, const char *text) {
    return strlen(text) == size && strncasecmp(bytes, text, size) == 0;
}

const struct request_field *request_find(const struct request *request, const char *name) {
    for (int i = 0; i < request->field_count; i++)
        if (equals_ignoring_case(request->fields[i].name, request->fields[i].name_size, name))
            return &request->fields[i];
    return NULL;
}

bool request_field_is(const struct request_field *field, const char *text) {
    return equals_ignoring_case(field->value, field->value_size, text);
}

/* While a head is parsed parser->data is its head_reader; afterwards it is the connection. The head is in one piece, so
 * each callback below runs once for each part. */
static int on_url(llhttp_t *parser, const char *at, size_t size) {
    struct head_reader *reader = parser->data;
    reader->request->target = at;
    reader->request->target_size = size;
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t size) {
    struct head_reader *reader = parser->data;
    struct request *request = reader->request;
    if (request->field_count == REQUEST_MAX_FIELDS) {
        reader->overflow = true;
        return 0;
    }
    request->fields[request->field_count++] =
        (struct request_field){.name = at, .name_size = (uint32_t)size, .value = "", .value_size = 0};
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t size) {
    struct head_reader *reader = parser->data;
    struct request *request = reader->request;
    if (reader->overflow || request->field_count == 0)
        return 0;
    while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
        size--;
    request->fields[request->field_count - 1].value = at;
    request->fields[request->field_count - 1].value_size = (uint32_t)size;
    return 0;
}

static int on_headers_complete(llhttp_t *parser);
static int on_body(llhttp_t *parser, const char *at, size_t size);
static int on_message_complete(llhttp_t *parser);

static const llhttp_settings_t head_settings = {
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
};

/* After the head: the fields of a trailer reach nobody. */
static const llhttp_settings_t body_settings = {
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static int on_headers_complete(llhttp_t *parser) {
    struct head_reader *reader = parser->data;
    parser->settings = (void *)&body_settings;
    reader->keep_alive = llhttp_should_keep_alive(parser); /* asked now: the end of a message clears what it needs */
    parser->upgrade = 0;                                   /* Upgrade is ignored: the message is HTTP to its end */
    parser->data = reader->conn;
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t size) {
    struct conn *conn = parser->data;
    if (conn->exchange.entry)
        conn->exchange.entry->body_bytes += size;
    if (conn->state == CONN_BODY && conn->exchange.handler->body)
        conn->exchange.handler->body(&conn->exchange, at, size);
    return 0;
}

static int on_message_complete(llhttp_t *parser) {
    struct conn *conn = parser->data;
    conn->body_done = true;
    return 0;
}

/* Gives the accepted head to llhttp. It must agree with the gate about where the body ends. */
static bool parse_head(struct conn *conn, const char *head, size_t size, struct request *request) {
    struct head_reader reader = {.conn = conn, .request = request};
    llhttp_init(&conn->parser, HTTP_REQUEST, &head_settings);
    conn->parser.data = &reader;
    conn->body_done = false;
    enum llhttp_errno error = llhttp_execute(&conn->parser, head, size);
    conn->parser.data = conn;
    bool has_body = request->framing.chunked || request->framing.content_length > 0;
    if (error != HPE_OK || reader.overflow || conn->body_done == has_body)
        return false;
    request->method = conn->parser.method;
    request->keep_alive = reader.keep_alive;
    if (!request->framing.chunked && has_body && conn->parser.content_length != request->framing.content_length)
        return false;
    return true;
}

static unsigned method_bit(int method) {
    switch (method) {
    case HTTP_GET:
        return METHOD_GET;
    case HTTP_HEAD:
        return METHOD_HEAD;
    case HTTP_POST:
        return METHOD_POST;
    case HTTP_OPTIONS:
        return METHOD_OPTIONS;
    default:
        return 0;
    }
}

static void answer_options(struct exchange *exchange, const char *allow) {
    char headers[96] = "Allow: ";
    strncat(headers, allow, sizeof headers - 16);
    strcat(headers, "\r\n");
    exchange_reply(exchange, &(struct reply){.code = 204, .reason = REASON_OK, .headers = headers});
}

/* Keeps X-Request-Id if it is visible ASCII and not too long: others are ignored. */
static void read_request_id(const struct request *request, struct exchange *exchange) {
    const struct request_field *field = request_find(request, "x-request-id");
    bool is_usable = field && field->value_size < sizeof exchange->request_id;
    for (uint32_t i = 0; is_usable && i < field->value_size; i++)
        is_usable = field->value[i] > 0x20 && field->value[i] < 0x7F;
    size_t size = is_usable ? field->value_size : 0;
    if (size > 0)
        memcpy(exchange->request_id, field->value, size);
    exchange->request_id[size] = 0;
}

/* Of two nobody knows which is meant: then there is none. Source: W3C Trace Context, 3.2. */
static void read_trace(const struct request *request, struct exchange *exchange) {
    const struct request_field *field = request_find(request, "traceparent");
    for (const struct request_field *other = field; other && ++other < request->fields + request->field_count;)
        if (equals_ignoring_case(other->name, other->name_size, "traceparent"))
            field = NULL;
    exchange->trace = (struct trace_context){.span = 0};
    if (field)
        trace_context_read(&exchange->trace, field->value, field->value_size, loop_random(exchange->loop));
}

/* Finds who answers. */
static void route(struct conn *conn, const struct request *request) {
    struct exchange *exchange = &conn->exchange;
    struct router_match match;
    unsigned method = method_bit(request->method);
    static const struct handler nobody = {.route = ROUTE_OTHER};
    exchange->handler = &nobody;
    if (method == METHOD_OPTIONS && request->target_size == 1 && request->target[0] == '*') {
        answer_options(exchange, "GET, HEAD, POST, OPTIONS");
        return;
    }
    if (request->method == HTTP_CONNECT) {
        reply_error(
            exchange,
            &(struct reply_error){
                .code = 405, .reason = REASON_METHOD, .headers = "Allow: GET, HEAD, POST, OPTIONS\r\n", .close = true},
            "CONNECT is not served here");
        return;
    }
    switch (router_find(conn->listener->router, conn->listener->route_sets, request->target, request->target_size,
                        &match)) {
    case ROUTER_BAD_TARGET:
        reply_error(exchange, &(struct reply_error){.code = 400, .reason = REASON_BAD_REQUEST},
                    "the request target has a bad percent encoding");
        return;
    case ROUTER_NOT_FOUND:
        reply_error(exchange, &(struct reply_error){.code = 404, .reason = REASON_NOT_FOUND}, "no such path");
        return;
    case ROUTER_FOUND:
        break;
    }
    const struct router_entry *entry = match.entry;
    exchange->handler = entry->handler;
    exchange->context = entry->context;
    memcpy(exchange->captures, match.captures, sizeof match.captures);
    if (conn->loop->traces)
        conn_trace_draw(conn, request);
    if (method == METHOD_OPTIONS) {
        answer_options(exchange, entry->handler->allow);
    } else if (!(method & entry->handler->methods)) {
        char headers[96] = "Allow: ";
        strncat(headers, entry->handler->allow, sizeof headers - 16);
        strcat(headers, "\r\n");
        reply_error(exchange, &(struct reply_error){.code = 405, .reason = REASON_METHOD, .headers = headers},
                    "%s takes %s", entry->path, entry->handler->allow);
    } else {
        entry->handler->head(exchange, request);
    }
}

/* The head is complete in head[0..size). */
static void begin_exchange(struct conn *conn, const char *head, size_t size, bool more_follows) {
    struct loop *loop = conn->loop;
    struct exchange *exchange = &conn->exchange;
    struct request request = {.field_count = 0};
    struct framing_fault fault;
    if (!framing_judge_head(head, size, &loop->options.framing, &request.framing, &fault)) {
        conn_refuse(conn, fault.code, REASON_FRAMING, fault.text);
        return;
    }
    if (!parse_head(conn, head, size, &request)) {
        conn_refuse(conn, 400, REASON_FRAMING, "the request head is malformed");
        return;
    }
    /* Its sender counts from when it sent it; on a loop with much to do that is a while ago. */
    exchange->head_ns = loop->turn_ns > 0 ? loop->arrival_ns : loop->now_ns;
    exchange->deadline_ns = DEADLINE_NEVER;
    exchange->http_1_0 = request.framing.http_1_0;
    exchange->head_only = request.method == HTTP_HEAD;
    exchange->close = !request.keep_alive || loop->draining;
    exchange->expects_continue = request.framing.expect_continue && !more_follows;
    exchange->model = 0;
    exchange->call = NULL;
    read_request_id(&request, exchange);
    read_trace(&request, exchange);
    if (loop->access)
        conn_access_begin(conn, &request);
    if (loop->traces)
        conn_trace_begin(conn, &request);
    conn->chunked = request.framing.chunked;
    conn->body_limit = CONN_DISCARD_BYTES;
    conn->pace = 0;
    conn->body_left = conn->chunked ? 0 : request.framing.content_length;
    framing_chunks_init(&conn->chunks);
    conn->state = CONN_BODY;
    bool has_body = !conn->body_done;

    route(conn, &request);
    if (conn->state != CONN_BODY)
        return;
    if (has_body) {
        if (exchange->expects_continue && !conn_send_continue(conn)) {
            conn_close(conn);
            return;
        }
        exchange->expects_continue = false;
        int64_t at_ns = exchange->head_ns + loop->options.body_timeout_ns;
        conn_deadline(conn, exchange->deadline_ns < at_ns ? exchange->deadline_ns : at_ns);
    }
}

/* The body is complete: the handler may answer now or later. */
static void end_body(struct conn *conn) {
    conn->state = CONN_WAIT;
    conn_deadline(conn, conn->exchange.deadline_ns);
    if (conn->exchange.handler->end)
        conn->exchange.handler->end(&conn->exchange);
}

/* Passes body bytes on. Returns how many of them belonged to the body. */
static size_t consume_body(struct conn *conn, const char *bytes, size_t size) {
    if (conn->pace > 0 && size > conn->pace && conn->state == CONN_BODY)
        size = conn->pace;
    size_t take = size;
    bool complete;
    if (conn->chunked) {
        struct framing_fault fault;
        enum framing_progress progress =
            framing_chunks_scan(&conn->chunks, bytes, size, conn->body_limit, &take, &fault);
        if (progress == FRAMING_FAULT) {
            if (conn->state == CONN_DISCARD)
                conn_linger(conn);
            else
                conn_refuse(conn, fault.code, fault.code == 413 ? REASON_TOO_LARGE : REASON_FRAMING, fault.text);
            return size;
        }
        complete = progress == FRAMING_COMPLETE;
        if (!complete)
            take = size;
    } else {
        if (take > conn->body_left)
            take = (size_t)conn->body_left;
        conn->body_left -= take;
        complete = conn->body_left == 0;
    }
    conn->parsing_body = true;
    enum llhttp_errno error = llhttp_execute(&conn->parser, bytes, take);
    conn->parsing_body = false;
    if (conn->state != CONN_BODY && conn->state != CONN_DISCARD)
        return take; /* the handler ended the connection */
    if (error != HPE_OK || conn->body_done != complete) {
        if (conn->state == CONN_DISCARD)
            conn_linger(conn);
        else
            conn_refuse(conn, 400, REASON_FRAMING, "the request body is malformed");
        return size;
    }
    if (complete && conn->state == CONN_BODY)
        end_body(conn);
    else if (complete)
        conn_answered(conn);
    return take;
}

/* Looks for a head. Returns how many bytes are used up. */
static size_t consume_head(struct conn *conn, const char *bytes, size_t size) {
    struct loop *loop = conn->loop;
    size_t skipped = conn->in_seen == 0 && !conn->skipped_line ? framing_skip_empty_lines(bytes, size) : 0;
    if (skipped > 0)
        conn->skipped_line = true;
    bytes += skipped;
    size -= skipped;
    if (size == 0 || (size == 1 && bytes[0] == '\r' && conn->in_seen == 0 && !conn->skipped_line))
        return skipped;
    struct framing_fault fault;
    size_t end;
    if (conn->in_seen == 0)
        conn->exchange.started_ns = loop->now_ns;
    switch (framing_scan_head(bytes, size, conn->in_seen, &loop->options.framing, &end, &fault)) {
    case FRAMING_MORE:
        if (conn->in_seen == 0)
            conn_deadline(conn, loop->now_ns + loop->options.head_timeout_ns);
        conn->in_seen = (uint32_t)size;
        return skipped;
    case FRAMING_FAULT:
        conn_refuse(conn, fault.code, REASON_FRAMING, fault.text);
        return skipped + size;
    case FRAMING_COMPLETE:
        break;
    }
    conn->in_seen = 0;
    conn->skipped_line = false;
    begin_exchange(conn, bytes, end, size > end);
    if (conn->state == CONN_BODY && conn->body_done)
        end_body(conn);
    return skipped + end;
}

/* Keeps bytes[0..size) for later; bytes may lie inside conn->in. */
static bool keep(struct conn *conn, const char *bytes, size_t size) {
    if (size == 0) {
        free(conn->in);
        conn->in = NULL;
        conn->in_size = conn->in_capacity = 0;
        return true;
    }
    bool inside = conn->in && bytes >= conn->in && bytes <= conn->in + conn->in_size;
    if (!inside && size > conn->in_capacity) {
        size_t capacity = size < 1024 ? 1024 : size;
        char *in = malloc(capacity);
        if (!in)
            return false;
        free(conn->in);
        conn->in = in;
        conn->in_capacity = (uint32_t)capacity;
    }
    memmove(conn->in, bytes, size);
    conn->in_size = (uint32_t)size;
    return true;
}

/* Appends to what is kept. */
static bool append(struct conn *conn, const char *bytes, size_t size) {
    size_t need = conn->in_size + size;
    if (need > conn->in_capacity) {
        size_t capacity = need + need / 2;
        char *in = realloc(conn->in, capacity);
        if (!in)
            return false;
        conn->in = in;
        conn->in_capacity = (uint32_t)capacity;
    }
    memcpy(conn->in + conn->in_size, bytes, size);
    conn->in_size += (uint32_t)size;
    return true;
}

void conn_consume(struct conn *conn, const char *bytes, size_t size) {
    if (conn->in_size > 0) {
        if (size > 0 && !append(conn, bytes, size)) {
            conn_close(conn);
            return;
        }
        bytes = conn->in;
        size = conn->in_size;
    }
    bool stuck = false;
    while (size > 0 && !stuck) {
        size_t used = 0;
        switch ((enum conn_state)conn->state) {
        case CONN_HEAD:
            used = consume_head(conn, bytes, size);
            stuck = conn->state == CONN_HEAD && (conn->in_seen > 0 || used == 0);
            break;
        case CONN_BODY:
        case CONN_DISCARD:
            used = consume_body(conn, bytes, size);
            stuck = conn->pace > 0 && conn->state == CONN_BODY;
            break;
        case CONN_WAIT:
        case CONN_WRITE:
            stuck = true;
            break;
        case CONN_STREAM:
        case CONN_LINGER:
        case CONN_CLOSED:
            used = size;
            break;
        }
        bytes += used;
        size -= used;
    }
    if (!keep(conn, bytes, size))
        conn_close(conn);
}
