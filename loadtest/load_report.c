#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "loadtest/load_stats.h"

static void print_latency(const char *name, const struct histogram *latency, const char *end) {
    double count = latency->count ? (double)latency->count : 1;
    printf("\"%s\": {\"count\": %llu, \"mean\": %.2f", name, (unsigned long long)latency->count,
           latency->sum_ns / count / CLOCK_NS_PER_US);
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        printf(", \"%s\": %.2f", quantiles[i].name,
               histogram_quantile_ns(latency, quantiles[i].share) / CLOCK_NS_PER_US);
    printf(", \"max\": %.2f}%s", (double)latency->max_ns / CLOCK_NS_PER_US, end);
}

static void print_count(const char *name, uint64_t count) {
    printf("\"%s\": %llu, ", name, (unsigned long long)count);
}

static void print_counts(const struct load_tally *tally) {
    static const char *const names[] = {
#define LOAD_ERROR_TEXT(name, text) text,
        LOAD_ERROR_LIST(LOAD_ERROR_TEXT)
#undef LOAD_ERROR_TEXT
    };
    print_count("planned", tally->planned);
    print_count("sent", tally->sent);
    print_count("unsent_late", tally->unsent_late);
    print_count("answered", tally->answered);
    print_count("good", tally->good);
    print_count("ok_late", tally->ok_late);
    print_count("unanswered", tally->unanswered);
    printf("\"errors\": {");
    for (int i = 0; i < LOAD_ERROR_COUNT; i++)
        printf("%s\"%s\": %llu", i ? ", " : "", names[i], (unsigned long long)tally->errors[i]);
    printf("}, \"codes\": {");
    bool first = true;
    for (int code = 0; code < 600; code++) {
        if (tally->codes[code] == 0)
            continue;
        printf("%s\"%d\": %llu", first ? "" : ", ", code, (unsigned long long)tally->codes[code]);
        first = false;
    }
    printf("}, \"reasons\": {");
    for (int i = 0; i < tally->reason_count; i++)
        printf("%s\"%d %s\": %llu", i ? ", " : "", tally->reasons[i].status, tally->reasons[i].text,
               (unsigned long long)tally->reasons[i].count);
    printf("}, \"numbers\": {\"right\": %llu, \"wrong\": %llu},\n ", (unsigned long long)tally->numbers_right,
           (unsigned long long)tally->numbers_wrong);
}

static void print_latencies(const struct load_tally *tally) {
    static const char *const names[] = {"ok", "refused", "late", "other"};
    struct histogram *all = calloc(1, sizeof *all);
    printf("\"latency_us\": {");
    for (int i = 0; all && i < LOAD_OUTCOME_COUNT; i++)
        histogram_merge(all, &tally->outcomes[i]);
    if (all)
        print_latency("all", all, ",\n  ");
    for (int i = 0; i < LOAD_OUTCOME_COUNT; i++)
        print_latency(names[i], &tally->outcomes[i], i + 1 < LOAD_OUTCOME_COUNT ? ",\n  " : "},\n ");
    print_latency("refused_from_send_us", &tally->refused_from_send, "");
    free(all);
}

static void merge_reasons(struct load_tally *into, const struct load_tally *from) {
    for (int i = 0; i < from->reason_count; i++) {
        int at = 0;
        while (at < into->reason_count && (into->reasons[at].status != from->reasons[i].status ||
                                           strcmp(into->reasons[at].text, from->reasons[i].text) != 0))
            at++;
        if (at == LOAD_REASONS)
            continue;
        if (at == into->reason_count) {
            into->reasons[into->reason_count++] = from->reasons[i];
            continue;
        }
        into->reasons[at].count += from->reasons[i].count;
    }
}

static void merge(struct load_tally *into, const struct load_tally *from) {
    into->planned += from->planned;
    into->sent += from->sent;
    into->unsent_late += from->unsent_late;
    into->answered += from->answered;
    into->good += from->good;
    into->ok_late += from->ok_late;
    into->unanswered += from->unanswered;
    into->numbers_right += from->numbers_right;
    into->numbers_wrong += from->numbers_wrong;
    for (int i = 0; i < LOAD_ERROR_COUNT; i++)
        into->errors[i] += from->errors[i];
    for (int i = 0; i < 600; i++)
        into->codes[i] += from->codes[i];
    merge_reasons(into, from);
    for (int i = 0; i < LOAD_OUTCOME_COUNT; i++)
        histogram_merge(&into->outcomes[i], &from->outcomes[i]);
    histogram_merge(&into->refused_from_send, &from->refused_from_send);
}

