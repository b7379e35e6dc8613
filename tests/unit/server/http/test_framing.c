#include "server/http/framing.h"

#include <criterion/criterion.h>
#include <llhttp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LLHTTP_STRICT_MODE == 1, "llhttp must be compiled in strict mode");

static const struct framing_limits limits = {.target_bytes = 8192, .head_bytes = 16384, .header_count = 64};

/* Judges head, which may hold NUL, from memory of exactly its size. Returns 200 or the fault's code. */
static int judge_bytes(const char *head, size_t size, struct framing *out) {
    struct framing_fault fault = {0};
    char *own = malloc(size);
    memcpy(own, head, size);
    bool good = framing_judge_head(own, size, &limits, out, &fault);
    free(own);
    cr_assert(good || (fault.code >= 400 && fault.text[0]));
    return good ? 200 : fault.code;
}

static int judge(const char *head) {
    struct framing ignored;
    return judge_bytes(head, strlen(head), &ignored);
}

/* A request to / with these field lines besides Host. */
static int judge_fields(const char *fields) {
    char head[20000];
    snprintf(head, sizeof head, "POST / HTTP/1.1\r\nHost: weir\r\n%s\r\n", fields);
    return judge(head);
}

static int judge_line(const char *line) {
    char head[20000];
    snprintf(head, sizeof head, "%s\r\nHost: weir\r\n\r\n", line);
    return judge(head);
}

static int judge_host(const char *host) {
    char head[1000];
    snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    return judge(head);
}

static struct framing accept(const char *head) {
    struct framing framing;
    cr_assert_eq(judge_bytes(head, strlen(head), &framing), 200, "%s", head);
    return framing;
}

Test(framing, says_how_long_the_body_is) {
    struct framing framing = accept("GET / HTTP/1.1\r\nHost: weir\r\n\r\n");
    cr_assert(!framing.http_1_0 && !framing.chunked && !framing.has_length && !framing.expect_continue);
    cr_assert_eq(framing.content_length, 0);
    framing = accept("POST / HTTP/1.1\r\nHost: weir\r\ncontent-LENGTH:\t 0025  \r\n\r\n");
    cr_assert(framing.has_length && framing.content_length == 25);
    framing = accept("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 9223372036854775807\r\n\r\n");
    cr_assert_eq(framing.content_length, (uint64_t)INT64_MAX);
    framing = accept("POST / HTTP/1.1\r\nHost: weir\r\nTransfer-encoding: ChunkeD \r\n\r\n");
    cr_assert(framing.chunked && !framing.has_length);
}

Test(framing, http_1_0_needs_no_host) {
    cr_assert(accept("GET / HTTP/1.0\r\n\r\n").http_1_0);
    cr_assert(accept("GET / HTTP/1.0\r\nHost: weir\r\n\r\n").http_1_0);
    cr_assert_eq(judge("GET / HTTP/1.0\r\nHost: weir\r\nHost: weir\r\n\r\n"), 400);
    cr_assert_eq(judge("GET / HTTP/1.0\r\nHost: a b\r\n\r\n"), 400);
}

Test(framing, http_1_1_needs_exactly_one_host) {
    cr_assert_eq(judge("GET / HTTP/1.1\r\n\r\n"), 400);
    cr_assert_eq(judge_fields("Host: weir\r\n"), 400);
    cr_assert_eq(judge_fields("host: other\r\n"), 400);
}

