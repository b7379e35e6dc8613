#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "server/bytes.h"
#include "server/codec/inflate.h"

struct collected {
    struct bytes bytes;
    size_t largest;
    enum weir_status answer;
};

static enum weir_status collect(void *context, const char *bytes, size_t size, struct weir_error *err) {
    struct collected *collected = context;
    if (collected->answer != WEIR_OK)
        return weir_fail(err, collected->answer, "the sink does not want it");
    bytes_append(&collected->bytes, bytes, size);
    if (size > collected->largest)
        collected->largest = size;
    return WEIR_OK;
}

/* Window bits as zlib takes them: 31 gzip, 15 zlib, -15 raw. Appends to out. */
static void deflate_to(int window_bits, const char *data, size_t size, struct bytes *out) {
    z_stream stream = {0};
    cr_assert(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    size_t bound = deflateBound(&stream, size);
    char *to = bytes_reserve(out, bound);
    stream.next_in = (Bytef *)data;
    stream.avail_in = (uInt)size;
    stream.next_out = (Bytef *)to;
    stream.avail_out = (uInt)bound;
    cr_assert(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out->size += bound - stream.avail_out;
    deflateEnd(&stream);
}

static enum weir_status inflate_in_pieces(enum inflate_coding coding, const struct bytes *body, size_t max_bytes,
                                          size_t piece, struct collected *collected, struct weir_error *err) {
    struct inflater *inflater;
    enum weir_status status = inflater_open(coding, max_bytes, &inflater, err);
    cr_assert(status == WEIR_OK);
    for (size_t at = 0; at < body->size && status == WEIR_OK; at += piece)
        status = inflater_feed(inflater, body->data + at, body->size - at < piece ? body->size - at : piece, collect,
                               collected, err);
    if (status == WEIR_OK)
        status = inflater_finish(inflater, err);
    inflater_close(inflater);
    return status;
}

static char *make_text(size_t size) {
    char *text = malloc(size);
    for (size_t i = 0; i < size; i++)
        text[i] = "0123456789,.[]"[(i * i + i / 7) % 14];
    return text;
}

Test(inflate, both_codings_are_undone_in_bounded_pieces_wherever_the_body_is_cut) {
    enum { SIZE = 100000 };
    char *text = make_text(SIZE);
    for (int coding = INFLATE_GZIP; coding <= INFLATE_DEFLATE; coding++) {
        struct bytes body = {0};
        deflate_to(coding == INFLATE_GZIP ? 31 : 15, text, SIZE, &body);
        for (size_t piece = 1; piece < 2 * body.size; piece = piece * 3 + 1) {
            struct collected collected = {.largest = 0};
            struct weir_error err;
            cr_assert(inflate_in_pieces((enum inflate_coding)coding, &body, SIZE, piece, &collected, &err) == WEIR_OK,
                      "%s", err.text);
            cr_assert(eq(sz, collected.bytes.size, SIZE));
            cr_assert(memcmp(collected.bytes.data, text, SIZE) == 0);
            cr_assert(le(sz, collected.largest, 16 * 1024));
            bytes_release(&collected.bytes);
        }
        bytes_release(&body);
    }
    free(text);
}

Test(inflate, a_bomb_stops_at_the_bound_and_the_sink_never_sees_more) {
    enum { SIZE = 10 * 1000 * 1000, BOUND = 1000 * 1000 };
    char *zeros = calloc(1, SIZE);
    struct bytes body = {0};
    deflate_to(31, zeros, SIZE, &body);
    struct collected collected = {.largest = 0};
    struct weir_error err;
    cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, BOUND, body.size, &collected, &err) == WEIR_TOO_LARGE);
    cr_assert(eq(str, err.text, "the inflated body is larger than 1000000 bytes"));
    cr_assert(le(sz, collected.bytes.size, BOUND));
    bytes_release(&collected.bytes);
    bytes_release(&body);
    free(zeros);
}

Test(inflate, a_body_of_exactly_the_bound_passes) {
    char *text = make_text(50000);
    struct bytes body = {0};
    deflate_to(31, text, 50000, &body);
    struct collected collected = {.largest = 0};
    struct weir_error err;
    cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, 50000, 1000, &collected, &err) == WEIR_OK);
    bytes_release(&collected.bytes);
    cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, 49999, 1000, &collected, &err) == WEIR_TOO_LARGE);
    bytes_release(&collected.bytes);
    bytes_release(&body);
    free(text);
}

