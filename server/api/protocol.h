/* What the protocols of a prediction have of their own. The rest is api_predict.c's: which version, admission,
 * deadlines, the way through the engine and back. */
#ifndef WEIR_SERVER_API_PROTOCOL_H
#define WEIR_SERVER_API_PROTOCOL_H

#include "engine/status.h"
#include "server/bytes.h"
#include "server/codec/codec.h"
#include "server/http/exchange.h"

struct prediction;

enum { PROTOCOL_HEADERS_BYTES = 128 };

struct protocol_answer {
    struct bytes *body; /* empty at first */
    const char *content_type;
    char headers[PROTOCOL_HEADERS_BYTES]; /* further lines, each ending in CRLF; "" at first */
};

/* The paths of a protocol's routes name the model first and then the version, or neither. thread: the loop's. */
struct protocol {
    /* Says how to read the body: format, and what belongs to it. NULL: as Content-Type says, and the answer as Accept
     * does. Errors: UNSUPPORTED (415), INVALID. */
    enum weir_status (*read_head)(const struct request *request, struct decoder_options *options,
                                  struct weir_error *err);
    /* The version that the path's text means for catalog_route; NULL: the server chooses. NULL: the text as it is.
     * Errors: INVALID, NOT_FOUND. */
    enum weir_status (*read_version)(const char *text, const char **out, struct weir_error *err);
    /* Are answers compressed as Accept-Encoding says? Errors never are. */
    bool compresses;
    /* Writes the answer of a job that went well. NULL: codec_encode in the answer's format. Errors: NON_FINITE,
     * INVALID, NO_MEMORY. */
    enum weir_status (*encode)(struct prediction *prediction, struct protocol_answer *answer, struct weir_error *err);
};

/* Everything of a handler of predictions but its route and protocol. */
#define PROTOCOL_HANDLER                                                                                               \
    .methods = METHOD_POST, .allow = "POST, OPTIONS", .head = api_predict_head, .body = api_predict_body,              \
    .end = api_predict_end, .late = api_predict_late, .gone = api_predict_gone
void api_predict_head(struct exchange *exchange, const struct request *request);
void api_predict_body(struct exchange *exchange, const char *bytes, size_t size);
void api_predict_end(struct exchange *exchange);
void api_predict_late(struct exchange *exchange);
void api_predict_gone(struct exchange *exchange);

#endif
