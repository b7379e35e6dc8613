/* Compares what two versions answer to the same inputs, and sums it up over many requests. Not thread-safe. */
#ifndef WEIR_ENGINE_MODEL_COMPARISON_H
#define WEIR_ENGINE_MODEL_COMPARISON_H

#include <stdint.h>

#include "engine/job.h"
#include "engine/tensor.h"

enum { COMPARISON_OUTPUTS = 16 }; /* outputs beyond these are counted with the last */

/* One request that both versions have answered. stable and candidate: the tensors of the signature's outputs. */
struct comparison_pair {
    const struct signature *signature;
    const struct job_tensor *stable;
    const struct job_tensor *candidate;
    uint32_t rows;
};

/* What is known of one output, or of all together. Errors are those of elements that are finite in both. */
struct comparison_tally {
    uint64_t elements;
    uint64_t unequal;    /* elements that are not the same number */
    uint64_t decisions;  /* argmaxes over the last dimension of more than one element; labels: rows of one integer */
    uint64_t agreements; /* of these: the same choice */
    uint64_t new_non_finite; /* elements that are finite in stable alone */
    uint64_t non_finite;     /* elements otherwise not finite in one, or not the same way in both */
    double max_error;        /* absolute */
    double sum_error;
    double max_relative; /* the largest error relative to the largest magnitude of stable's row */
};

/* Begins as zeros. */
struct comparison {
    uint64_t requests, rows;
    uint64_t misfits; /* requests whose outputs have not the same sizes: nothing of them was compared */
    int output_count;
    struct comparison_tally outputs[COMPARISON_OUTPUTS];
};

/* For decisions and for people. */
struct comparison_summary {
    uint64_t requests, rows, misfits;
    struct comparison_tally all;
    double mean_error;
    double agreement; /* 0 to 1; -1: there was no decision to agree on */
};

/* Compares one request. Argmaxes agree where the same element is the largest, or where in either version both choices
 * are equal but for rounding. Identical outputs give exactly no error. */
void comparison_add(struct comparison *comparison, const struct comparison_pair *pair);

void comparison_summarize(const struct comparison *comparison, struct comparison_summary *out);

#endif
