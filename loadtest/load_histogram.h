/* Latencies in log-linear buckets (the idea of HdrHistogram), each 1/1024 of its value wide; the largest is exact. */
#ifndef WEIR_LOADTEST_LOAD_HISTOGRAM_H
#define WEIR_LOADTEST_LOAD_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_PRECISION_BITS = 10, HISTOGRAM_BUCKETS = 40 << HISTOGRAM_PRECISION_BITS };

struct histogram {
    uint64_t count;
    int64_t max_ns;
    double sum_ns;
    uint32_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, int64_t ns);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The smallest latency that `share` (0 to 1) of all do not exceed; 0 if there are none. */
double histogram_quantile_ns(const struct histogram *histogram, double share);

/* The percentile distribution in milliseconds, in the text form of HdrHistogram that its plotter reads: five lines for
 * each halving of the distance to 100 %. */
void histogram_print(const struct histogram *histogram, FILE *out);

#endif
