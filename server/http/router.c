#include "server/http/router.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

void router_add(struct router *router, const struct router_entry *entry) {
    assert(router->count < ROUTER_MAX_ROUTES);
    router->entries[router->count++] = *entry;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Cuts scheme, authority and query off. */
static void path_of(const char *target, size_t size, const char **path, size_t *path_size) {
    static const char scheme[] = "http://";
    if (size > sizeof scheme - 1 && strncasecmp(target, scheme, sizeof scheme - 1) == 0) {
        const char *authority = target + sizeof scheme - 1;
        const char *slash = memchr(authority, '/', size - (sizeof scheme - 1));
        size = slash ? size - (size_t)(slash - target) : 1;
        target = slash ? slash : "/";
    }
    const char *query = memchr(target, '?', size);
    *path = target;
    *path_size = query ? (size_t)(query - target) : size;
}

/* Takes what stands for a {NAME} that `stop` follows in the pattern. Returns its size; 0: it does not match. */
static size_t capture(const char *text, size_t size, char stop, char *out) {
    size_t length = 0;
    while (length < size && text[length] != '/' && text[length] != ':' && text[length] != stop)
        length++;
    if (length >= EXCHANGE_CAPTURE_BYTES)
        return 0;
    memcpy(out, text, length);
    out[length] = 0;
    return length;
}

static bool matches(const char *pattern, const char *text, size_t size, struct router_match *out) {
    int count = 0;
    for (int i = 0; i < EXCHANGE_MAX_CAPTURES; i++)
        out->captures[i][0] = 0;
    for (; *pattern && size > 0; pattern++) {
        size_t length = 1;
        if (*pattern == '{' && count < EXCHANGE_MAX_CAPTURES) {
            pattern = strchr(pattern, '}');
            length = capture(text, size, pattern[1] ? pattern[1] : '/', out->captures[count++]);
        } else if (*pattern != *text) {
            return false;
        }
        if (length == 0)
            return false;
        text += length;
        size -= length;
    }
    return *pattern == 0 && size == 0;
}

enum router_verdict router_find(const struct router *router, unsigned sets, const char *target, size_t target_size,
                                struct router_match *out) {
    const char *path;
    size_t size, used = 0;
    char decoded[ROUTER_PATH_BYTES];
    bool matchable = true;
    path_of(target, target_size, &path, &size);
    for (size_t i = 0; i < size; i++) {
        char c = path[i];
        if (c == '%') {
            int high = i + 2 < size ? hex_digit(path[i + 1]) : -1;
            int low = i + 2 < size ? hex_digit(path[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return ROUTER_BAD_TARGET;
            c = (char)(high * 16 + low);
            i += 2;
            if (c == '/') /* part of a name, not a separator: no route of ours has it */
                matchable = false;
        }
        if (used == sizeof decoded)
            matchable = false;
        else
            decoded[used++] = c;
    }
    if (matchable)
        for (int i = 0; i < router->count; i++) {
            const struct router_entry *entry = &router->entries[i];
            if ((entry->sets & sets) && matches(entry->path, decoded, used, out)) {
                out->entry = entry;
                return ROUTER_FOUND;
            }
        }
    return ROUTER_NOT_FOUND;
}
