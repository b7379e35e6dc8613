#include "loadtest/load_histogram.h"

#include <math.h>

#include "engine/clock.h"

enum { LINES_A_HALVING = 5 };

/* Values below 2^11 have a bucket each; above, the eleven leading bits choose it. */
static uint32_t bucket_of(int64_t ns) {
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    int shift = value < (2u << HISTOGRAM_PRECISION_BITS) ? 0 : 63 - __builtin_clzll(value) - HISTOGRAM_PRECISION_BITS;
    uint64_t index = ((uint64_t)shift << HISTOGRAM_PRECISION_BITS) + (value >> shift);
    return index < HISTOGRAM_BUCKETS ? (uint32_t)index : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket. */
static double bucket_ns(uint32_t bucket) {
    uint32_t step = 1u << HISTOGRAM_PRECISION_BITS;
    if (bucket < 2 * step)
        return bucket;
    uint32_t shift = bucket / step - 1;
    double low = (double)((uint64_t)(bucket - shift * step) << shift);
    return low + (double)(UINT64_C(1) << shift) / 2;
}

void histogram_add(struct histogram *histogram, int64_t ns) {
    histogram->count++;
    histogram->sum_ns += (double)ns;
    if (ns > histogram->max_ns)
        histogram->max_ns = ns;
    histogram->buckets[bucket_of(ns)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    if (from->count > 0)
        for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
            into->buckets[i] += from->buckets[i];
}

static double value_ns(const struct histogram *histogram, uint32_t bucket) {
    double ns = bucket_ns(bucket);
    return ns < (double)histogram->max_ns ? ns : (double)histogram->max_ns;
}

double histogram_quantile_ns(const struct histogram *histogram, double share) {
    double wanted = share * (double)histogram->count;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen > 0 && (double)seen >= wanted)
            return value_ns(histogram, i);
    }
    return 0;
}

static double deviation_ns(const struct histogram *histogram, double mean_ns) {
    double sum = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double off_ns = bucket_ns(i) - mean_ns;
        sum += histogram->buckets[i] * off_ns * off_ns;
    }
    return histogram->count > 0 ? sqrt(sum / (double)histogram->count) : 0;
}

static void print_line(const struct histogram *histogram, uint32_t bucket, double share, uint64_t seen, FILE *out) {
    fprintf(out, "%12.3f %14.12f %10llu", value_ns(histogram, bucket) / CLOCK_NS_PER_MS, share,
            (unsigned long long)seen);
    if (share < 1)
        fprintf(out, " %14.2f\n", 1 / (1 - share));
    else
        fputc('\n', out);
}

void histogram_print(const struct histogram *histogram, FILE *out) {
    double mean_ns = histogram->count > 0 ? histogram->sum_ns / (double)histogram->count : 0;
    double share = 0, step = 0.5 / LINES_A_HALVING;
    int lines = 0;
    uint64_t seen = 0;
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && seen < histogram->count; i++) {
        if (histogram->buckets[i] == 0)
            continue;
        seen += histogram->buckets[i];
        while (seen < histogram->count && (double)seen >= share * (double)histogram->count) {
            print_line(histogram, i, share, seen, out);
            share += step;
            if (++lines % LINES_A_HALVING == 0)
                step /= 2;
        }
        if (seen == histogram->count)
            print_line(histogram, i, 1, seen, out);
    }
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean_ns / CLOCK_NS_PER_MS,
            deviation_ns(histogram, mean_ns) / CLOCK_NS_PER_MS);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n", (double)histogram->max_ns / CLOCK_NS_PER_MS,
            (unsigned long long)histogram->count);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", HISTOGRAM_BUCKETS >> HISTOGRAM_PRECISION_BITS,
            1 << HISTOGRAM_PRECISION_BITS);
}