Test(inflate, gzip_members_in_a_row_are_one_body_and_their_sum_is_bounded) {
    struct bytes body = {0};
    deflate_to(31, "first ", 6, &body);
    deflate_to(31, "", 0, &body);
    deflate_to(31, "second", 6, &body);
    for (size_t piece = 1; piece <= body.size; piece++) {
        struct collected collected = {.largest = 0};
        struct weir_error err;
        cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, 12, piece, &collected, &err) == WEIR_OK, "%s", err.text);
        cr_assert(collected.bytes.size == 12 && memcmp(collected.bytes.data, "first second", 12) == 0);
        bytes_release(&collected.bytes);
        collected = (struct collected){.largest = 0};
        cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, 11, piece, &collected, &err) == WEIR_TOO_LARGE);
        bytes_release(&collected.bytes);
    }
    bytes_release(&body);
}

Test(inflate, bytes_behind_the_end_are_refused) {
    for (int coding = INFLATE_GZIP; coding <= INFLATE_DEFLATE; coding++) {
        struct bytes body = {0};
        deflate_to(coding == INFLATE_GZIP ? 31 : 15, "text", 4, &body);
        bytes_text(&body, "more");
        for (size_t piece = 1; piece <= body.size; piece++) {
            struct collected collected = {.largest = 0};
            struct weir_error err;
            cr_assert(inflate_in_pieces((enum inflate_coding)coding, &body, 100, piece, &collected, &err) ==
                      WEIR_INVALID);
            bytes_release(&collected.bytes);
        }
        bytes_release(&body);
    }
}

Test(inflate, every_body_cut_short_is_refused) {
    for (int coding = INFLATE_GZIP; coding <= INFLATE_DEFLATE; coding++) {
        struct bytes body = {0};
        deflate_to(coding == INFLATE_GZIP ? 31 : 15, "some text and some text", 23, &body);
        while (body.size-- > 0) {
            struct collected collected = {.largest = 0};
            struct weir_error err;
            cr_assert(inflate_in_pieces((enum inflate_coding)coding, &body, 100, 7, &collected, &err) == WEIR_INVALID);
            cr_assert(strstr(err.text, "cut short") != NULL, "%s", err.text);
            bytes_release(&collected.bytes);
        }
        body.size = 0;
        bytes_release(&body);
    }
}

Test(inflate, another_coding_than_the_announced_one_is_refused) {
    static const struct {
        enum inflate_coding announced;
        int window_bits;
    } rows[] = {{INFLATE_GZIP, 15}, {INFLATE_GZIP, -15}, {INFLATE_DEFLATE, 31}, {INFLATE_DEFLATE, -15}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes body = {0};
        deflate_to(rows[i].window_bits, "some text and some text", 23, &body);
        struct collected collected = {.largest = 0};
        struct weir_error err;
        cr_assert(inflate_in_pieces(rows[i].announced, &body, 100, 100, &collected, &err) == WEIR_INVALID);
        cr_assert(strstr(err.text, "the body is not ") != NULL, "%s", err.text);
        bytes_release(&collected.bytes);
        bytes_release(&body);
    }
}

Test(inflate, a_flipped_bit_is_noticed_by_the_checksum) {
    struct bytes body = {0};
    deflate_to(31, "some text and some text", 23, &body);
    body.data[body.size - 8] ^= 1; /* the first byte of the CRC */
    struct collected collected = {.largest = 0};
    struct weir_error err;
    cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, 100, 100, &collected, &err) == WEIR_INVALID);
    bytes_release(&collected.bytes);
    bytes_release(&body);
}

Test(inflate, the_refusal_of_the_sink_is_passed_on) {
    struct bytes body = {0};
    deflate_to(31, "text", 4, &body);
    struct collected collected = {.answer = WEIR_CANCELLED};
    struct weir_error err;
    cr_assert(inflate_in_pieces(INFLATE_GZIP, &body, 100, 100, &collected, &err) == WEIR_CANCELLED);
    cr_assert(eq(str, err.text, "the sink does not want it"));
    bytes_release(&body);
}
