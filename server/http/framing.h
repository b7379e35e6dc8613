/* The framing gate: where a message begins and ends, judged on its raw bytes before llhttp's verdict counts. Anything
 * two servers in a row could read differently is refused. Source: RFC 9112, RFC 9110. */
#ifndef WEIR_SERVER_HTTP_FRAMING_H
#define WEIR_SERVER_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a message was refused: the HTTP code to answer with before closing, and a text that names the fault. */
struct framing_fault {
    int code; /* 400, 413, 414, 417, 431, 501 or 505 */
    char text[160];
};

struct framing_limits {
    size_t target_bytes; /* longest request target: 8 KiB */
    size_t head_bytes;   /* longest head, from the request line to its empty line: 16 KiB */
    size_t header_count; /* most header fields: 64 */
};

enum framing_progress {
    FRAMING_MORE,     /* so far fine, not complete */
    FRAMING_COMPLETE, /* the head (or body) ends inside these bytes */
    FRAMING_FAULT,
};

/* What a complete, accepted head says about its message. */
struct framing {
    bool http_1_0;
    bool chunked;
    bool has_length;
    uint64_t content_length; /* 0 without a body */
    bool expect_continue;    /* Expect: 100-continue on HTTP/1.1; on 1.0 it is ignored */
};

/* Looks for the end of the head in head[0..size), the bytes received so far for this message (leading empty lines
 * already skipped by framing_skip_empty_lines). `from` is how many of them an earlier call saw: those are not scanned
 * again. Refuses at once what can never become a good head: a first byte that begins no method, a bare LF or CR, NUL, a
 * head or target over its limit; too many fields, at the latest at the next whole KiB. The verdict does not depend on
 * how the bytes were split. On COMPLETE *end is the offset after the empty line. */
enum framing_progress framing_scan_head(const char *head, size_t size, size_t from, const struct framing_limits *limits,
                                        size_t *end, struct framing_fault *fault);

/* Judges the complete head head[0..size): request line, version, every field line, Host, Content-Length,
 * Transfer-Encoding, Expect. Safe on any bytes. Returns false and fills fault if the message must be refused. */
bool framing_judge_head(const char *head, size_t size, const struct framing_limits *limits, struct framing *out,
                        struct framing_fault *fault);

/* At most one empty line (CRLF) before a request line is skipped (RFC 9112, 2.2): call it whenever bytes arrive at the
 * beginning of a message, until it has skipped once. Returns how many bytes to skip; a lone CR is left for the next
 * read (framing_scan_head answers MORE to it). */
size_t framing_skip_empty_lines(const char *bytes, size_t size);

/* A strict reader of the chunked coding (RFC 9112, 7.1) that runs over the raw bytes before llhttp sees them. */
struct framing_chunks {
    uint64_t left;       /* bytes of the present chunk not yet seen */
    uint64_t body_bytes; /* chunk data announced so far, all chunks */
    uint64_t chunk_count;
    uint64_t extension_bytes; /* all chunks */
    uint32_t line_bytes;      /* of the present chunk extension or trailer name */
    uint32_t trailer_bytes;
    uint8_t state;
    uint8_t digits;
    uint8_t name_candidates;
};

void framing_chunks_init(struct framing_chunks *chunks);

/* Follows bytes[0..size), which need not hold whole lines. On COMPLETE *end is the offset after the last trailer line.
 * Refuses a size that is not 1 to 16 plain hex digits or does not fit 63 bits; extensions over 256 bytes a line, or
 * that are not names with at most one value; data not followed by CRLF; trailers over 4 KiB (431), or that name a
 * length or a coding; more than max_body_bytes of data (413). What surrounds the data is bounded too, so that the raw
 * bytes of a body stay under 2.4 times its data and 1.4 MiB: at most 65,536 chunks and one more for every 16 bytes of
 * data, at most 16 KiB of extensions and one more byte for every 16 of data. */
enum framing_progress framing_chunks_scan(struct framing_chunks *chunks, const char *bytes, size_t size,
                                          uint64_t max_body_bytes, size_t *end, struct framing_fault *fault);

#endif
