#include "loadtest/load_stats.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"

/* Values below 2^11 have a bucket each; above, the eleven leading bits choose it. */
static uint32_t bucket_of(int64_t ns) {
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    int shift = value < (2u << LATENCY_PRECISION_BITS) ? 0 : 63 - __builtin_clzll(value) - LATENCY_PRECISION_BITS;
    uint64_t index = ((uint64_t)shift << LATENCY_PRECISION_BITS) + (value >> shift);
    return index < LATENCY_BUCKETS ? (uint32_t)index : LATENCY_BUCKETS - 1;
}

/* The middle of a bucket. */
static double bucket_ns(uint32_t bucket) {
    uint32_t step = 1u << LATENCY_PRECISION_BITS;
    if (bucket < 2 * step)
        return bucket;
    uint32_t shift = bucket / step - 1;
    double low = (double)((uint64_t)(bucket - shift * step) << shift);
    return low + (double)(UINT64_C(1) << shift) / 2;
}

void latency_add(struct latency *latency, int64_t ns) {
    latency->count++;
    latency->sum_ns += (double)ns;
    if (ns > latency->max_ns)
        latency->max_ns = ns;
    latency->buckets[bucket_of(ns)]++;
}

void latency_merge(struct latency *into, const struct latency *from) {
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

double latency_quantile_ns(const struct latency *latency, double share) {
    double wanted = share * (double)latency->count;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen += latency->buckets[i];
        if (seen > 0 && (double)seen >= wanted) {
            double ns = bucket_ns(i);
            return ns < (double)latency->max_ns ? ns : (double)latency->max_ns;
        }
    }
    return 0;
}

bool load_stats_measures(const struct load_stats *stats, int64_t due_ns) {
    return due_ns >= stats->begin_ns && due_ns < stats->end_ns;
}

static enum load_class class_of(int status) {
    if (status >= 200 && status <= 299)
        return LOAD_CLASS_OK;
    if (status == 503 || status == 429)
        return LOAD_CLASS_REFUSED;
    return status == 504 ? LOAD_CLASS_LATE : LOAD_CLASS_OTHER;
}

void load_stats_answer(struct load_stats *stats, int status, int64_t due_ns, int64_t now_ns, double deadline_ms) {
    if (stats->window_begin_ns && !stats->window_end_ns)
        stats->window_answers++;
    if (!load_stats_measures(stats, due_ns))
        return;
    stats->answered++;
    stats->codes[status]++;
    if (status == 200 && (deadline_ms <= 0 || (double)(now_ns - due_ns) <= deadline_ms * CLOCK_NS_PER_MS))
        stats->good++;
    latency_add(&stats->classes[class_of(status)], now_ns - due_ns);
}

void load_stats_error(struct load_stats *stats, enum load_error error, int64_t due_ns) {
    if (load_stats_measures(stats, due_ns))
        stats->errors[error]++;
    else
        stats->errors_outside++;
}

static int64_t own_cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
}

/* Time on a CPU of all threads of a process: the first number of each task's schedstat, in nanoseconds (source:
 * Documentation/scheduler/sched-stats.rst). -1 if it cannot be read. */
static int64_t cpu_ns_of(int pid) {
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = pid > 0 ? opendir(path) : NULL;
    if (!tasks)
        return -1;
    int64_t total = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        long long ns;
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, task->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue; /* this thread has just ended */
        if (fscanf(file, "%lld", &ns) == 1)
            total += ns;
        fclose(file);
    }
    closedir(tasks);
    return total;
}

void load_stats_open_window(struct load_stats *stats, int watch_pid) {
    stats->watched_cpu_ns = cpu_ns_of(watch_pid);
    stats->own_cpu_ns = own_cpu_ns();
    stats->window_begin_ns = clock_now_ns();
}

void load_stats_close_window(struct load_stats *stats, int watch_pid) {
    int64_t watched_ns = cpu_ns_of(watch_pid);
    stats->watched_cpu_ns = watched_ns < 0 || stats->watched_cpu_ns < 0 ? -1 : watched_ns - stats->watched_cpu_ns;
    stats->own_cpu_ns = own_cpu_ns() - stats->own_cpu_ns;
    stats->window_end_ns = clock_now_ns();
}

