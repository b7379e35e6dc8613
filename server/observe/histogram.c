#include "server/observe/histogram.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

void histogram_render(const struct histogram_total *total, const char *name, const char *labels, struct bytes *out) {
    size_t name_size = strlen(name), labels_size = strlen(labels);
    uint64_t count = 0;
    for (int i = 0; i <= total->bound_count; i++) {
        char le[40], value[32];
        count += total->buckets[i];
        if (i < total->bound_count)
            snprintf(le, sizeof le, "%sle=\"%.9g\"} ", labels_size ? "," : "", total->bounds[i]);
        else
            snprintf(le, sizeof le, "%sle=\"+Inf\"} ", labels_size ? "," : "");
        int value_size = snprintf(value, sizeof value, "%" PRIu64 "\n", count);
        bytes_append(out, name, name_size);
        bytes_text(out, "_bucket{");
        bytes_append(out, labels, labels_size);
        bytes_text(out, le);
        bytes_append(out, value, (size_t)value_size);
    }
    const char *open = labels_size ? "{" : "", *close = labels_size ? "}" : "";
    bytes_printf(out, "%s_sum%s%s%s %.15g\n", name, open, labels, close, total->sum);
    bytes_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, count);
}
