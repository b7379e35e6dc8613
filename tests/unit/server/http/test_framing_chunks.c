#include <criterion/criterion.h>
#include <llhttp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/framing.h"

struct outcome {
    enum framing_progress progress;
    int code;
    size_t end;
    uint64_t body_bytes;
};

static struct outcome scan_pieces(const char *bytes, size_t size, size_t piece, uint64_t max_body_bytes) {
    struct framing_chunks chunks;
    struct framing_fault fault = {0};
    struct outcome outcome = {.progress = FRAMING_MORE};
    framing_chunks_init(&chunks);
    for (size_t at = 0; at < size && outcome.progress == FRAMING_MORE;) {
        size_t take = piece < size - at ? piece : size - at, end = 0;
        char *own = malloc(take);
        memcpy(own, bytes + at, take);
        outcome.progress = framing_chunks_scan(&chunks, own, take, max_body_bytes, &end, &fault);
        free(own);
        if (outcome.progress == FRAMING_COMPLETE)
            outcome.end = at + end;
        at += take;
    }
    outcome.code = fault.code;
    outcome.body_bytes = chunks.body_bytes;
    return outcome;
}

static struct outcome scan_bytes(const char *bytes, size_t size, uint64_t max_body_bytes) {
    struct outcome whole = scan_pieces(bytes, size, size, max_body_bytes);
    for (size_t piece = 1; piece < 5; piece++) {
        struct outcome split = scan_pieces(bytes, size, piece, max_body_bytes);
        cr_assert(split.progress == whole.progress && split.code == whole.code && split.end == whole.end,
                  "pieces of %zu", piece);
    }
    return whole;
}

static struct outcome scan(const char *bytes) {
    return scan_bytes(bytes, strlen(bytes), 1 << 20);
}

static void complete(const char *bytes, uint64_t body_bytes) {
    struct outcome outcome = scan(bytes);
    cr_assert_eq(outcome.progress, FRAMING_COMPLETE, "%s", bytes);
    cr_assert_eq(outcome.end, strlen(bytes));
    cr_assert_eq(outcome.body_bytes, body_bytes);
}

static void refuse(const char *bytes, int code) {
    struct outcome outcome = scan(bytes);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == code, "%d: %s", outcome.code, bytes);
}

Test(framing_chunks, follows_chunks_to_the_end) {
    complete("0\r\n\r\n", 0);
    complete("3\r\nabc\r\n00A\r\n\r\n0\r\n0\r\n0\r\r\n0\r\n\r\n", 13); /* data that looks like framing */
    complete("000000000000000f\r\n123456789012345\r\n0000000000000000\r\n\r\n", 15);
    struct outcome outcome = scan("1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n");
    cr_assert_eq(outcome.end, 11);
    cr_assert_eq(scan("3\r\nabc\r\n0\r\n\r").progress, FRAMING_MORE);
}

Test(framing_chunks, a_size_is_plain_hex_in_63_bits) {
    const char *const wrong[] = {"\r\n",
                                 "+3\r\n",
                                 "-1\r\n",
                                 "0x3\r\n",
                                 " 3\r\n",
                                 "3 \r\n",
                                 "3\t\r\n",
                                 "3g\r\n",
                                 ";a\r\n",
                                 "10000000000000000\r\n",
                                 "8000000000000000\r\n",
                                 "00000000000000003\r\n",
                                 "3\n",
                                 "3\rX"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], 400);
    cr_assert_eq(scan_bytes("7fffffffffffffff\r\nabc", 21, INT64_MAX).progress, FRAMING_MORE);
}

Test(framing_chunks, data_is_followed_by_crlf) {
    refuse("2\r\nabXX0\r\n\r\n", 400);
    refuse("3\r\nabc\n0\r\n\r\n", 400);
    refuse("3\r\nabc\r0\r\n\r\n", 400);
    refuse("0\r\n\n", 400);
    refuse("0\r\n\rX", 400);
}

