/* One request and its answer, as handlers see them. thread: the connection's loop, all of it. */
#ifndef WEIR_SERVER_HTTP_EXCHANGE_H
#define WEIR_SERVER_HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/framing.h"
#include "server/http/trace_context.h"
#include "server/observe/labels.h"

struct access_entry;
struct trace_entry;
struct conn;
struct loop;
struct exchange;

enum { REQUEST_MAX_FIELDS = 64, EXCHANGE_MAX_CAPTURES = 2, EXCHANGE_CAPTURE_BYTES = 72, EXCHANGE_ID_BYTES = 129 };
enum { REPLY_HEADERS_BYTES = 900 }; /* a reply's further header lines, and a 0 behind them */
enum { EXCHANGE_BEHIND_BYTES = 256 * 1024 };

struct request_field {
    const char *name;
    const char *value; /* without the white space around it */
    uint32_t name_size;
    uint32_t value_size;
};

/* The head of a request. Its texts point into the connection's input and are valid only inside handler->head. */
struct request {
    struct framing framing;
    int method;      /* llhttp's number */
    bool keep_alive; /* what version and Connection say */
    const char *target;
    size_t target_size;
    int field_count;
    struct request_field fields[REQUEST_MAX_FIELDS];
};

/* The field of this name (any case), the first if there are several; NULL if there is none. */
const struct request_field *request_find(const struct request *request, const char *name);

/* Does a field's value equal text (any case)? */
bool request_field_is(const struct request_field *field, const char *text);

enum method_set { METHOD_GET = 1, METHOD_HEAD = 2, METHOD_POST = 4, METHOD_OPTIONS = 8 };

/* A handler answers each request exactly once, in any of its calls or later, by exchange_reply; after that it is not
 * called again for it. Pointers that are NULL are not called. */
struct handler {
    enum route route;
    unsigned methods;  /* enum method_set; OPTIONS is answered by the router */
    const char *allow; /* the same as a header value */
    /* The head is complete. If it does not reply, the body follows. */
    void (*head)(struct exchange *exchange, const struct request *request);
    /* The next piece of the body. Without this function the body is read and dropped. */
    void (*body)(struct exchange *exchange, const char *bytes, size_t size);
    /* The body is complete. */
    void (*end)(struct exchange *exchange);
    /* The deadline of exchange_set_deadline passed after the body was complete, or the server stops: reply now. */
    void (*late)(struct exchange *exchange);
    /* Nobody waits for the answer any more, or the body cannot be completed: let go of all that belongs to exchange,
     * and do not touch it again. */
    void (*gone)(struct exchange *exchange);
    const void *kind; /* for handlers that share their functions */
};

struct exchange {
    struct conn *conn;
    struct loop *loop;
    const struct handler *handler;
    void *context; /* the handler's, from the route */
    void *call;    /* the handler's, for this request */
    /* For the access log: handlers fill in what only they know. NULL: there is no log, or it had no entry left. */
    struct access_entry *entry;
    struct trace_entry *traced; /* likewise, for its trace. NULL: it is not traced */
    int64_t started_ns;         /* first byte of the head */
    int64_t head_ns;            /* end of the head */
    int64_t deadline_ns;
    bool http_1_0;
    bool head_only; /* HEAD: the answer has no body */
    bool close;     /* the connection ends with this answer */
    bool expects_continue;
    int model;                          /* the series it is counted under; 0: it concerns no model */
    struct trace_context trace;         /* the request's traceparent, which the answer has too */
    char request_id[EXCHANGE_ID_BYTES]; /* the request's X-Request-Id, which the answer has too; "" if none is usable */
    char captures[EXCHANGE_MAX_CAPTURES][EXCHANGE_CAPTURE_BYTES]; /* of the route's path */
};

struct reply {
    int code;
    enum reason reason;
    const char *content_type; /* NULL without a body */
    const char *headers;      /* further lines, each ending in CRLF, REPLY_HEADERS_BYTES at most; may be NULL */
    const char *body;         /* copied if it cannot be sent at once */
    size_t body_size;
    uint32_t retry_after_s; /* 0: no such header */
    /* Asked, if not NULL, before what the client does not take at once is kept in memory: false closes the connection.
     * unhold gives the bytes back when they are sent, or the client is gone. context must outlive the connection. */
    bool (*hold)(void *context, size_t bytes);
    void (*unhold)(void *context, size_t bytes);
    void *context;
    bool close;
};

/* Answers. The exchange may be gone when this returns. */
void exchange_reply(struct exchange *exchange, const struct reply *reply);

/* Begins an answer whose body comes in pieces, by exchange_send, for as long as client and server live; the connection
 * ends with it. reply: without a body. From then on handler->gone means the end: the client left, or does not take what
 * is sent (within the write timeout, or EXCHANGE_BEHIND_BYTES of it), or the server drains. An answer to HEAD ends at
 * once: false, the exchange may be gone. */
bool exchange_stream(struct exchange *exchange, const struct reply *reply) __attribute__((warn_unused_result));

/* Sends a piece, copied where the client does not take it at once; never waits. False: it was the end, handler->gone
 * was called, and the exchange may be gone. */
bool exchange_send(struct exchange *exchange, const char *bytes, size_t size);

/* Writes the client's address, "127.0.0.1:4711", into text and returns it. */
const char *exchange_peer(const struct exchange *exchange, char *text, size_t size);

/* The most a chunked body may hold; more is answered 413. From handler->head. */
void exchange_set_body_limit(struct exchange *exchange, uint64_t bytes);

/* The most body bytes the handler takes in one turn of the loop; 0, the default, is all there are. For bodies that cost
 * far more to read than their size says: the other connections get their turns in between. From handler->head. */
void exchange_set_pace(struct exchange *exchange, size_t bytes);

/* When handler->late is called if there is no answer by then; before the end of the body it means 408 instead. */
void exchange_set_deadline(struct exchange *exchange, int64_t at_ns);

#endif
