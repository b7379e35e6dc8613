/* Runs the known samples of a version and compares what comes out: rows alone, in batches of an odd number of rows, and
 * in the largest ones. */
#ifndef WEIR_ENGINE_MODEL_SELF_TEST_H
#define WEIR_ENGINE_MODEL_SELF_TEST_H

#include <stdint.h>

#include "engine/device/backend.h"
#include "engine/job.h"
#include "engine/model/samples.h"
#include "engine/status.h"
#include "engine/tensor.h"

enum { SELF_TEST_MOST_RUNS = 64 };

/* Runs one batch, for instance as a job, and waits for it. outputs come with data NULL; whatever is there afterwards,
 * also after a failure, was taken with malloc and is freed by the caller. inputs are only read. */
struct self_test_runner {
    void *context;
    enum weir_status (*run)(void *context, const struct tensor_dims *dims, struct job_tensor *inputs,
                            struct job_tensor *outputs, struct weir_error *err);
};

/* What the batches of one size gave for one output. The element is the one that is farthest beyond what it may be off
 * by, or nearest to it. */
struct self_test_cell {
    uint32_t rows, runs; /* of a batch; 0 runs: there was no such batch */
    uint64_t off;        /* elements that are off by more than they may be */
    double error, allowed;
};

enum { SELF_TEST_SIZES = 3 };

/* cells: NULL, or SELF_TEST_SIZES for each output, all zeros: they are filled, by size and then by output; elements
 * that are off do not stop the test then, which ends with OK all the same, and *first tells of the first one (OK:
 * none). */
struct self_test_options {
    const struct signature *signature; /* that the samples were loaded for */
    uint32_t max_rows;                 /* most rows of a batch */
    enum backend_precision precision;  /* of the device */
    struct self_test_cell *cells;
    struct weir_error *first;
};

/* The worst element is the one nearest to what it may be off by. */
struct self_test_report {
    uint32_t samples;
    uint32_t samples_alone; /* how many of them ran alone too: all, unless they are more than the runs allow */
    uint32_t runs;
    double worst_error;    /* of the worst element; 0 if all are equal */
    double worst_allowed;  /* what it might have been */
    char worst_output[64]; /* its output's name, cut; "" if all are equal */
};

/* Runs the samples at batch 1, at 7 or 3 and at max_rows, rows taken in turn; where requests do not share batches
 * (signature->shares_inputs), or max_rows is 1, at 1 alone. At most SELF_TEST_MOST_RUNS runs. Stops at the first
 * element that is off, unless there are cells, with INVALID and a text such as `sample 3 at batch 7: output "p"[2]: got
 * 0.25, expected 0.31, allowed 1.1e-05`. NaN is right only where the sample has NaN. Other errors: the runner's, with
 * the batch in front; NO_MEMORY. thread: loader. */
enum weir_status self_test_run(const struct samples *samples, const struct self_test_options *options,
                               const struct self_test_runner *runner, struct self_test_report *out,
                               struct weir_error *err) WEIR_CHECKED;

#endif
