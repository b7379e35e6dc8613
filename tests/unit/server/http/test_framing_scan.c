#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/framing.h"

static const struct framing_limits limits = {.target_bytes = 8192, .head_bytes = 16384, .header_count = 64};

struct outcome {
    enum framing_progress progress;
    int code;
    size_t end;
    size_t used; /* bytes there when it was decided */
};

/* Scans as bytes arrive in reads of `piece`, each time from memory of exactly the size. */
static struct outcome scan_pieces(const char *bytes, size_t size, size_t piece) {
    struct outcome outcome = {.progress = FRAMING_MORE};
    struct framing_fault fault = {0};
    size_t from = 0;
    while (outcome.used < size && outcome.progress == FRAMING_MORE) {
        outcome.used += piece < size - outcome.used ? piece : size - outcome.used;
        char *own = malloc(outcome.used);
        memcpy(own, bytes, outcome.used);
        outcome.progress = framing_scan_head(own, outcome.used, from, &limits, &outcome.end, &fault);
        free(own);
        from = outcome.used;
    }
    outcome.code = fault.code;
    return outcome;
}

/* The same verdict in one piece, byte by byte, and in between. */
static struct outcome scan_bytes(const char *bytes, size_t size) {
    struct outcome whole = scan_pieces(bytes, size, size);
    const size_t pieces[] = {1, 2, 3, 7, 24, 1000, 1024};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct outcome split = scan_pieces(bytes, size, pieces[i]);
        cr_assert(split.progress == whole.progress && split.code == whole.code && split.end == whole.end,
                  "pieces of %zu: %d %d, whole: %d %d", pieces[i], split.progress, split.code, whole.progress,
                  whole.code);
    }
    return whole;
}

static struct outcome scan(const char *bytes) {
    return scan_bytes(bytes, strlen(bytes));
}

Test(framing_scan, finds_the_end_of_the_head_and_leaves_the_rest) {
    static const char head[] = "POST / HTTP/1.1\r\nHost: weir\r\n\r\n";
    struct outcome outcome = scan("POST / HTTP/1.1\r\nHost: weir\r\n\r\nbody\r\n\r\n");
    cr_assert_eq(outcome.progress, FRAMING_COMPLETE);
    cr_assert_eq(outcome.end, sizeof head - 1);
    cr_assert_eq(scan("GET / HTTP/1.0\r\n\r\n").end, 18);
}

Test(framing_scan, asks_for_more_while_nothing_is_wrong) {
    cr_assert_eq(scan("G").progress, FRAMING_MORE);
    cr_assert_eq(scan("GET / HTTP/1.1\r").progress, FRAMING_MORE);
    cr_assert_eq(scan("GET / HTTP/1.1\r\nHost: weir\r\n\r").progress, FRAMING_MORE);
}

Test(framing_scan, a_first_byte_that_begins_no_method_is_refused_at_once) {
    struct framing_fault fault;
    size_t end;
    cr_assert_eq(framing_scan_head("\x16", 1, 0, &limits, &end, &fault), FRAMING_FAULT);
    cr_assert(fault.code == 400 && strstr(fault.text, "TLS"));
    const char *const wrong[] = {" GET", "\n", "\xFF", "{", "(", "\t"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(framing_scan_head(wrong[i], 1, 0, &limits, &end, &fault), FRAMING_FAULT);
        cr_assert_eq(fault.code, 400);
    }
}

Test(framing_scan, refuses_bare_line_ends_and_nul_before_the_head_is_complete) {
    const char *const wrong[] = {"GET / HTTP/1.1\n",        "GET / HTTP/1.1\rX",     "GET / HTTP/1.1\r\nHost: a\n",
                                 "GET / HTTP/1.1\r\nX:\rb", "GET / HTTP/1.1\r\n\rX", "GET / HTTP/1.1\r\nA: b\r\r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct outcome outcome = scan(wrong[i]);
        cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 400, "%s", wrong[i]);
    }
    struct outcome outcome = scan_bytes("GET / HTTP/1.1\r\nA: \0b", 21);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 400);
}

Test(framing_scan, a_method_that_does_not_end_is_refused_after_24_bytes) {
    cr_assert_eq(scan("AAAAAAAAAAAAAAAAAAAAAAA").progress, FRAMING_MORE);
    cr_assert_eq(scan("AAAAAAAAAAAAAAAAAAAAAAAA").code, 501);
    cr_assert_eq(scan("AAAA(AAAAAAAAAAAAAAAAAAA").code, 400);
    cr_assert_eq(scan("GET\r\nHost: weir.example\r\n").code, 400);
}

Test(framing_scan, a_target_over_its_limit_is_refused_when_it_becomes_clear) {
    static char bytes[9000];
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, "POST /", 6);
    struct outcome outcome = scan_bytes(bytes, 5 + 8192);
    cr_assert_eq(outcome.progress, FRAMING_MORE);
    outcome = scan_bytes(bytes, 5 + 8193);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 414);
    memcpy(bytes + 5 + 8192, " HTTP/1.1\r\n\r\n", 13);
    cr_assert_eq(scan_bytes(bytes, 5 + 8192 + 13).progress, FRAMING_COMPLETE);
}

Test(framing_scan, a_head_over_its_limit_is_refused_when_it_becomes_clear) {
    static char bytes[17000];
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, "GET / HTTP/1.1\r\nX: ", 19);
    struct outcome outcome = scan_bytes(bytes, 16383);
    cr_assert_eq(outcome.progress, FRAMING_MORE);
    outcome = scan_bytes(bytes, sizeof bytes);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 431);
    memcpy(bytes + 16380, "\r\n\r\n", 4);
    outcome = scan_bytes(bytes, sizeof bytes);
    cr_assert(outcome.progress == FRAMING_COMPLETE && outcome.end == 16384);
}

Test(framing_scan, too_many_fields_are_refused_before_the_head_is_complete) {
    static char bytes[17000];
    size_t size = (size_t)sprintf(bytes, "GET / HTTP/1.1\r\n");
    while (size < 4096)
        size += (size_t)sprintf(bytes + size, "a:b\r\n");
    struct outcome outcome = scan_pieces(bytes, size, 1);
    cr_assert(outcome.progress == FRAMING_FAULT && outcome.code == 431);
    cr_assert_eq(outcome.used, 1024); /* the 66th line ends at 346 */
    scan_bytes(bytes, size);
}

Test(framing_scan, one_empty_line_in_front_is_skipped) {
    cr_assert_eq(framing_skip_empty_lines("\r\nGET", 5), 2);
    cr_assert_eq(framing_skip_empty_lines("\r\n\r\n", 4), 2);
    cr_assert_eq(framing_skip_empty_lines("\r", 1), 0);
    cr_assert_eq(framing_skip_empty_lines("\n", 1), 0);
    cr_assert_eq(framing_skip_empty_lines("GET", 3), 0);
    cr_assert_eq(framing_skip_empty_lines("", 0), 0);
    struct framing_fault fault;
    size_t end;
    cr_assert_eq(framing_scan_head("\r", 1, 0, &limits, &end, &fault), FRAMING_MORE);
    cr_assert_eq(framing_scan_head("\r\n", 2, 0, &limits, &end, &fault), FRAMING_FAULT);
}
