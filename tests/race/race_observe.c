/* Metrics and log from many threads at once: writers, a scraper, a model change, log lines. Exits 0 if the sums are
 * right. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/observe/log.h"
#include "server/observe/metrics.h"

enum { WRITERS = 3, ROUNDS = 20000 };

static const struct metrics_gauges gauges = {.device = "cpu"};

struct writer {
    struct metrics *metrics;
    int index;
};

static struct log_site site;
static atomic_bool stop;

static void *write_counts(void *argument) {
    const struct writer *writer = argument;
    struct metrics_shard *shard = metrics_shard(writer->metrics, writer->index);
    for (int i = 0; i < ROUNDS; i++) {
        int model = metrics_model(writer->metrics, "m", (uint64_t)(i % 20 + 1));
        metrics_count_connection(shard, false);
        metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, i);
        metrics_count_queue_delay(shard, model, i);
        metrics_count_batch(shard, model, 1, i);
        int passing = metrics_model(writer->metrics, "n", (uint64_t)(i % 300 + 1)); /* makes room for the next */
        metrics_count_estimate(shard, passing, i);
        metrics_retire(writer->metrics, passing);
        if (i % 64 == 0)
            log_event(LOG_INFO, "line", "writer=%d n=%d", writer->index, i);
        log_event_limited(&site, 1 + i, LOG_WARN, "often", "n=%d", i);
    }
    return NULL;
}

static void *change_model(void *argument) {
    for (uint64_t version = 1; !atomic_load(&stop); version++)
        metrics_model(argument, "m", version % 20 + 1);
    return NULL;
}

/* The sum of all series that begin with prefix, the value of their last column. */
static double sum_of(struct metrics *metrics, const char *prefix) {
    struct bytes page = {0};
    metrics_render(metrics, &gauges, &page);
    bytes_append(&page, "", 1);
    double sum = 0;
    char *rest = page.data;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strncmp(line, prefix, strlen(prefix)) == 0)
            sum += atof(strrchr(line, ' '));
    bytes_release(&page);
    return sum;
}

static void *scrape(void *argument) {
    double last = 0;
    while (!atomic_load(&stop)) {
        double now = sum_of(argument, "weir_accepted_connections_total ");
        if (now < last)
            abort();
        last = now;
    }
    return NULL;
}

int main(void) {
    struct metrics *metrics = metrics_create(WRITERS);
    int file = memfd_create("log", 0), saved = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    pthread_t writers[WRITERS], changer, scraper;
    struct writer arguments[WRITERS];
    pthread_create(&changer, NULL, change_model, metrics);
    pthread_create(&scraper, NULL, scrape, metrics);
    for (int i = 0; i < WRITERS; i++) {
        arguments[i] = (struct writer){.metrics = metrics, .index = i};
        pthread_create(&writers[i], NULL, write_counts, &arguments[i]);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    atomic_store(&stop, true);
    pthread_join(changer, NULL);
    pthread_join(scraper, NULL);
    dup2(saved, STDERR_FILENO);

    const char *const prefixes[] = {"weir_accepted_connections_total ", "weir_requests_total{",
                                    "weir_batch_rows_count{", "weir_queue_delay_seconds_count{",
                                    "weir_request_duration_seconds_count{"};
    int wrong = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        double sum = sum_of(metrics, prefixes[i]);
        if (sum != (double)WRITERS * ROUNDS) {
            fprintf(stderr, "%s is %g\n", prefixes[i], sum);
            wrong = 1;
        }
    }
    metrics_destroy(metrics);
    return wrong;
}
