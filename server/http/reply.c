#include "server/http/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/bytes.h"
#include "server/http/loop.h"

#define NO_STORE "Cache-Control: no-store\r\n"

const char *reply_phrase(int code) {
    switch (code) {
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 302:
        return "Found";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 415:
        return "Unsupported Media Type";
    case 417:
        return "Expectation Failed";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Unknown";
    }
}

int reply_code(enum weir_status status, enum reason *reason) {
    static const struct {
        short code;
        short reason;
    } table[WEIR_STATUS_COUNT] = {
        [WEIR_OK] = {200, REASON_OK},
        [WEIR_INVALID] = {400, REASON_BAD_REQUEST},
        [WEIR_UNSUPPORTED] = {400, REASON_BAD_REQUEST},
        [WEIR_NOT_FOUND] = {404, REASON_NOT_FOUND},
        [WEIR_TOO_LARGE] = {413, REASON_TOO_LARGE},
        [WEIR_IO] = {500, REASON_INTERNAL},
        [WEIR_NO_MEMORY] = {503, REASON_BYTES},
        [WEIR_FULL] = {503, REASON_FULL},
        [WEIR_CROWDED] = {503, REASON_BYTES},
        [WEIR_DEADLINE] = {504, REASON_DEADLINE},
        [WEIR_TOO_LATE] = {503, REASON_DEADLINE},
        [WEIR_BUSY] = {503, REASON_DELAY_TARGET},
        [WEIR_CONFLICT] = {409, REASON_CONFLICT},
        [WEIR_CANCELLED] = {500, REASON_INTERNAL},
        [WEIR_NOT_READY] = {503, REASON_NOT_READY},
        [WEIR_DRAINING] = {503, REASON_DRAINING},
        [WEIR_NON_FINITE] = {500, REASON_NON_FINITE},
        [WEIR_DEVICE] = {500, REASON_ENGINE},
        [WEIR_DEVICE_LOST] = {503, REASON_ENGINE},
        [WEIR_INTERNAL] = {500, REASON_INTERNAL},
    };
    *reason = (enum reason)table[status].reason;
    return table[status].code;
}

static void write_error(struct bytes *out, const struct reply_error *error, const char *text) {
    bytes_text(out, "{\"error\":");
    bytes_json_string(out, text, strlen(text));
    bytes_text(out, ",\"code\":");
    bytes_number(out, (uint64_t)error->code);
    bytes_text(out, ",\"reason\":\"");
    bytes_text(out, reason_text(error->reason));
    bytes_text(out, "\"");
    if (error->retry_after_ms > 0) {
        bytes_text(out, ",\"retry_after_ms\":");
        bytes_number(out, error->retry_after_ms);
    }
    bytes_text(out, "}");
}

struct bytes *reply_begin(struct exchange *exchange) {
    struct bytes *body = &exchange->loop->scratch;
    body->size = 0;
    body->failed = false;
    return body;
}

void reply_error(struct exchange *exchange, const struct reply_error *error, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct bytes *body = reply_begin(exchange);
    write_error(body, error, text);
    exchange_reply(exchange, &(struct reply){
                                 .code = error->code,
                                 .reason = error->reason,
                                 .content_type = "application/json",
                                 .headers = error->headers,
                                 .body = body->failed ? "{}" : body->data,
                                 .body_size = body->failed ? 2 : body->size,
                                 .retry_after_s = (error->retry_after_ms + 999) / 1000,
                                 .close = error->close,
                             });
}

void reply_failure(struct exchange *exchange, const struct weir_error *err) {
    struct reply_error error = {.headers = NO_STORE};
    error.code = reply_code(err->status, &error.reason);
    reply_error(exchange, &error, "%s", err->text);
}

void reply_body(struct exchange *exchange, int code, const char *content_type, const struct bytes *body) {
    struct reply reply = {.code = code,
                          .reason = code == 200 ? REASON_OK : REASON_NOT_READY,
                          .content_type = content_type,
                          .headers = NO_STORE,
                          .body = body->data,
                          .body_size = body->size};
    if (body->failed) {
        reply.code = 500;
        reply.reason = REASON_INTERNAL;
        reply.body = NULL;
        reply.body_size = 0;
    }
    exchange_reply(exchange, &reply);
}

void reply_json(struct exchange *exchange, int code, const struct bytes *body) {
    reply_body(exchange, code, "application/json", body);
}
