/* A histogram with fixed bounds. One thread writes, any thread reads. */
#ifndef WEIR_SERVER_OBSERVE_HISTOGRAM_H
#define WEIR_SERVER_OBSERVE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/bytes.h"

enum { HISTOGRAM_MAX_BOUNDS = 24 };

struct histogram {
    const double *bounds; /* rising upper bounds, without +Inf; must outlive the histogram */
    int bound_count;
    _Atomic uint64_t buckets[HISTOGRAM_MAX_BOUNDS + 1]; /* not cumulative; the last is +Inf */
    _Atomic double sum;
};

void histogram_init(struct histogram *histogram, const double *bounds, int bound_count);

/* thread: the histogram's one writer. */
void histogram_add(struct histogram *histogram, double value);

/* The bounds as labels, written once for all histograms of a family: that is most of the work. */
struct histogram_texts {
    char texts[HISTOGRAM_MAX_BOUNDS + 1][24]; /* `le="0.5"} ` */
};
void histogram_write_texts(const double *bounds, int bound_count, struct histogram_texts *out);

/* Adds the counts of one histogram to a plain copy for printing. */
struct histogram_total {
    const double *bounds;
    int bound_count;
    uint64_t buckets[HISTOGRAM_MAX_BOUNDS + 1];
    double sum;
};
void histogram_collect(const struct histogram *from, struct histogram_total *into);

/* The value below which the part q (0..1) of what was counted lies, as if each bucket's values lay evenly in it. What
 * is above the last bound counts as that. NAN: nothing was counted. Source: Prometheus, histogram_quantile. */
double histogram_quantile(const struct histogram_total *total, double q);

/* Takes away what `before`, an earlier copy of the same histogram, had. */
void histogram_subtract(struct histogram_total *total, const struct histogram_total *before);

/* Appends name_bucket, name_sum and name_count lines; labels is `model="m",version="1"` or "". Buckets are cumulative
 * and equal to _count, whatever was written meanwhile. */
void histogram_render(const struct histogram_total *total, const struct histogram_texts *texts, const char *name,
                      const char *labels, struct bytes *out);

#endif
