/* A listening socket with the routes it serves. The loop it lives on accepts and deals connections out to all loops. */
#ifndef WEIR_SERVER_HTTP_LISTENER_H
#define WEIR_SERVER_HTTP_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"

struct event;
struct loop;
struct router;

/* How many connections there are and may be, over all listeners and loops. */
struct listener_budget {
    _Atomic uint32_t open;
    uint32_t max;
};

struct listener {
    struct loop *loops; /* loop_count of them; the first one accepts */
    int loop_count;
    int next_loop;
    const struct router *router;
    unsigned route_sets;
    struct listener_budget *budget;
    struct event *event;
    struct event *retry;
    int fd;
    char address[80]; /* "127.0.0.1:8000", "[::1]:8000" */
};

struct listener_options {
    const char *host; /* a name or a literal address; IPv6 with or without brackets; "::" takes both families */
    int port;         /* 0: any */
    struct loop *loops;
    int loop_count;
    const struct router *router;
    unsigned route_sets;
    struct listener_budget *budget;
};

/* Binds and listens; connections are queued by the kernel until listener_start. No SO_REUSEPORT: a port in use is an
 * error. Errors: INVALID (host), IO (names the address and the reason). */
enum weir_status listener_open(struct listener *listener, const struct listener_options *options,
                               struct weir_error *err) WEIR_CHECKED;

/* Begins to accept. Before the loops start, or on the first loop's thread. */
enum weir_status listener_start(struct listener *listener, struct weir_error *err) WEIR_CHECKED;

/* Accepts what the kernel has queued, then closes: whoever connected before is still served. thread: the first loop's.
 */
void listener_finish(struct listener *listener);

/* Stops accepting and closes the socket; open connections stay. thread: the first loop's, or after it stopped. */
void listener_close(struct listener *listener);

#endif
