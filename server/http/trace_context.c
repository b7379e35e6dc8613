#include "server/http/trace_context.h"

#include <string.h>

/* Of trace-flags: the request is traced; its trace id is random (W3C Trace Context, level 2). */
enum { SAMPLED = 1, RANDOM = 2 };
enum { AT_TRACE = 3, AT_SPAN = 36, AT_FLAGS = 53, SPAN_BYTES = 8 };

static bool is_zero(const uint8_t *bytes, size_t count) {
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= bytes[i];
    return any == 0;
}

bool trace_context_is_there(const struct trace_context *context) {
    return !is_zero(context->trace_id, TRACE_CONTEXT_ID_BYTES);
}

bool trace_context_is_sampled(const struct trace_context *context) {
    return trace_context_is_there(context) && (context->flags & SAMPLED) != 0;
}

static void put_number(uint8_t *to, uint64_t number) {
    for (int i = 0; i < SPAN_BYTES; i++)
        to[i] = (uint8_t)(number >> (56 - 8 * i));
}

void trace_context_begin(struct trace_context *context, uint64_t high, uint64_t low, uint64_t span) {
    *context = (struct trace_context){.span = span, .flags = SAMPLED};
    put_number(context->trace_id, high);
    put_number(context->trace_id + SPAN_BYTES, low);
}

/* The value of a lower-case digit, -1: it is none. */
static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: they are not hexadecimal. */
static bool read_hex(const char *text, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* Later versions may have more behind a further dash; 255 is none. */
static bool read(struct trace_context *out, const char *text, size_t size) {
    uint8_t version, parent[SPAN_BYTES];
    if (size < TRACE_CONTEXT_TEXT || text[AT_TRACE - 1] != '-' || text[AT_SPAN - 1] != '-' ||
        text[AT_FLAGS - 1] != '-' || !read_hex(text, 1, &version) || version == 255)
        return false;
    bool fits = size == TRACE_CONTEXT_TEXT || (version > 0 && text[TRACE_CONTEXT_TEXT] == '-');
    bool good = fits && read_hex(text + AT_TRACE, TRACE_CONTEXT_ID_BYTES, out->trace_id) &&
                read_hex(text + AT_SPAN, SPAN_BYTES, parent) && !is_zero(parent, SPAN_BYTES) &&
                read_hex(text + AT_FLAGS, 1, &out->flags);
    out->parent = 0;
    for (int i = 0; good && i < SPAN_BYTES; i++)
        out->parent = out->parent << 8 | parent[i];
    return good;
}

void trace_context_read(struct trace_context *context, const char *text, size_t size, uint64_t span) {
    if (!read(context, text, size))
        *context = (struct trace_context){.flags = 0};
    context->span = span;
    context->flags &= SAMPLED | RANDOM; /* those that have a meaning */
}

static char *put_hex(const uint8_t *bytes, size_t count, char *to) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    return to;
}

char *trace_context_write(const struct trace_context *context, char *to) {
    uint8_t span[SPAN_BYTES];
    put_number(span, context->span);
    memcpy(to, "00-", 3);
    to = put_hex(context->trace_id, TRACE_CONTEXT_ID_BYTES, to + 3);
    *to++ = '-';
    to = put_hex(span, SPAN_BYTES, to);
    *to++ = '-';
    return put_hex(&context->flags, 1, to);
}