Test(framing, a_host_is_a_name_or_an_address_and_perhaps_a_port) {
    const char *const good[] = {"weir", "a.b-c_d~e", "127.0.0.1:80", "[::1]", "[::ffff:1.2.3.4]:65535",
                                "a:",   "a%2Fb",     "a\t"};
    const char *const wrong[] = {"",      "a b", "a/b", "u@a",  "a,b", "a:b",   "a:123456",    "[::1", "[]", "[::1]x",
                                 "[g::]", ":80", "::1", "a%zz", "a%2", "a:1:2", "caf\xC3\xA9", "a\"",  "a;b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert_eq(judge_host(good[i]), 200, "%s", good[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(judge_host(wrong[i]), 400, "%s", wrong[i]);
}

Test(framing, a_length_is_one_plain_number) {
    const char *const wrong[] = {"",
                                 "+25",
                                 "-1",
                                 "25, 25",
                                 "25,25",
                                 "0x19",
                                 "2 5",
                                 "25;",
                                 "25\t",
                                 "1e1",
                                 "1.0",
                                 "9223372036854775808",
                                 "18446744073709551616",
                                 "184467440737095516160"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char field[100];
        snprintf(field, sizeof field, "Content-Length: %s\r\n", wrong[i]);
        cr_assert_eq(judge_fields(field), 400, "%s", field);
    }
    cr_assert_eq(judge_fields("Content-Length: 25\r\nContent-Length: 25\r\n"), 400);
    cr_assert_eq(judge_fields("Content-Length: 25\r\nContent-Length: 26\r\n"), 400);
    cr_assert_eq(judge_fields("Content-Length:\r\nContent-Length: 25\r\n"), 400);
}

Test(framing, chunked_is_the_only_coding) {
    const char *const unknown[] = {"gzip",   "gzip, chunked", "chunked, chunked", "chunked,",   "xchunked",
                                   "chunke", "identity",      "chunked\t",        "\"chunked\""};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char field[100];
        snprintf(field, sizeof field, "Transfer-Encoding: %s\r\n", unknown[i]);
        cr_assert_eq(judge_fields(field), 501, "%s", field);
    }
    cr_assert_eq(judge_fields("Transfer-Encoding:\r\n"), 400);
    cr_assert_eq(judge_fields("Transfer-Encoding: \t \r\nContent-Length: 3\r\n"), 400);
    cr_assert_eq(judge_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
    cr_assert_eq(judge_fields("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 400);
    cr_assert_eq(judge("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

Test(framing, a_length_and_a_coding_exclude_each_other) {
    cr_assert_eq(judge_fields("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"), 400);
    cr_assert_eq(judge_fields("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), 400);
    cr_assert_eq(judge_fields("Content-Length: 4\r\nTransfer-Encoding: gzip\r\n"), 400);
}

Test(framing, names_that_only_resemble_are_other_fields) {
    cr_assert_eq(judge_fields("Transfer_Encoding: gzip\r\nContent-Lengthy: x\r\nXHost: ?\r\nHos: ?\r\n"), 200);
}

Test(framing, a_field_is_a_name_a_colon_and_a_printable_value) {
    cr_assert_eq(judge_fields("X-A:b\r\nX-B: \t c d \t \r\nX-C:\r\nX-D: caf\xE9\r\n!#$%&'*+-.^_`|~09: x\r\n"), 200);
    const char *const wrong[] = {"X-A : b\r\n",       "X-A\t: b\r\n",  ": b\r\n",        "X-A\r\n",
                                 "X(A): b\r\n",       "X\xE9: b\r\n",  "X-A: b\x01\r\n", "X-A: b\x7F\r\n",
                                 "X-A: b\n\r\n",      "X-A: b\rc\r\n", "X-A: b\r\r\n",   "X-A: b\r\n c\r\n",
                                 "X-A: b\r\n\tc\r\n", "\rX: b\r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(judge_fields(wrong[i]), 400, "%s", wrong[i]);
    cr_assert_eq(judge("GET / HTTP/1.1\r\n Host: weir\r\n\r\n"), 400);
    cr_assert_eq(judge("GET / HTTP/1.1\r\nHost: weir\r\n Content-Length: 3\r\n\r\n"), 400);
    static const char nul[] = "GET / HTTP/1.1\r\nHost: weir\r\nX-A: b\0c\r\n\r\n";
    struct framing ignored;
    cr_assert_eq(judge_bytes(nul, sizeof nul - 1, &ignored), 400);
}

Test(framing, counts_fields) {
    char fields[1000] = "";
    for (int i = 0; i < 63; i++)
        strcat(fields, "X: 1\r\n");
    cr_assert_eq(judge_fields(fields), 200);
    strcat(fields, "X: 1\r\n");
    cr_assert_eq(judge_fields(fields), 431);
}

Test(framing, a_request_line_is_three_parts_one_space_apart) {
    const char *const wrong[] = {"GET  / HTTP/1.1",
                                 "GET /  HTTP/1.1",
                                 "GET / HTTP/1.1 ",
                                 " GET / HTTP/1.1",
                                 "GET\t/ HTTP/1.1",
                                 "GET / x HTTP/1.1",
                                 "GET /",
                                 "GET HTTP/1.1",
                                 "GET",
                                 "GET ",
                                 "",
                                 "GET /\tHTTP/1.1",
                                 "G(T / HTTP/1.1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(judge_line(wrong[i]), 400, "%s", wrong[i]);
}

Test(framing, other_versions_are_505_and_other_protocols_400) {
    const char *const other[] = {"HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/3.0"};
    const char *const wrong[] = {"HTTP/1.10", "http/1.1", "HTTP/1",  "HTTP/2",
                                 "HTTP/1,1",  "RTSP/1.0", "ICE/1.0", "HTTP/1.x"};
    char line[100];
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        snprintf(line, sizeof line, "GET / %s", other[i]);
        cr_assert_eq(judge_line(line), 505, "%s", line);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(line, sizeof line, "OPTIONS / %s", wrong[i]);
        cr_assert_eq(judge_line(line), 400, "%s", line);
    }
    cr_assert_eq(judge("PRI * HTTP/2.0\r\n\r\n"), 505);
}

Test(framing, knows_the_methods_that_llhttp_knows_less_those_of_other_protocols) {
#define CHECK_METHOD(number, name, text)                                                                               \
    {                                                                                                                  \
        const char *line = number == HTTP_CONNECT ? #text " a:1 HTTP/1.1" : #text " / HTTP/1.1";                       \
        bool other = number >= HTTP_SOURCE;                                                                            \
        cr_assert_eq(judge_line(line), other ? 501 : 200, "%s", line);                                                 \
    }
    HTTP_ALL_METHOD_MAP(CHECK_METHOD)
#undef CHECK_METHOD
    cr_assert_eq(judge_line("BREW / HTTP/1.1"), 501);
    cr_assert_eq(judge_line("get / HTTP/1.1"), 501);
    cr_assert_eq(judge_line("GETT / HTTP/1.1"), 501);
}

Test(framing, targets_come_in_four_forms) {
    const char *const good[] = {
        "GET /a?b=c&d[]=%41;e HTTP/1.1", "GET http://weir HTTP/1.1", "GET HTTP://weir:80/a HTTP/1.1",
        "GET http://[::1]?x HTTP/1.1",   "OPTIONS * HTTP/1.1",       "CONNECT weir:443 HTTP/1.1"};
    const char *const wrong[] = {"GET a HTTP/1.1",          "GET * HTTP/1.1",         "GET /a#b HTTP/1.1",
                                 "GET /\xC3\xA9 HTTP/1.1",  "GET /\x7F HTTP/1.1",     "GET /\x01 HTTP/1.1",
                                 "GET https://a/ HTTP/1.1", "GET http:///a HTTP/1.1", "GET http://u@a/ HTTP/1.1",
                                 "GET http:/a HTTP/1.1",    "GET http:// HTTP/1.1",   "OPTIONS *a HTTP/1.1",
                                 "CONNECT / HTTP/1.1",      "CONNECT weir HTTP/1.1",  "CONNECT weir: HTTP/1.1",
                                 "GET weir:443 HTTP/1.1",   "GET ?a HTTP/1.1",        "CONNECT http://a:1 HTTP/1.1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert_eq(judge_line(good[i]), 200, "%s", good[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(judge_line(wrong[i]), 400, "%s", wrong[i]);
}

Test(framing, limits_the_target_and_the_head) {
    char line[9000];
    memset(line, 'a', sizeof line);
    memcpy(line, "GET /", 5);
    strcpy(line + 4 + 8192, " HTTP/1.1");
    cr_assert_eq(judge_line(line), 200);
    strcpy(line + 4 + 8192, "a HTTP/1.1");
    cr_assert_eq(judge_line(line), 414);
    static char fields[17000];
    memset(fields, 'a', sizeof fields - 1);
    memcpy(fields, "X:", 2);
    strcpy(fields + sizeof fields - 3, "\r\n");
    cr_assert_eq(judge_fields(fields), 431);
}

Test(framing, a_connect_has_no_body) {
    cr_assert_eq(judge("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 3\r\n\r\n"), 400);
    cr_assert_eq(judge("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

Test(framing, only_100_continue_may_be_expected) {
    cr_assert(accept("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\t\r\n\r\n").expect_continue);
    cr_assert_eq(judge_fields("Expect: 200-ok\r\n"), 417);
    cr_assert_eq(judge_fields("Expect:\r\n"), 417);
    cr_assert_eq(judge_fields("Expect: 100-continue\r\nExpect: x\r\n"), 417);
    cr_assert(!accept("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expect_continue);
    cr_assert(!accept("POST / HTTP/1.0\r\nExpect: 200-ok\r\n\r\n").expect_continue);
}

Test(framing, upgrade_is_no_concern_of_framing) {
    cr_assert_eq(judge_fields("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n"), 200);
}

Test(framing, refuses_what_is_no_whole_head) {
    const char *const wrong[] = {"\r\n\r\n",
                                 "\n\n\n\n",
                                 "GET / HTTP/1.1\r\n",
                                 "GET / HTTP/1.1\r\nHost: a\r\n",
                                 "GET / HTTP/1.1\r\nHost: a\r\n\r\nX",
                                 "GET / HTTP/1.1\nHost: a\r\n\r\n",
                                 "GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n",
                                 "abcd"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(judge(wrong[i]), 400, "%s", wrong[i]);
}

Test(framing, fault_texts_do_not_repeat_what_was_sent) {
    static const char head[] = "GET /secret HTTP/1.1\r\nHost: weir\r\nX-Secret : secret\r\n\r\n";
    struct framing framing;
    struct framing_fault fault;
    cr_assert_not(framing_judge_head(head, sizeof head - 1, &limits, &framing, &fault));
    cr_assert_str_eq(fault.text, "field 2 has white space before its colon");
}

/* What llhttp in the same build says to bytes. */
static llhttp_errno_t llhttp_verdict(const char *bytes, size_t size) {
    llhttp_settings_t settings;
    llhttp_t parser;
    llhttp_settings_init(&settings);
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    return llhttp_execute(&parser, bytes, size);
}

Test(framing, llhttp_is_strict_too_about_the_known_bad_heads) {
    static const char hidden[] = "POST / HTTP/1.1\r\nHost: weir\r\nX-Abc:\rxTransfer-Encoding: chunked\r\n\r\n";
    static const char ending[] = "GET / HTTP/1.1\r\nHost: weir\r\n\rX";
    cr_assert_eq(llhttp_verdict(hidden, sizeof hidden - 1), HPE_STRICT);
    cr_assert_eq(llhttp_verdict(ending, sizeof ending - 1), HPE_STRICT);
    size_t end;
    struct framing_fault fault;
    cr_assert_eq(framing_scan_head(hidden, sizeof hidden - 1, 0, &limits, &end, &fault), FRAMING_FAULT);
    cr_assert_eq(fault.code, 400);
    cr_assert_eq(framing_scan_head(ending, sizeof ending - 1, 0, &limits, &end, &fault), FRAMING_FAULT);
    cr_assert_eq(fault.code, 400);
    cr_assert_eq(judge(hidden), 400);
}
