/* Traces of several loops at once, while they are changed and counted and nobody takes them. Exits 0 if every request
 * that was drawn is exported, dropped or failed. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/clock.h"
#include "server/observe/log.h"
#include "server/observe/traces.h"
#include "tests/fakes/http_double.h"

enum { LOOPS = 3, ROUNDS = 20000, OPEN = 16 };

static atomic_bool stop;
static _Atomic uint64_t drawn;

/* As a loop does it: several requests are under way, and end in another order than they began. */
static void *serve(void *argument) {
    struct trace_lane *lane = argument;
    struct trace_entry *open[OPEN] = {NULL};
    for (uint32_t i = 0; i < ROUNDS + OPEN; i++) {
        uint32_t at = i * 7 % OPEN;
        if (open[at]) {
            open[at]->code = 200;
            open[at]->span = i + 1;
            open[at]->batch = i / 8;
            traces_end(lane, open[at]);
        }
        open[at] = NULL;
        if (i >= ROUNDS || !traces_draw(lane))
            continue;
        atomic_fetch_add(&drawn, 1);
        open[at] = traces_begin(lane);
    }
    return NULL;
}

static void *trouble(void *traces) {
    for (uint64_t last = 0; !atomic_load(&stop);) {
        traces_set(traces, 50);
        traces_set(traces, 100);
        traces_set_device(traces, "cpu");
        struct traces_counts counts = traces_counts(traces);
        if (counts.exported + counts.failed < last)
            abort();
        last = counts.exported + counts.failed;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return NULL;
}

int main(void) {
    struct http_double collector = {.answers = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                                                "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
                                                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
                                    .answer_count = 3};
    struct traces *traces;
    struct weir_error err;
    char endpoint[64];
    signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_ERROR);
    http_double_start(&collector);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", collector.port);
    struct traces_options options = {
        .endpoint = endpoint, .service = "race", .lanes = LOOPS, .percent = 100, .export_ns = CLOCK_NS_PER_MS};
    if (traces_open(&options, &traces, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    pthread_t loops[LOOPS], other;
    pthread_create(&other, NULL, trouble, traces);
    for (int i = 0; i < LOOPS; i++)
        pthread_create(&loops[i], NULL, serve, traces_lane(traces, i));
    for (int i = 0; i < LOOPS; i++)
        pthread_join(loops[i], NULL);
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    for (struct traces_counts counts = {0}; counts.exported + counts.failed + counts.dropped < atomic_load(&drawn);) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* it ends by the test's limit if one is lost */
        counts = traces_counts(traces);
    }
    struct traces_counts counts = traces_counts(traces);
    int wrong = counts.exported + counts.failed + counts.dropped != atomic_load(&drawn) || counts.exported == 0;
    if (wrong)
        fprintf(stderr, "%llu drawn, %llu exported, %llu failed, %llu dropped\n", (unsigned long long)drawn,
                (unsigned long long)counts.exported, (unsigned long long)counts.failed,
                (unsigned long long)counts.dropped);
    traces_close(traces);
    http_double_stop(&collector);
    free(collector.requests);
    return wrong;
}
