#include "server/http_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/clock.h"
#include "tests/fakes/http_double.h"

static struct http_double server;
static struct http_target target = {.host = "127.0.0.1"};
static struct http_question question = {
    .target = &target, .method = "POST", .path = "/x", .body = "{}", .limit_ms = 20000, .most_bytes = 4096};
static struct http_answer answer;
static struct weir_error err;

static void start(const char *text) {
    server.answers[0] = text;
    server.answer_count = 1;
    http_double_start(&server);
    snprintf(target.port, sizeof target.port, "%d", server.port);
}

static void stop(void) {
    http_double_stop(&server);
    free(server.requests);
}

Test(http_client, asks_and_reads_the_answer) {
    char value[32];
    start("HTTP/1.1 503 No\r\nRETRY-after:  7 \r\nContent-Length: 2\r\n\r\nno");
    cr_assert_eq(http_client_ask(&question, &answer, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(answer.status, 503);
    cr_assert(answer.is_whole);
    cr_assert_str_eq(answer.body, "no");
    cr_assert(http_client_header(&answer, "Retry-After", value, sizeof value));
    cr_assert_str_eq(value, "7");
    cr_assert_not(http_client_header(&answer, "Retry", value, sizeof value));
    cr_assert_not(http_client_header(&answer, "Content-Length", value, 1), "it does not fit");
    http_client_release(&answer);
    stop();
}

Test(http_client, sends_what_it_is_given) {
    char expected[200];
    start("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    cr_assert_eq(http_client_ask(&question, &answer, &err), WEIR_OK);
    http_client_release(&answer);
    http_double_stop(&server);
    snprintf(expected, sizeof expected,
             "POST /x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\nContent-Type: application/json\r\n"
             "Content-Length: 2\r\n\r\n{}",
             server.port);
    cr_assert_str_eq(server.requests, expected);
    free(server.requests);
}

Test(http_client, an_answer_that_is_cut_says_so) {
    start("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
    cr_assert_eq(http_client_ask(&question, &answer, &err), WEIR_OK);
    cr_assert_not(answer.is_whole);
    http_client_release(&answer);
    stop();
}

/* What the answer holds of its body, if it is whole; NULL if it is not. */
static const char *body_of(const char *text) {
    static char body[64];
    start(text);
    cr_assert_eq(http_client_ask(&question, &answer, &err), WEIR_OK, "%s", err.text);
    snprintf(body, sizeof body, "%s", answer.body);
    cr_assert_eq(answer.body_size, strlen(body));
    bool is_whole = answer.is_whole;
    http_client_release(&answer);
    stop();
    return is_whole ? body : NULL;
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Test(http_client, chunks_are_put_together) {
    cr_assert_str_eq(body_of(CHUNKED "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n"), "abc0123456789");
    cr_assert_str_eq(body_of(CHUNKED "1\r\na\r\n0\r\nTrailer: b\r\n\r\n"), "a");
    cr_assert_str_eq(body_of(CHUNKED "0\r\n\r\n"), "");
    static const char *const cut[] = {
        "", "3", "3\r\nab", "3\r\nabc\r\n", "3\r\nabc\r\n0\r\n", "x\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\na\r\n0\r\n\r\n"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        char text[200];
        snprintf(text, sizeof text, CHUNKED "%s", cut[i]);
        cr_assert_null(body_of(text), "%s", cut[i]);
    }
}

Test(http_client, what_has_no_body_is_whole) {
    cr_assert_str_eq(body_of("HTTP/1.1 204 No Content\r\n\r\n"), "");
    cr_assert_str_eq(body_of("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
}

Test(http_client, what_is_no_http_and_who_is_not_there_are_errors) {
    start("SSH-2.0-something\r\n\r\n");
    cr_assert_eq(http_client_ask(&question, &answer, &err), WEIR_IO);
    cr_assert(strstr(err.text, "does not speak HTTP"), "%s", err.text);
    stop();
    cr_assert_eq(http_client_ask(&question, &answer, &err), WEIR_IO);
    cr_assert(strstr(err.text, "refused"), "%s", err.text);
}

Test(http_client, one_that_is_silent_is_given_up) {
    start(NULL);
    struct http_question short_question = question;
    short_question.limit_ms = 50;
    cr_assert_eq(http_client_ask(&short_question, &answer, &err), WEIR_IO);
    cr_assert(strstr(err.text, "timed out"), "%s", err.text);
    stop();
}

Test(http_client, who_is_in_a_hurry_waits_less) {
    uint64_t one = 1;
    int fd = eventfd(0, EFD_NONBLOCK);
    start(NULL);
    struct http_question hurried = question;
    hurried.limit_ms = 600 * 1000;
    hurried.hurry_fd = fd;
    hurried.hurry_ms = 20;
    cr_assert_eq(write(fd, &one, sizeof one), (ssize_t)sizeof one);
    cr_assert_eq(http_client_ask(&hurried, &answer, &err), WEIR_IO);
    stop();
    close(fd);
}

Test(http_client, targets_are_read) {
    struct http_target out;
    cr_assert_str_eq(http_client_read_target("host", "4318", &out), "");
    cr_assert_str_eq(out.port, "4318");
    cr_assert_str_eq(http_client_read_target("[::1]:9/x", "4318", &out), "/x");
    cr_assert_str_eq(out.host, "::1");
    cr_assert_str_eq(out.port, "9");
    cr_assert_null(http_client_read_target("host:99999", "4318", &out));
    cr_assert_null(http_client_read_target(":1", "4318", &out));
    cr_assert_null(http_client_read_target("[::1", "4318", &out));
}