static void print_classes(const struct load_stats *stats, const struct load_options *options, double seconds) {
    printf("\"classes\": [");
    for (int i = 0; i < options->class_count; i++) {
        const struct load_class *class = &options->classes[i];
        printf("%s{\"name\": \"%s\", \"share\": %g, \"deadline_ms\": %g, ", i ? ",\n " : "", class->name, class->share,
               class->deadline_ms);
        print_counts(&stats->tallies[i]);
        printf("\"good_per_s\": %.2f, ", (double)stats->tallies[i].good / seconds);
        print_latencies(&stats->tallies[i]);
        printf("}");
    }
    printf("],\n ");
}

static void print_window(const struct load_stats *stats) {
    double window_ns = (double)(stats->window_end_ns - stats->window_begin_ns);
    const struct watch *watched = &stats->watched;
    printf("\"window_s\": %.6f, \"window_answers\": %llu, \"client_cpu_share\": %.4f, ",
           window_ns / (double)CLOCK_NS_PER_S, (unsigned long long)stats->window_answers,
           (double)stats->own_cpu_ns / window_ns);
    if (watched->total_ns < 0) {
        printf("\"watched_cpu_ns\": null, \"watched_cpu_us_per_answer\": null, \"watched_threads_cpu_ns\": {}}\n");
        return;
    }
    double answers = stats->window_answers ? (double)stats->window_answers : 1;
    printf("\"watched_cpu_ns\": %lld, \"watched_cpu_us_per_answer\": %.4f, \"watched_threads_cpu_ns\": {",
           (long long)watched->total_ns,
           stats->window_answers ? (double)watched->total_ns / answers / CLOCK_NS_PER_US : 0.0);
    for (int i = 0; i < watched->thread_count; i++)
        printf("%s\"%s\": %lld", i ? ", " : "", watched->threads[i].name, (long long)watched->threads[i].cpu_ns);
    printf("}}\n");
}

void load_stats_print(const struct load_stats *stats, const struct load_options *options) {
    double seconds = (double)(stats->end_ns - stats->begin_ns) / (double)CLOCK_NS_PER_S;
    struct load_tally *total = calloc(1, sizeof *total);
    if (!total)
        return;
    for (int i = 0; i < options->class_count; i++)
        merge(total, &stats->tallies[i]);
    printf("{\"mode\": \"%s\", \"connections\": %d, \"rate\": %g, \"seconds\": %g, \"deadline_ms\": %g,\n ",
           options->open ? "open" : "closed", options->connections, options->rate, seconds,
           options->class_count == 1 ? options->classes[0].deadline_ms : 0.0);
    print_counts(total);
    print_count("errors_outside", stats->errors_outside);
    print_count("connections_opened", stats->connections_opened);
    printf("\"answers_per_s\": %.2f, \"good_per_s\": %.2f,\n ", (double)total->answered / seconds,
           (double)total->good / seconds);
    print_latencies(total);
    printf(",\n ");
    print_latency("send_lag_us", &stats->send_lag, ",\n ");
    print_classes(stats, options, seconds);
    print_window(stats);
    free(total);
}

static const char *write_histogram(const char *path, const struct histogram *histogram) {
    FILE *out = fopen(path, "w");
    if (!out)
        return strerror(errno);
    histogram_print(histogram, out);
    return fclose(out) == 0 ? NULL : strerror(errno);
}

const char *load_stats_write_percentiles(const struct load_stats *stats, const struct load_options *options) {
    struct histogram *all = calloc(1, sizeof *all);
    const char *wrong = all ? NULL : "no memory";
    for (int i = 0; !wrong && i < options->class_count; i++) {
        char path[4096];
        const struct histogram *histogram = &stats->tallies[i].outcomes[LOAD_OUTCOME_OK];
        histogram_merge(all, histogram);
        snprintf(path, sizeof path, "%s.%s", options->percentiles_path, options->classes[i].name);
        if (options->class_count > 1)
            wrong = write_histogram(path, histogram);
    }
    if (!wrong)
        wrong = write_histogram(options->percentiles_path, all);
    free(all);
    return wrong;
}
