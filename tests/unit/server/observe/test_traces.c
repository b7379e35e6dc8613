#include "server/observe/traces.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"
#include "server/observe/log.h"
#include "tests/fakes/http_double.h"

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
#define BUSY "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"

static struct http_double collector;
static struct traces *traces;
static char endpoint[64];
static struct weir_error err;

static void setup(void) {
    signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_ERROR);
}

TestSuite(traces, .init = setup, .timeout = 60);

static void open_traces(uint32_t percent) {
    struct traces_options options = {.endpoint = endpoint,
                                     .service = "s",
                                     .lanes = 2,
                                     .percent = percent,
                                     .export_ns = CLOCK_NS_PER_MS,
                                     .back_off_ns = CLOCK_NS_PER_MS};
    cr_assert_eq(traces_open(&options, &traces, &err), WEIR_OK, "%s", err.text);
}

static void start(const char *first, const char *then) {
    collector.answers[0] = first;
    collector.answers[1] = then;
    collector.answer_count = 2;
    http_double_start(&collector);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", collector.port);
    open_traces(100);
}

static void request(int lane) {
    struct trace_entry *entry = traces_begin(traces_lane(traces, lane));
    cr_assert_not_null(entry);
    cr_assert_eq(entry->code, 0, "nothing is known in it");
    entry->span = 1;
    entry->code = 200;
    traces_end(traces_lane(traces, lane), entry);
}

static void wait_for(uint64_t exported, uint64_t failed) {
    struct traces_counts counts;
    do {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        counts = traces_counts(traces);
    } while (counts.exported < exported || counts.failed < failed);
    cr_assert_eq(counts.exported, exported);
    cr_assert_eq(counts.failed, failed);
}

static void finish(void) {
    traces_close(traces);
    http_double_stop(&collector);
}

Test(traces, those_of_all_lanes_are_sent) {
    start(GOOD, GOOD);
    request(0);
    request(1);
    wait_for(2, 0);
    finish();
    cr_assert(strstr(collector.requests, "POST /v1/traces HTTP/1.1\r\n"), "%s", collector.requests);
    free(collector.requests);
}

Test(traces, a_busy_collector_is_asked_again) {
    start(BUSY, GOOD);
    request(0);
    wait_for(1, 0);
    finish();
    cr_assert_eq(atomic_load(&collector.count), 2);
    free(collector.requests);
}

Test(traces, in_the_end_they_are_given_up) {
    start(BUSY, BUSY);
    request(0);
    wait_for(0, 1);
    finish();
    cr_assert_eq(atomic_load(&collector.count), 1 + TRACES_RETRIES);
    free(collector.requests);
}

Test(traces, what_is_refused_is_not_sent_again) {
    start("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", GOOD);
    request(0);
    wait_for(0, 1);
    request(0);
    wait_for(1, 1);
    finish();
    cr_assert_eq(atomic_load(&collector.count), 2);
    free(collector.requests);
}

Test(traces, the_stop_sends_what_is_there) {
    start(GOOD, GOOD);
    for (int i = 0; i < TRACES_BATCH + 5; i++)
        request(i % 2);
    traces_stop(traces);
    cr_assert_eq(traces_counts(traces).exported, TRACES_BATCH + 5);
    finish();
    free(collector.requests);
}

Test(traces, a_silent_collector_holds_up_nobody_and_not_the_stop_for_long) {
    start(NULL, NULL);
    uint64_t dropped = 0;
    for (int i = 0; i < TRACES_ENTRIES + 2 * TRACES_BATCH + 100; i++) {
        struct trace_entry *entry = traces_begin(traces_lane(traces, 0));
        dropped += !entry;
        if (entry)
            traces_end(traces_lane(traces, 0), entry);
    }
    cr_assert(dropped > 0);
    cr_assert_eq(traces_counts(traces).dropped, dropped);
    int64_t began_ns = clock_now_ns();
    traces_stop(traces);
    cr_assert(clock_now_ns() - began_ns < 30 * CLOCK_NS_PER_S);
    finish();
    free(collector.requests);
}

Test(traces, the_sample_is_drawn_by_chance) {
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:9");
    open_traces(25);
    struct trace_lane *lane = traces_lane(traces, 0);
    int drawn = 0;
    for (int i = 0; i < 10000; i++)
        drawn += traces_draw(lane);
    cr_assert(drawn > 2200 && drawn < 2800, "%d", drawn); /* seven standard deviations */
    traces_set(traces, 0);
    cr_assert_not(traces_draw(lane));
    traces_set(traces, 100);
    cr_assert(traces_draw(lane));
    traces_close(traces);
}

Test(traces, an_endpoint_that_is_none_is_an_error) {
    static const char *const wrong[] = {"https://a", "a:4318", "http://", "http://a:1b"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_assert_eq(
            traces_open(&(struct traces_options){.endpoint = wrong[i], .service = "s", .lanes = 1}, &traces, &err),
            WEIR_INVALID, "%s", wrong[i]);
}
