#include "engine/model/outcomes.h"

#include <stdatomic.h>

/* The bucket of a latency: its highest bit names the doubling, the five bits below it the part of it. */
static int bucket_of(int64_t latency_ns) {
    if (latency_ns < INT64_C(1) << OUTCOMES_FIRST_EXPONENT)
        return 0;
    int exponent = 63 - __builtin_clzll((unsigned long long)latency_ns);
    int doubling = exponent - OUTCOMES_FIRST_EXPONENT;
    if (doubling >= OUTCOMES_DOUBLINGS)
        return OUTCOMES_BUCKETS - 1;
    int part = (int)(latency_ns >> (exponent - 5)) & (OUTCOMES_PER_DOUBLING - 1);
    return doubling * OUTCOMES_PER_DOUBLING + part;
}
_Static_assert(OUTCOMES_PER_DOUBLING == 1 << 5, "five bits");

static int64_t lower_bound(int bucket) {
    int doubling = bucket / OUTCOMES_PER_DOUBLING, part = bucket % OUTCOMES_PER_DOUBLING;
    return (int64_t)(OUTCOMES_PER_DOUBLING + part) << (OUTCOMES_FIRST_EXPONENT - 5 + doubling);
}

void outcomes_add(struct outcomes *outcomes, unsigned flags, int64_t latency_ns) {
    if (flags & OUTCOME_ERROR)
        atomic_fetch_add_explicit(&outcomes->errors, 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&outcomes->buckets[bucket_of(latency_ns)], 1, memory_order_relaxed);
    if (flags & OUTCOME_NON_FINITE)
        atomic_fetch_add_explicit(&outcomes->non_finite, 1, memory_order_relaxed);
    if (flags & OUTCOME_LATE)
        atomic_fetch_add_explicit(&outcomes->late, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&outcomes->requests, 1, memory_order_relaxed);
}

void outcomes_reset(struct outcomes *outcomes) {
    atomic_store_explicit(&outcomes->requests, 0, memory_order_relaxed);
    atomic_store_explicit(&outcomes->errors, 0, memory_order_relaxed);
    atomic_store_explicit(&outcomes->non_finite, 0, memory_order_relaxed);
    atomic_store_explicit(&outcomes->late, 0, memory_order_relaxed);
    for (int i = 0; i < OUTCOMES_BUCKETS; i++)
        atomic_store_explicit(&outcomes->buckets[i], 0, memory_order_relaxed);
}

void outcomes_copy(const struct outcomes *outcomes, struct outcomes_counts *out) {
    out->requests = atomic_load_explicit(&outcomes->requests, memory_order_relaxed);
    out->errors = atomic_load_explicit(&outcomes->errors, memory_order_relaxed);
    out->non_finite = atomic_load_explicit(&outcomes->non_finite, memory_order_relaxed);
    out->late = atomic_load_explicit(&outcomes->late, memory_order_relaxed);
    out->timed = 0;
    for (int i = 0; i < OUTCOMES_BUCKETS; i++) {
        out->buckets[i] = atomic_load_explicit(&outcomes->buckets[i], memory_order_relaxed);
        out->timed += out->buckets[i];
    }
}

/* After a reset there may be less now than then. */
static uint64_t since(uint64_t now, uint64_t then) {
    return now > then ? now - then : 0;
}

void outcomes_since(const struct outcomes_counts *now, const struct outcomes_counts *then,
                    struct outcomes_counts *out) {
    out->requests = since(now->requests, then->requests);
    out->errors = since(now->errors, then->errors);
    out->non_finite = since(now->non_finite, then->non_finite);
    out->late = since(now->late, then->late);
    out->timed = 0;
    for (int i = 0; i < OUTCOMES_BUCKETS; i++) {
        out->buckets[i] = since(now->buckets[i], then->buckets[i]);
        out->timed += out->buckets[i];
    }
}

int64_t outcomes_quantile(const struct outcomes_counts *counts, double q) {
    if (counts->timed == 0)
        return 0;
    double wanted = q * (double)counts->timed;
    double seen = 0;
    int last = 0;
    for (int i = 0; i < OUTCOMES_BUCKETS; i++) {
        double here = (double)counts->buckets[i];
        if (here == 0)
            continue;
        last = i;
        if (seen + here >= wanted) {
            double part = wanted > seen ? (wanted - seen) / here : 0;
            return lower_bound(i) + (int64_t)(part * (double)(lower_bound(i + 1) - lower_bound(i)));
        }
        seen += here;
    }
    return lower_bound(last + 1);
}

uint64_t outcomes_above(const struct outcomes_counts *counts, int64_t latency_ns) {
    uint64_t above = 0;
    for (int i = bucket_of(latency_ns) + 1; i < OUTCOMES_BUCKETS; i++)
        above += counts->buckets[i];
    return above;
}
