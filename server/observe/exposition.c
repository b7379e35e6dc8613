#include "server/observe/exposition.h"

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