static void print_latency(const char *name, const struct latency *latency, const char *end) {
    double count = latency->count ? (double)latency->count : 1;
    printf("\"%s\": {\"count\": %llu, \"mean\": %.2f", name, (unsigned long long)latency->count,
           latency->sum_ns / count / CLOCK_NS_PER_US);
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        printf(", \"%s\": %.2f", quantiles[i].name, latency_quantile_ns(latency, quantiles[i].share) / CLOCK_NS_PER_US);
    printf(", \"max\": %.2f}%s", (double)latency->max_ns / CLOCK_NS_PER_US, end);
}

static void print_count(const char *name, uint64_t count) {
    printf("\"%s\": %llu, ", name, (unsigned long long)count);
}

static void print_counts(const struct load_stats *stats) {
    static const char *const names[] = {
#define LOAD_ERROR_TEXT(name, text) text,
        LOAD_ERROR_LIST(LOAD_ERROR_TEXT)
#undef LOAD_ERROR_TEXT
    };
    print_count("planned", stats->planned);
    print_count("sent", stats->sent);
    print_count("unsent_late", stats->unsent_late);
    print_count("answered", stats->answered);
    print_count("good", stats->good);
    print_count("unanswered", stats->unanswered);
    printf("\"errors\": {");
    for (int i = 0; i < LOAD_ERROR_COUNT; i++)
        printf("%s\"%s\": %llu", i ? ", " : "", names[i], (unsigned long long)stats->errors[i]);
    printf("}, ");
    print_count("errors_outside", stats->errors_outside);
    printf("\"codes\": {");
    bool first = true;
    for (int code = 0; code < 600; code++) {
        if (stats->codes[code] == 0)
            continue;
        printf("%s\"%d\": %llu", first ? "" : ", ", code, (unsigned long long)stats->codes[code]);
        first = false;
    }
    printf("},\n ");
}

void load_stats_print(const struct load_stats *stats, const struct load_options *options) {
    static const char *const names[] = {"ok", "refused", "late", "other"};
    double seconds = (double)(stats->end_ns - stats->begin_ns) / (double)CLOCK_NS_PER_S;
    double window_ns = (double)(stats->window_end_ns - stats->window_begin_ns);
    struct latency *all = calloc(1, sizeof *all);
    printf("{\"mode\": \"%s\", \"connections\": %d, \"rate\": %g, \"seconds\": %g, \"deadline_ms\": %g,\n ",
           options->rate > 0 ? "open" : "closed", options->connections, options->rate, seconds, options->deadline_ms);
    print_counts(stats);
    print_count("connections_opened", stats->connections_opened);
    printf("\"answers_per_s\": %.2f, \"good_per_s\": %.2f,\n \"latency_us\": {", (double)stats->answered / seconds,
           (double)stats->good / seconds);
    for (int i = 0; all && i < LOAD_CLASS_COUNT; i++)
        latency_merge(all, &stats->classes[i]);
    if (all)
        print_latency("all", all, ",\n  ");
    for (int i = 0; i < LOAD_CLASS_COUNT; i++)
        print_latency(names[i], &stats->classes[i], i + 1 < LOAD_CLASS_COUNT ? ",\n  " : "},\n ");
    print_latency("send_lag_us", &stats->send_lag, ",\n ");
    printf("\"window_s\": %.6f, \"window_answers\": %llu, \"client_cpu_share\": %.4f, ",
           window_ns / (double)CLOCK_NS_PER_S, (unsigned long long)stats->window_answers,
           (double)stats->own_cpu_ns / window_ns);
    if (stats->watched_cpu_ns < 0)
        printf("\"watched_cpu_ns\": null, \"watched_cpu_us_per_answer\": null}\n");
    else
        printf("\"watched_cpu_ns\": %lld, \"watched_cpu_us_per_answer\": %.4f}\n", (long long)stats->watched_cpu_ns,
               stats->window_answers ? (double)stats->watched_cpu_ns / (double)stats->window_answers / CLOCK_NS_PER_US
                                     : 0);
    free(all);
}
