#include "engine/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/utf8.h"

static void make_printable(char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        if (*text >= 0x20 && *text < 0x7F) { /* nearly always */
            text++;
            left--;
            continue;
        }
        size_t n = utf8_length(text, left);
        if (n == 0 || (unsigned char)*text < 0x20 || *text == 0x7F) {
            *text = '?';
            n = 1;
        }
        text += n;
        left -= n;
    }
}

enum weir_status weir_fail(struct weir_error *err, enum weir_status status, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        err->status = status;
        make_printable(err->text);
    }
    return status;
}

enum weir_status weir_fail_in(struct weir_error *err, const char *format, ...) {
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    for (const char *p = used > 0 ? ": " : ""; *p && used < sizeof text - 1; p++)
        text[used++] = *p;
    for (const char *p = err->text; *p && used < sizeof text - 1; p++)
        text[used++] = *p;
    text[used] = 0;
    memcpy(err->text, text, sizeof text);
    make_printable(err->text);
    return err->status;
}

const char *weir_status_text(enum weir_status status) {
    static const char *const texts[] = {
#define STATUS_TEXT(name, text) text,
        WEIR_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    };
    return (unsigned)status < WEIR_STATUS_COUNT ? texts[status] : "unknown status";
}
