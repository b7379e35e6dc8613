/* What was seen of one version during a rollout. Any thread writes, any thread reads, without locks. */
#ifndef WEIR_ENGINE_MODEL_OUTCOMES_H
#define WEIR_ENGINE_MODEL_OUTCOMES_H

#include <stdint.h>

/* What is worth counting of a request, as bits; 0: answered well. */
enum outcome {
    OUTCOME_GOOD = 0,
    OUTCOME_ERROR = 1,      /* a 5xx that is the version's fault: the engine failed, or a non-finite output in JSON */
    OUTCOME_NON_FINITE = 2, /* some output is not finite, whether it was an error or passed (binary) */
    OUTCOME_LATE = 4        /* its deadline passed after it was admitted */
};

/* The latency's buckets: 32 to a doubling (each at most 3.2 % wide) from 512 ns to 137 s; what lies outside is counted
 * in the first or the last. */
enum { OUTCOMES_FIRST_EXPONENT = 9, OUTCOMES_DOUBLINGS = 28, OUTCOMES_PER_DOUBLING = 32 };
enum { OUTCOMES_BUCKETS = OUTCOMES_DOUBLINGS * OUTCOMES_PER_DOUBLING };

/* Begins as zeros. */
struct outcomes {
    _Atomic uint64_t requests, errors, non_finite, late;
    _Atomic uint64_t buckets[OUTCOMES_BUCKETS];
};

/* The same numbers, standing still. requests counts all; the others are parts of it. */
struct outcomes_counts {
    uint64_t requests, errors, non_finite, late;
    uint64_t timed; /* the sum of the buckets */
    uint64_t buckets[OUTCOMES_BUCKETS];
};

/* Counts one request. flags: of enum outcome. Its latency counts unless it was an error, which may be quick. thread:
 * any. */
void outcomes_add(struct outcomes *outcomes, unsigned flags, int64_t latency_ns);

/* Back to zeros. What is added meanwhile may be lost or left in part. thread: any. */
void outcomes_reset(struct outcomes *outcomes);

/* Copies the numbers. Those of a request that is being added may be there in part. thread: any. */
void outcomes_copy(const struct outcomes *outcomes, struct outcomes_counts *out);

/* What was added between two copies. */
void outcomes_since(const struct outcomes_counts *now, const struct outcomes_counts *then, struct outcomes_counts *out);

/* The latency that the share q (0 to 1) of the timed requests does not exceed, at most 3.2 % off; 0 if there are none.
 */
int64_t outcomes_quantile(const struct outcomes_counts *counts, double q);

/* How many requests took longer than latency_ns, a bucket's width apart. */
uint64_t outcomes_above(const struct outcomes_counts *counts, int64_t latency_ns);

#endif
