/* From a request target to its handler. */
#ifndef WEIR_SERVER_HTTP_ROUTER_H
#define WEIR_SERVER_HTTP_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/http/exchange.h"

/* Which routes a listener serves. */
enum route_set { ROUTE_SET_DATA = 1, ROUTE_SET_OPS = 2 };

enum { ROUTER_MAX_ROUTES = 16, ROUTER_PATH_BYTES = 256 };

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

enum router_verdict {
    ROUTER_FOUND,
    ROUTER_NOT_FOUND,
    ROUTER_BAD_TARGET, /* a percent sign that encodes nothing, or NUL */
};

/* Finds the entry for a target (origin-form or absolute-form; the query is ignored) among those of sets. Percent signs
 * are decoded once, after splitting at '/'; dot segments and empty segments match nothing. */
enum router_verdict router_find(const struct router *router, unsigned sets, const char *target, size_t target_size,
                                const struct router_entry **out);

#endif
