#include "loadtest/load_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "loadtest/load_stats.h"

size_t load_records_add(struct load_records *records, const struct load_record *record) {
    if (records->count == records->room) {
        records->room = records->room ? 2 * records->room : 65536;
        records->items = realloc(records->items, records->room * sizeof *records->items);
        if (!records->items) {
            fprintf(stderr, "load: no memory for %zu requests\n", records->room);
            exit(2);
        }
    }
    records->items[records->count] = *record;
    return records->count++;
}

static int compare(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

/* The smallest of `count` values that `share` of them do not exceed. Sorts them. */
static double quantile(float *values, size_t count, double share) {
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare);
    size_t rank = (size_t)(share * (double)count + 0.999999);
    return values[rank > 0 ? rank - 1 : 0];
}

/* One line: the requests from `from` on that were due before end_ns. Returns the index of the first that was not. */
static size_t write_step(const struct load_records *records, size_t from, int64_t end_ns, float *latencies, FILE *out) {
    uint64_t good = 0, ok = 0, counts[LOAD_OUTCOME_COUNT] = {0}, lost = 0;
    size_t at = from;
    for (; at < records->count && records->items[at].due_ns < end_ns; at++) {
        const struct load_record *record = &records->items[at];
        good += record->good;
        if (record->status == 0)
            lost++;
        else
            counts[load_outcome_of(record->status)]++;
        if (record->status == 200)
            latencies[ok++] = record->latency_us;
    }
    double p50_us = quantile(latencies, ok, 0.5), p99_us = quantile(latencies, ok, 0.99);
    uint64_t late = counts[LOAD_OUTCOME_LATE] + ok - good;
    fprintf(out, "%zu,%llu,%llu,%llu,%llu,%llu,%.3f,%.3f,%.3f\n", at - from, (unsigned long long)good,
            (unsigned long long)counts[LOAD_OUTCOME_REFUSED], (unsigned long long)late,
            (unsigned long long)counts[LOAD_OUTCOME_OTHER], (unsigned long long)lost, p50_us / CLOCK_NS_PER_US,
            p99_us / CLOCK_NS_PER_US, ok > 0 ? latencies[ok - 1] / CLOCK_NS_PER_US : 0.0);
    return at;
}

const char *load_records_write_series(const struct load_records *records, const struct load_options *options,
                                      int64_t begin_ns) {
    FILE *out = fopen(options->series_path, "w");
    float *latencies = malloc((records->count + 1) * sizeof *latencies);
    int64_t step_ns = (int64_t)(options->series_ms * CLOCK_NS_PER_MS), at_ns = 0;
    size_t at = 0;
    if (!out || !latencies) {
        const char *wrong = out ? "no memory" : strerror(errno);
        if (out)
            fclose(out);
        free(latencies);
        return wrong;
    }
    fputs("begin_ms,offered,good,refused,late,other,lost,p50_ms,p99_ms,max_ms\n", out);
    for (; at_ns < (int64_t)(options->seconds * (double)CLOCK_NS_PER_S); at_ns += step_ns) {
        fprintf(out, "%.0f,", (double)at_ns / CLOCK_NS_PER_MS);
        at = write_step(records, at, begin_ns + at_ns + step_ns, latencies, out);
    }
    free(latencies);
    return fclose(out) == 0 ? NULL : strerror(errno);
}

const char *load_records_write_trace(const struct load_records *records, const struct load_options *options,
                                     int64_t begin_ns) {
    FILE *out = fopen(options->trace_path, "w");
    if (!out)
        return strerror(errno);
    fputs("due_us,class,status,good,latency_us\n", out);
    for (size_t i = 0; i < records->count; i++) {
        const struct load_record *record = &records->items[i];
        fprintf(out, "%.1f,%s,%u,%d,%.1f\n", (double)(record->due_ns - begin_ns) / CLOCK_NS_PER_US,
                options->classes[record->class].name, (unsigned)record->status, record->good,
                (double)record->latency_us);
    }
    return fclose(out) == 0 ? NULL : strerror(errno);
}
