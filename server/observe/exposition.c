#include "server/observe/exposition.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "engine/utf8.h"

void exposition_label(struct bytes *out, const char *value) {
    size_t left = value ? strlen(value) : 0;
    while (left > 0) {
        size_t n = utf8_length(value, left);
        if (n == 0) {
            bytes_text(out, "?");
            n = 1;
        } else if (*value == '\n') {
            bytes_text(out, "\\n");
        } else {
            if (*value == '"' || *value == '\\')
                bytes_text(out, "\\");
            bytes_append(out, value, n);
        }
        value += n;
        left -= n;
    }
}

void exposition_head(struct bytes *out, const char *name, const char *type, const char *help) {
    bytes_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void exposition_single(struct bytes *out, const char *name, const char *type, const char *help, double value) {
    exposition_head(out, name, type, help);
    bytes_printf(out, "%s %.15g\n", name, value);
}

/* "# HELP name_total ..." or "# TYPE name_total counter". */
static void put_description(const char *line, size_t size, struct bytes *out) {
    static const char total[] = "_total";
    const char *name = line + 7; /* behind "# HELP " */
    const char *end = memchr(name, ' ', size - 7);
    size_t name_size = end ? (size_t)(end - name) : 0, suffix = sizeof total - 1;
    if (name_size > suffix && memcmp(end - suffix, total, suffix) == 0) {
        bytes_append(out, line, (size_t)(end - suffix - line));
        bytes_append(out, end, size - (size_t)(end - line));
    } else {
        bytes_append(out, line, size);
    }
}

/* The end of a whole number that is a bucket's bound, NULL: the line has none. The bound is the last label. */
static const char *end_of_bound(const char *line, size_t size) {
    static const char le[] = "le=\"";
    const char *end = memrchr(line, '}', size);
    if (!end || end - line < 2 || end[-1] != '"')
        return NULL;
    const char *from = end - 1;
    while (from > line && from[-1] >= '0' && from[-1] <= '9')
        from--;
    bool is_bound = from < end - 1 && from - line > (ptrdiff_t)sizeof le - 1 &&
                    memcmp(from - (sizeof le - 1), le, sizeof le - 1) == 0;
    return is_bound ? end - 1 : NULL;
}

void exposition_openmetrics(const struct bytes *page, struct bytes *out) {
    const char *end = page->data + page->size;
    bytes_reserve(out, page->size + page->size / 32);
    for (const char *line = page->data; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((newline ? newline + 1 : end) - line);
        const char *bound = *line == '#' ? NULL : end_of_bound(line, size);
        if (*line == '#') {
            put_description(line, size, out);
        } else if (bound) {
            bytes_append(out, line, (size_t)(bound - line));
            bytes_append(out, ".0", 2);
            bytes_append(out, bound, size - (size_t)(bound - line));
        } else {
            bytes_append(out, line, size);
        }
        line += size;
    }
    bytes_text(out, "# EOF\n");
    out->failed = out->failed || page->failed;
}
