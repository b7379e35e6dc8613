/* The answers that are not a prediction: error objects, and the map from outcomes to HTTP. */
#ifndef WEIR_SERVER_HTTP_REPLY_H
#define WEIR_SERVER_HTTP_REPLY_H

#include "engine/status.h"
#include "server/bytes.h"
#include "server/http/exchange.h"

/* The reason phrase of a code, such as "Not Found". */
const char *reply_phrase(int code);

/* The HTTP code and reason for an outcome: the only such map. */
int reply_code(enum weir_status status, enum reason *reason);

struct reply_error {
    int code;
    enum reason reason;
    uint32_t retry_after_ms; /* 0: none; the Retry-After header is rounded up to whole seconds */
    const char *headers;     /* further header lines, or NULL */
    bool close;
};

/* Answers {"error": text, "code": ..., "reason": ..., "retry_after_ms": ...}. */
void reply_error(struct exchange *exchange, const struct reply_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Answers with what reply_code says of err, and its text. */
void reply_failure(struct exchange *exchange, const struct weir_error *err);

/* Where an answer's body is written: the loop's own buffer, emptied. It holds until reply_body or another reply. */
struct bytes *reply_begin(struct exchange *exchange);

/* Answers with a body of reply_begin, which no cache may keep. A code other than 200 says that something is not ready.
 * A body for which memory ran out becomes an empty 500. */
void reply_body(struct exchange *exchange, int code, const char *content_type, const struct bytes *body);

/* The same for JSON. */
void reply_json(struct exchange *exchange, int code, const struct bytes *body);

#endif
