#include <string.h>

#include "server/http/framing.h"
#include "server/http/framing_octets.h"

enum {
    SIZE_DIGITS = 16,
    EXTENSION_LINE_BYTES = 256,
    EXTENSION_FREE_BYTES = 16 * 1024,
    FREE_CHUNKS = 65536,
    BYTES_PER_CHUNK = 16, /* a chunk, and an extension byte, for each 16 bytes of data */
    TRAILER_BYTES = 4096,
};

enum state {
    SIZE_FIRST,
    SIZE_MORE,
    EXTENSION_FIRST,
    EXTENSION_NAME,
    EXTENSION_VALUE_FIRST,
    EXTENSION_VALUE,
    EXTENSION_QUOTED,
    EXTENSION_QUOTED_END,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_FIRST,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
};

/* Trailer names that would change the framing. */
static const char *const forbidden[] = {"content-length", "transfer-encoding"};
enum { FORBIDDEN = sizeof forbidden / sizeof *forbidden };

void framing_chunks_init(struct framing_chunks *chunks) {
    *chunks = (struct framing_chunks){.state = SIZE_FIRST};
}

static int hex_digit(char c) {
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static bool take_size(struct framing_chunks *chunks, char c, struct framing_fault *fault) {
    if (octet_is(c, OCTET_HEX)) {
        if (chunks->digits == SIZE_DIGITS || chunks->left > (uint64_t)INT64_MAX >> 4)
            return framing_refuse(fault, 400, "a chunk size does not fit 63 bits, or has over %d digits", SIZE_DIGITS);
        chunks->left = chunks->left << 4 | (uint64_t)hex_digit(c);
        chunks->digits++;
        chunks->state = SIZE_MORE;
        return true;
    }
    if (chunks->state == SIZE_MORE && (c == '\r' || c == ';')) {
        chunks->state = c == ';' ? EXTENSION_FIRST : SIZE_LF;
        return true;
    }
    return framing_refuse(fault, 400, "a chunk size is not a plain hexadecimal number");
}

/* After `;`: names, of which the last may have a value, and any a quoted one. That is the grammar of RFC 9112, 7.1.1,
 * less white space and escapes, as far as llhttp 8.1 reads it (after an unquoted value it takes no further name). */
static bool take_extension(struct framing_chunks *chunks, char c, struct framing_fault *fault) {
    bool token = octet_is(c, OCTET_TOKEN), line_end = false, next = false;
    if (++chunks->line_bytes > EXTENSION_LINE_BYTES)
        return framing_refuse(fault, 400, "over %d bytes of extensions on a chunk", EXTENSION_LINE_BYTES);
    if (++chunks->extension_bytes > EXTENSION_FREE_BYTES + chunks->body_bytes / BYTES_PER_CHUNK)
        return framing_refuse(fault, 400, "too many chunk extensions for so little data");
    enum state state = chunks->state;
    switch (chunks->state) {
    case EXTENSION_FIRST:
        state = EXTENSION_NAME;
        break;
    case EXTENSION_NAME:
        next = c == ';';
        line_end = c == '\r';
        if (c == '=') {
            state = EXTENSION_VALUE_FIRST;
            token = true;
        }
        break;
    case EXTENSION_VALUE_FIRST:
        state = c == '"' ? EXTENSION_QUOTED : EXTENSION_VALUE;
        token = token || c == '"';
        break;
    case EXTENSION_VALUE:
        line_end = c == '\r';
        break;
    case EXTENSION_QUOTED:
        state = c == '"' ? EXTENSION_QUOTED_END : EXTENSION_QUOTED;
        token = c >= ' ' && c <= '~' && c != '\\';
        break;
    default: /* EXTENSION_QUOTED_END */
        token = false;
        next = c == ';';
        line_end = c == '\r';
    }
    if (!token && !next && !line_end)
        return framing_refuse(fault, 400, "a malformed chunk extension");
    chunks->state = next ? EXTENSION_FIRST : line_end ? SIZE_LF : state;
    return true;
}

/* The size line is complete. */
static bool begin_chunk(struct framing_chunks *chunks, char c, uint64_t max_body_bytes, struct framing_fault *fault) {
    if (c != '\n')
        return framing_refuse(fault, 400, "a CR without its LF after a chunk size");
    if (chunks->left > max_body_bytes || chunks->body_bytes > max_body_bytes - chunks->left)
        return framing_refuse(fault, 413, "the body is longer than %llu bytes", (unsigned long long)max_body_bytes);
    chunks->body_bytes += chunks->left;
    if (++chunks->chunk_count > FREE_CHUNKS + chunks->body_bytes / BYTES_PER_CHUNK)
        return framing_refuse(fault, 400, "too many chunks for so little data");
    chunks->state = chunks->left > 0 ? DATA : TRAILER_FIRST;
    return true;
}

static bool end_data(struct framing_chunks *chunks, char c, struct framing_fault *fault) {
    if (c != (chunks->state == DATA_CR ? '\r' : '\n'))
        return framing_refuse(fault, 400, "chunk data is not followed by CRLF");
    if (chunks->state == DATA_CR) {
        chunks->state = DATA_LF;
        return true;
    }
    chunks->state = SIZE_FIRST;
    chunks->digits = 0;
    chunks->line_bytes = 0;
    return true;
}

static bool take_trailer_name(struct framing_chunks *chunks, char c, struct framing_fault *fault) {
    uint32_t at = chunks->line_bytes;
    if (c == ':' && at > 0) {
        for (int i = 0; i < FORBIDDEN; i++)
            if (chunks->name_candidates & 1u << i && strlen(forbidden[i]) == at)
                return framing_refuse(fault, 400, "a trailer that would change the length of the body");
        chunks->state = TRAILER_VALUE;
        return true;
    }
    if (!octet_is(c, OCTET_TOKEN))
        return framing_refuse(fault, 400, "a malformed trailer name");
    if (at == 0)
        chunks->name_candidates = (1u << FORBIDDEN) - 1;
    for (int i = 0; i < FORBIDDEN; i++) {
        bool letter = c >= 'A' && c <= 'Z';
        if (at >= strlen(forbidden[i]) || (letter ? c | 0x20 : c) != forbidden[i][at])
            chunks->name_candidates &= (uint8_t) ~(1u << i);
    }
    chunks->line_bytes = at + 1;
    chunks->state = TRAILER_NAME;
    return true;
}

static bool take_trailer(struct framing_chunks *chunks, char c, struct framing_fault *fault) {
    if (++chunks->trailer_bytes > TRAILER_BYTES)
        return framing_refuse(fault, 431, "over %d bytes of trailers", TRAILER_BYTES);
    switch (chunks->state) {
    case TRAILER_FIRST:
        chunks->line_bytes = 0;
        if (c == '\r') {
            chunks->state = LAST_LF;
            return true;
        }
        return take_trailer_name(chunks, c, fault);
    case TRAILER_NAME:
        return take_trailer_name(chunks, c, fault);
    case TRAILER_VALUE:
        if (c == '\r')
            chunks->state = TRAILER_LF;
        else if (!octet_is(c, OCTET_VALUE))
            return framing_refuse(fault, 400, "a control character in a trailer");
        return true;
    default: /* TRAILER_LF, LAST_LF */
        if (c != '\n')
            return framing_refuse(fault, 400, "a CR without its LF in the trailers");
        chunks->state = TRAILER_FIRST;
        return true;
    }
}

static bool take(struct framing_chunks *chunks, char c, uint64_t max_body_bytes, struct framing_fault *fault) {
    switch ((enum state)chunks->state) {
    case SIZE_FIRST:
    case SIZE_MORE:
        return take_size(chunks, c, fault);
    case SIZE_LF:
        return begin_chunk(chunks, c, max_body_bytes, fault);
    case DATA_CR:
    case DATA_LF:
        return end_data(chunks, c, fault);
    case EXTENSION_FIRST:
    case EXTENSION_NAME:
    case EXTENSION_VALUE_FIRST:
    case EXTENSION_VALUE:
    case EXTENSION_QUOTED:
    case EXTENSION_QUOTED_END:
        return take_extension(chunks, c, fault);
    default:
        return take_trailer(chunks, c, fault);
    }
}

enum framing_progress framing_chunks_scan(struct framing_chunks *chunks, const char *bytes, size_t size,
                                          uint64_t max_body_bytes, size_t *end, struct framing_fault *fault) {
    size_t i = 0;
    while (i < size) {
        if (chunks->state == DATA) {
            uint64_t step = size - i < chunks->left ? size - i : chunks->left;
            i += step;
            chunks->left -= step;
            if (chunks->left == 0)
                chunks->state = DATA_CR;
            continue;
        }
        bool last = chunks->state == LAST_LF;
        if (!take(chunks, bytes[i], max_body_bytes, fault))
            return FRAMING_FAULT;
        i++;
        if (last) {
            *end = i;
            return FRAMING_COMPLETE;
        }
    }
    return FRAMING_MORE;
}