Test(framing_chunks, extensions_are_names_and_at_most_one_value) {
    complete("1;a\r\nx\r\n0;b=c\r\n\r\n", 1);
    complete("1;a;b=\"c d\";e=f\r\nx\r\n0\r\n\r\n", 1);
    const char *const wrong[] = {
        "1;\r\n", "1;a=\r\n",  "1; a\r\n",    "1;a b\r\n",      "1;a=b;c\r\n",      "1;=b\r\n",       "1;a\rb", "1;a\n",
        "1;a=\n", "1;a=\"b\n", "1;a=\"b\r\n", "1;a=\"b\"c\r\n", "1;a=\"\\\"\"\r\n", "1;\xC3\xA9\r\n", "1;;\r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], 400);
    struct outcome outcome = scan_bytes("1;a=\0\r\n", 7, 100);
    cr_assert_eq(outcome.code, 400);
}

Test(framing_chunks, extensions_are_bounded_a_line_and_in_all) {
    char line[400];
    sprintf(line, "1;%0*d\r\nx\r\n", 255, 0); /* with its CR: 256 */
    cr_assert_eq(scan(line).progress, FRAMING_MORE);
    sprintf(line, "1;%0*d\r\nx\r\n", 256, 0);
    refuse(line, 400);
    static char many[100 * 300];
    size_t size = 0;
    for (int i = 0; i < 100; i++)
        size += (size_t)sprintf(many + size, "1;%0*d\r\nx\r\n", 250, 0);
    struct outcome outcome = scan_pieces(many, size, size, 1 << 20);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 400);
    cr_assert_eq(outcome.body_bytes, 65); /* 16 KiB at 251 bytes a line */
}

Test(framing_chunks, tiny_chunks_are_bounded) {
    enum { COUNT = 80000 };
    char *bytes = malloc(COUNT * 6);
    for (int i = 0; i < COUNT; i++)
        memcpy(bytes + i * 6, "1\r\nx\r\n", 6);
    struct outcome outcome = scan_pieces(bytes, COUNT * 6, COUNT * 6, 1 << 20);
    free(bytes);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 400);
    cr_assert_eq(outcome.body_bytes, 69906); /* n > 65,536 + n/16 */
}

Test(framing_chunks, a_body_over_the_limit_is_413_before_its_data_comes) {
    cr_assert_eq(scan_bytes("5\r\nabcde\r\n5\r\nabcde\r\n0\r\n\r\n", 25, 10).progress, FRAMING_COMPLETE);
    struct outcome outcome = scan_bytes("5\r\nabcde\r\n6\r\n", 13, 10);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 413);
    outcome = scan_bytes("5\r\nabcde\r\n7fffffffffffffff\r\n", 28, 10);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 413);
    outcome = scan_bytes("1\r\n", 3, 0);
    cr_assert_eq(outcome.code, 413);
}

Test(framing_chunks, trailers_are_fields) {
    complete("0\r\nX-A: b\r\nConnection:close\r\nX-B:\r\nX-C: caf\xE9 \t\r\n\r\n", 0);
}

Test(framing_chunks, malformed_trailers_are_refused) {
    const char *const wrong[] = {"0\r\n: b\r\n", "0\r\n X: b\r\n", "0\r\nX : b\r\n", "0\r\nX: b\r\n c\r\n",
                                 "0\r\nX\r\n",   "0\r\nX: b\n",    "0\r\nX: b\rc",   "0\r\nX: \x01",
                                 "0\r\nX: \x7F", "0\r\n\nX"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], 400);
    struct outcome outcome = scan_bytes("0\r\nX: \0\r\n\r\n", 11, 100);
    cr_assert_eq(outcome.code, 400);
}

Test(framing_chunks, a_trailer_may_not_change_the_framing) {
    refuse("0\r\nContent-Length: 5\r\n\r\n", 400);
    refuse("0\r\nA: b\r\ntransfer-ENCODING: chunked\r\n\r\n", 400);
    complete("0\r\nContent-Lengt: 5\r\nContent-Lengths: 5\r\nXContent-Length: 5\r\nTransfer-Encodinh: x\r\n\r\n", 0);
}

Test(framing_chunks, trailers_are_bounded) {
    static char bytes[6000] = "0\r\n";
    size_t size = 3;
    for (int i = 0; i < 46; i++)
        size += (size_t)sprintf(bytes + size, "A: %084d\r\n", 0); /* 89 bytes each: 4,094 */
    memcpy(bytes + size, "\r\n", 3);
    cr_assert_eq(scan(bytes).progress, FRAMING_COMPLETE);
    memcpy(bytes + size, "A:\r\n\r\n", 7);
    refuse(bytes, 431);
}

Test(framing_chunks, llhttp_is_strict_too_about_data_without_crlf) {
    static const char bytes[] = "POST / HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX0\r\n\r\n";
    llhttp_settings_t settings;
    llhttp_t parser;
    llhttp_settings_init(&settings);
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    cr_assert_eq(llhttp_execute(&parser, bytes, sizeof bytes - 1), HPE_STRICT);
}
