#include "server/observe/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Stands in for fd 2 while a test logs; Criterion gets its own back before anything is asserted. */
struct capture {
    int saved, reader, writer;
};

static struct capture capture_pipe(void) {
    struct capture capture;
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    capture.saved = dup(STDERR_FILENO);
    capture.reader = ends[0];
    capture.writer = ends[1];
    dup2(ends[1], STDERR_FILENO);
    return capture;
}

/* Everything that was logged, as text; ends the capture. */
static char *captured(struct capture *capture) {
    static char text[1 << 16];
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
    close(capture->writer);
    size_t size = 0;
    for (ssize_t n; (n = read(capture->reader, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    close(capture->reader);
    text[size] = 0;
    return text;
}

static void assert_matches(const char *text, const char *pattern) {
    regex_t regex;
    cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    cr_assert_eq(regexec(&regex, text, 0, NULL, 0), 0, "%s", text);
    regfree(&regex);
}

#define TIME "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z"

Test(log, a_line_is_time_level_event_and_values) {
    struct capture capture = capture_pipe();
    log_event(LOG_INFO, "model_loaded", "model=%s version=%d", "digits", 1);
    log_event(LOG_ERROR, "bare", "%s", "");
    char *text = captured(&capture);
    assert_matches(text, "^" TIME " info model_loaded model=digits version=1\n" TIME " error bare\n$");
}

Test(log, the_time_is_utc) {
    setenv("TZ", "XYZ-12", 1);
    struct capture capture = capture_pipe();
    time_t before = time(NULL);
    log_event(LOG_INFO, "now", "x=1");
    time_t after = time(NULL);
    struct tm utc = {0};
    cr_assert_not_null(strptime(captured(&capture), "%Y-%m-%dT%H:%M:%S", &utc));
    time_t logged = timegm(&utc);
    cr_assert(logged >= before && logged <= after);
}

Test(log, levels_above_the_set_one_are_silent) {
    cr_assert_eq(log_level(), LOG_INFO);
    struct capture capture = capture_pipe();
    log_event(LOG_DEBUG, "a", "x=1");
    log_set_level(LOG_DEBUG);
    log_event(LOG_DEBUG, "b", "x=1");
    log_set_level(LOG_ERROR);
    log_event(LOG_WARN, "c", "x=1");
    struct log_site site = {0};
    log_event_limited(&site, 1, LOG_WARN, "d", "x=1");
    char *text = captured(&capture);
    assert_matches(text, "^" TIME " debug b x=1\n$");
    cr_assert_eq(site.last_ns, 0);
}

Test(log, an_event_stays_one_line) {
    struct capture capture = capture_pipe();
    log_event(LOG_WARN, "odd", "value=%s", "a\nb\rc\x1b[1m");
    assert_matches(captured(&capture), "^" TIME " warn odd value=a\\?b\\?c\\?\\[1m\n$");
}

Test(log, long_lines_are_cut) {
    static char value[5000];
    memset(value, 'v', sizeof value - 1);
    struct log_site site = {0};
    struct capture capture = capture_pipe();
    log_event(LOG_WARN, "long", "value=%s", value);
    log_event_limited(&site, 1, LOG_WARN, "long", "value=%s", value);
    log_event_limited(&site, 2, LOG_WARN, "long", "value=%s", value);
    log_event_limited(&site, 1000000001, LOG_WARN, "long", "value=%s", value);
    char *text = captured(&capture);
    cr_assert_eq(strcspn(text, "\n"), 2046);
    cr_assert(strlen(text) > 6000 && strlen(text) <= 3 * 2048);
    cr_assert_str_eq(text + strlen(text) - 12, "v repeats=1\n");
}

Test(log, a_site_logs_once_a_second_and_tells_what_it_left_out) {
    struct log_site site = {0};
    struct capture capture = capture_pipe();
    for (int64_t at = 0; at < 5; at++)
        log_event_limited(&site, at, LOG_WARN, "refused", "n=%d", (int)at);
    log_event_limited(&site, 1000000000, LOG_WARN, "refused", "n=5");
    log_event_limited(&site, 1000000001, LOG_WARN, "refused", "n=6");
    log_event_limited(&site, 2000000001, LOG_WARN, "refused", "n=7");
    char *text = captured(&capture);
    assert_matches(text,
                   "^" TIME " warn refused n=0\n" TIME " warn refused n=6 repeats=5\n" TIME " warn refused n=7\n$");
}

Test(log, a_full_pipe_drops_lines_and_never_waits, .timeout = 20) {
    struct capture capture = capture_pipe();
    static const char filler[4096];
    int flags = fcntl(capture.writer, F_GETFL);
    fcntl(capture.writer, F_SETFL, flags | O_NONBLOCK);
    while (write(capture.writer, filler, sizeof filler) > 0)
        ;
    fcntl(capture.writer, F_SETFL, flags); /* from here a write would block */
    uint64_t before = log_dropped();
    log_event(LOG_ERROR, "lost", "x=1");
    log_event(LOG_ERROR, "lost", "x=2");
    uint64_t lost = log_dropped() - before;
    char page[8192];
    ssize_t taken = read(capture.reader, page, sizeof page);
    log_event(LOG_ERROR, "kept", "x=3");
    uint64_t after = log_dropped() - before;
    dup2(capture.saved, STDERR_FILENO);
    cr_assert_eq(taken, (ssize_t)sizeof page);
    cr_assert_eq(lost, 2);
    cr_assert_eq(after, 2);
}

Test(log, a_pipe_without_a_reader_drops_lines) {
    signal(SIGPIPE, SIG_IGN);
    struct capture capture = capture_pipe();
    close(capture.reader);
    uint64_t before = log_dropped();
    log_event(LOG_ERROR, "lost", "x=1");
    uint64_t lost = log_dropped() - before;
    dup2(capture.saved, STDERR_FILENO);
    cr_assert_eq(lost, 1);
}

static uint64_t lost_on(int fd) {
    int saved = dup(STDERR_FILENO);
    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
    else
        close(STDERR_FILENO);
    uint64_t before = log_dropped();
    log_event(LOG_ERROR, "lost", "x=1");
    uint64_t lost = log_dropped() - before;
    dup2(saved, STDERR_FILENO);
    return lost;
}

Test(log, a_full_disk_or_a_closed_descriptor_drops_lines) {
    cr_assert_eq(lost_on(open("/dev/full", O_WRONLY)), 1);
    cr_assert_eq(lost_on(-1), 1);
}

static void *log_many(void *name) {
    for (int i = 0; i < 500; i++)
        log_event(LOG_INFO, "line", "thread=%s n=%d", (const char *)name, i);
    return NULL;
}

Test(log, threads_do_not_tear_each_others_lines) {
    int file = memfd_create("log", 0), saved = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    pthread_t a, b;
    pthread_create(&a, NULL, log_many, "a");
    pthread_create(&b, NULL, log_many, "b");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    dup2(saved, STDERR_FILENO);
    FILE *in = fdopen(file, "r");
    rewind(in);
    char line[200];
    int next[2] = {0, 0};
    while (fgets(line, sizeof line, in)) {
        char name;
        int n;
        cr_assert_eq(sscanf(line, "%*s info line thread=%c n=%d\n", &name, &n), 2, "%s", line);
        cr_assert_eq(n, next[name == 'b']++);
    }
    cr_assert(next[0] == 500 && next[1] == 500);
    fclose(in);
}

Test(log, values_are_quoted_when_they_need_it) {
    char out[64];
    cr_assert_str_eq(log_quote("/predict:8000", out, sizeof out), "/predict:8000");
    cr_assert_str_eq(log_quote("", out, sizeof out), "\"\"");
    cr_assert_str_eq(log_quote("a b", out, sizeof out), "\"a b\"");
    cr_assert_str_eq(log_quote("a=b", out, sizeof out), "\"a=b\"");
    cr_assert_str_eq(log_quote("say \"hi\"\\", out, sizeof out), "\"say \\\"hi\\\"\\\\\"");
    cr_assert_str_eq(log_quote("a\nb\r\t\x01\x7F\xFF", out, sizeof out), "\"a\\nb\\r\\t\\x01\\x7f\\xff\"");
}

Test(log, quoted_values_are_cut_to_fit) {
    char out[8];
    cr_assert_str_eq(log_quote("abcdefghij", out, sizeof out), "abcdefg");
    cr_assert_str_eq(log_quote("abcdefg", out, sizeof out), "abcdefg");
    cr_assert_str_eq(log_quote("a bcdefghij", out, sizeof out), "\"a bcd\"");
    cr_assert_str_eq(log_quote("a bc\n", out, sizeof out), "\"a bc\"");
    cr_assert_str_eq(log_quote("a b", out, 2), "");
    cr_assert_str_eq(log_quote("a b", out, 3), "\"\"");
    cr_assert_str_eq(log_quote("abc", out, 1), "");
}
