/* A small HTTP client, for the commands that ask a running server and for what is sent elsewhere: one request on one
 * connection. */
#ifndef WEIR_SERVER_HTTP_CLIENT_H
#define WEIR_SERVER_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/status.h"

struct http_target {
    char host[256]; /* without brackets */
    char port[8];
};

struct http_question {
    const struct http_target *target;
    const char *method, *path;
    const char *body;  /* JSON, of a POST; NULL: none */
    int limit_ms;      /* for all of it but the look-up of a name; 0: connecting alone is limited */
    size_t most_bytes; /* of the answer; what is over is cut */
    int hurry_fd;      /* once it is readable, no more than hurry_ms is waited for; looked at only if these are not 0 */
    int hurry_ms;
};

struct http_answer {
    int status;
    bool is_whole; /* false: it was cut, or the connection ended early */
    char *text;    /* head and body, with a NUL after it */
    char *body;    /* in text */
    size_t body_size;
};

/* Reads "host", "host:port" or "[::1]:port" from the beginning of text; without a port it is fallback_port. Returns
 * what follows, or NULL if it is none of these. */
const char *http_client_read_target(const char *text, const char *fallback_port, struct http_target *out);

/* Writes "host:port", with brackets where the host needs them. */
enum { HTTP_CLIENT_AUTHORITY_BYTES = 280 };
const char *http_client_authority(const struct http_target *target, char authority[HTTP_CLIENT_AUTHORITY_BYTES]);

/* The value of a header of the answer (name in any case), without the space around it, in out; false: it has none, or
 * one that does not fit. */
bool http_client_header(const struct http_answer *answer, const char *name, char *out, size_t size);

/* Asks and waits. Errors: IO, with host and cause. Owner of out: the caller, by http_client_release. thread: any. */
enum weir_status http_client_ask(const struct http_question *question, struct http_answer *out,
                                 struct weir_error *err) WEIR_CHECKED;
void http_client_release(struct http_answer *answer);

#endif
