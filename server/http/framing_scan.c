#include <string.h>

#include "server/http/framing.h"
#include "server/http/framing_octets.h"

enum {
    METHOD_BYTES = 24,        /* no method is longer */
    COUNT_STRIDE_BYTES = 1024 /* how often an incomplete head has its lines counted */
};

size_t framing_skip_empty_lines(const char *bytes, size_t size) {
    return size >= 2 && bytes[0] == '\r' && bytes[1] == '\n' ? 2 : 0;
}

static bool refuse_first_byte(char first, struct framing_fault *fault) {
    if (first == 0x16)
        return framing_refuse(fault, 400, "a TLS handshake arrived on a port that speaks plain HTTP");
    return framing_refuse(fault, 400, "the first byte begins no request line");
}

/* Follows head[from..stop). MORE: no end in there. */
static enum framing_progress scan_lines(const char *head, size_t from, size_t stop, size_t *end,
                                        struct framing_fault *fault) {
    for (size_t i = from; i < stop; i++) {
        char c = head[i];
        if (i > 0 && head[i - 1] == '\r' && c != '\n') {
            framing_refuse(fault, 400, "a CR without its LF in the head");
            return FRAMING_FAULT;
        }
        while ((unsigned char)c > '\r') { /* the fast path: neither CR, LF nor NUL */
            if (++i == stop)
                return FRAMING_MORE;
            c = head[i];
        }
        if (c == '\n') {
            if (i == 0 || head[i - 1] != '\r') {
                framing_refuse(fault, 400, "a LF without its CR in the head");
                return FRAMING_FAULT;
            }
            if (i >= 3 && head[i - 2] == '\n') {
                *end = i + 1;
                return FRAMING_COMPLETE;
            }
        } else if (c == 0) {
            framing_refuse(fault, 400, "a NUL byte in the head");
            return FRAMING_FAULT;
        }
    }
    return FRAMING_MORE;
}

/* Called once, when METHOD_BYTES bytes are there: they must hold the space after the method. */
static bool check_method_ends(const char *head, struct framing_fault *fault) {
    for (size_t i = 0; i < METHOD_BYTES; i++) {
        if (head[i] == ' ')
            return true;
        if (!octet_is(head[i], OCTET_TOKEN))
            return framing_refuse(fault, 400, "the request line has no method, target and version");
    }
    return framing_refuse(fault, 501, "no method has so long a name");
}

static bool check_line_count(const char *head, size_t size, size_t limit, struct framing_fault *fault) {
    const char *at = head, *end = head + size;
    size_t lines = 0;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (++lines > limit + 1) /* and the request line */
            return framing_refuse_count(limit, fault);
    }
    return true;
}

/* Where an incomplete head is judged besides byte by byte. Each place is passed once, at the same offset however the
 * bytes were split, so that the verdict never depends on the splitting. */
struct checkpoints {
    size_t target_end; /* the target must have ended by then; SIZE_MAX while unknown */
    size_t target_start;
};

static void find_target(const char *head, size_t size, const struct framing_limits *limits, struct checkpoints *at) {
    const char *space = memchr(head, ' ', size < METHOD_BYTES ? size : METHOD_BYTES);
    *at = (struct checkpoints){.target_end = SIZE_MAX};
    if (space) {
        at->target_start = (size_t)(space - head) + 1;
        at->target_end = at->target_start + limits->target_bytes + 1;
    }
}

static size_t next_checkpoint(size_t from, const struct checkpoints *at, const struct framing_limits *limits) {
    size_t next = (from / COUNT_STRIDE_BYTES + 1) * COUNT_STRIDE_BYTES;
    if (from < METHOD_BYTES)
        next = METHOD_BYTES;
    if (from < at->target_end && at->target_end < next)
        next = at->target_end;
    if (from < limits->head_bytes && limits->head_bytes < next)
        next = limits->head_bytes;
    return next;
}

static bool check_at(const char *head, size_t size, const struct checkpoints *at, const struct framing_limits *limits,
                     struct framing_fault *fault) {
    if (size == METHOD_BYTES && !check_method_ends(head, fault))
        return false;
    if (size == at->target_end) {
        const char *target = head + at->target_start;
        size_t length = limits->target_bytes + 1;
        if (!memchr(target, ' ', length) && !memchr(target, '\r', length))
            return framing_refuse_target(limits->target_bytes, fault);
    }
    if (size % COUNT_STRIDE_BYTES == 0 && !check_line_count(head, size, limits->header_count, fault))
        return false;
    if (size == limits->head_bytes)
        return framing_refuse(fault, 431, "the request head is longer than %zu bytes", limits->head_bytes);
    return true;
}

enum framing_progress framing_scan_head(const char *head, size_t size, size_t from, const struct framing_limits *limits,
                                        size_t *end, struct framing_fault *fault) {
    if (size == 0 || (size == 1 && head[0] == '\r')) /* perhaps half an empty line */
        return FRAMING_MORE;
    if (!octet_is(head[0], OCTET_TOKEN)) {
        refuse_first_byte(head[0], fault);
        return FRAMING_FAULT;
    }
    struct checkpoints at;
    find_target(head, size, limits, &at);
    while (from < size) {
        size_t stop = next_checkpoint(from, &at, limits);
        if (stop > size)
            return scan_lines(head, from, size, end, fault);
        enum framing_progress progress = scan_lines(head, from, stop, end, fault);
        if (progress != FRAMING_MORE)
            return progress;
        if (!check_at(head, stop, &at, limits, fault))
            return FRAMING_FAULT;
        from = stop;
    }
    return FRAMING_MORE;
}
