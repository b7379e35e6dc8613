#include "server/observe/histogram.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/put.h"

void histogram_init(struct histogram *histogram, const double *bounds, int bound_count) {
    assert(bound_count > 0 && bound_count <= HISTOGRAM_MAX_BOUNDS);
    for (int i = 1; i < bound_count; i++)
        assert(bounds[i - 1] < bounds[i]);
    histogram->bounds = bounds;
    histogram->bound_count = bound_count;
    for (int i = 0; i <= HISTOGRAM_MAX_BOUNDS; i++)
        atomic_store_explicit(&histogram->buckets[i], 0, memory_order_relaxed);
    atomic_store_explicit(&histogram->sum, 0, memory_order_relaxed);
}

void histogram_add(struct histogram *histogram, double value) {
    if (!isfinite(value))
        return; /* it would spoil the sum for good */
    int bucket = 0;
    while (bucket < histogram->bound_count && value > histogram->bounds[bucket])
        bucket++;
    /* One writer: a plain load, add and store costs a third of an atomic add. */
    uint64_t count = atomic_load_explicit(&histogram->buckets[bucket], memory_order_relaxed);
    atomic_store_explicit(&histogram->buckets[bucket], count + 1, memory_order_relaxed);
    double sum = atomic_load_explicit(&histogram->sum, memory_order_relaxed);
    atomic_store_explicit(&histogram->sum, sum + value, memory_order_relaxed);
}

void histogram_collect(const struct histogram *from, struct histogram_total *into) {
    into->bounds = from->bounds;
    into->bound_count = from->bound_count;
    for (int i = 0; i <= from->bound_count; i++)
        into->buckets[i] += atomic_load_explicit(&from->buckets[i], memory_order_relaxed);
    into->sum += atomic_load_explicit(&from->sum, memory_order_relaxed);
}

double histogram_quantile(const struct histogram_total *total, double q) {
    uint64_t count = 0;
    for (int i = 0; i <= total->bound_count; i++)
        count += total->buckets[i];
    if (count == 0)
        return NAN;
    double rank = q * (double)count, below = 0;
    for (int i = 0; i < total->bound_count; i++) {
        double here = (double)total->buckets[i], from = i > 0 ? total->bounds[i - 1] : 0;
        if (here > 0 && below + here >= rank)
            return from + (total->bounds[i] - from) * (rank - below) / here;
        below += here;
    }
    return total->bounds[total->bound_count - 1];
}

void histogram_subtract(struct histogram_total *total, const struct histogram_total *before) {
    for (int i = 0; i <= total->bound_count; i++)
        total->buckets[i] = total->buckets[i] > before->buckets[i] ? total->buckets[i] - before->buckets[i] : 0;
    total->sum = total->sum > before->sum ? total->sum - before->sum : 0;
}

void histogram_write_texts(const double *bounds, int bound_count, struct histogram_texts *out) {
    for (int i = 0; i < bound_count; i++)
        snprintf(out->texts[i], sizeof out->texts[i], "le=\"%.9g\"} ", bounds[i]);
    strcpy(out->texts[bound_count], "le=\"+Inf\"} ");
}

void histogram_render(const struct histogram_total *total, const struct histogram_texts *texts, const char *name,
                      const char *labels, struct bytes *out) {
    size_t start = out->size, most = strlen(name) + strlen(labels) + 64;
    uint64_t count = 0;
    char *first = bytes_reserve(out, most), *to = first;
    if (!to)
        return;
    to = put_text(put_text(to, name), "_bucket{");
    to = put_text(to, labels);
    if (*labels)
        *to++ = ',';
    size_t prefix = (size_t)(to - first);
    for (int i = 0; i <= total->bound_count; i++) { /* the first line's beginning is that of all */
        if (!(to = bytes_reserve(out, most)))
            return;
        count += total->buckets[i];
        if (i > 0)
            memcpy(to, out->data + start, prefix);
        to = put_number(put_text(to + prefix, texts->texts[i]), count);
        *to++ = '\n';
        out->size = (size_t)(to - out->data);
    }
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    bytes_printf(out, "%s_sum%s%s%s %.15g\n", name, open, labels, close, total->sum);
    bytes_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, count);
}
