/* A double of an HTTP server for one test: each connection gets one scripted answer, byte for byte. */
#ifndef WEIR_TESTS_FAKES_HTTP_DOUBLE_H
#define WEIR_TESTS_FAKES_HTTP_DOUBLE_H

#include <pthread.h>
#include <stdatomic.h>

enum { HTTP_DOUBLE_MOST = 8 };

struct http_double {
    const char *answers[HTTP_DOUBLE_MOST]; /* in turn, the last one for all that follow; NULL there: it is silent */
    int answer_count;
    int port;
    char *requests;   /* all bytes that came, one request after the other, and a NUL; valid after http_double_stop */
    atomic_int count; /* requests that came whole */
    int fd, stop_fd;
    pthread_t thread;
};

/* Fills in port. The caller has set the answers. */
void http_double_start(struct http_double *server);

/* Ends the thread; then `requests` may be read, and is freed by the caller. */
void http_double_stop(struct http_double *server);

#endif
