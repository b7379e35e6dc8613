/* A small HTTP client for the commands that ask a running server: one request on one connection. */
#ifndef WEIR_SERVER_CLI_HTTP_CLIENT_H
#define WEIR_SERVER_CLI_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct http_target {
    char host[256]; /* without brackets */
    char port[8];
};

struct http_question {
    const struct http_target *target;
    const char *method, *path;
    const char *body;  /* JSON; NULL: none */
    int limit_ms;      /* for all of it; 0: connecting alone is limited */
    size_t most_bytes; /* of the answer; what is over is cut */
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

/* Asks. Returns false after saying on stderr what went wrong. Owner of out: the caller, http_client_release. */
bool http_client_ask(const struct http_question *question, struct http_answer *out);
void http_client_release(struct http_answer *answer);

#endif
