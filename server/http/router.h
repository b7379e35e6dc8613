/* From a request target to its handler. */
#ifndef WEIR_SERVER_HTTP_ROUTER_H
#define WEIR_SERVER_HTTP_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/http/exchange.h"

/* Which routes a listener serves. */
enum route_set { ROUTE_SET_DATA = 1, ROUTE_SET_OPS = 2, ROUTE_SET_ADMIN = 4 };

enum { ROUTER_MAX_ROUTES = 64, ROUTER_PATH_BYTES = 256 };

/* In a path, {NAME} stands for one or more characters other than '/', ':' and the one that follows the brace. There are
 * at most EXCHANGE_MAX_CAPTURES of them, and no more than EXCHANGE_CAPTURE_BYTES - 1 characters fit one. */
struct router_entry {
    const char *path; /* must outlive the router */
    const struct handler *handler;
    void *context;
    unsigned sets;
};

struct router {
    struct router_entry entries[ROUTER_MAX_ROUTES];
    int count;
};

/* Before any request is served. There is room for ROUTER_MAX_ROUTES. */
void router_add(struct router *router, const struct router_entry *entry);

/* What a target leads to. captures: what stood for the path's {NAME}s, percent signs decoded. */
struct router_match {
    const struct router_entry *entry;
    char captures[EXCHANGE_MAX_CAPTURES][EXCHANGE_CAPTURE_BYTES];
};

enum router_verdict {
    ROUTER_FOUND,
    ROUTER_NOT_FOUND,
    ROUTER_BAD_TARGET, /* a percent sign that encodes nothing, or NUL */
};

/* Finds the first entry for a target (origin-form or absolute-form; the query is ignored) among those of sets. Percent
 * signs are decoded once, after splitting at '/'; dot segments and empty segments match nothing. */
enum router_verdict router_find(const struct router *router, unsigned sets, const char *target, size_t target_size,
                                struct router_match *out);

#endif
