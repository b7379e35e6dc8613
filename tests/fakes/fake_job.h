/* Jobs of the fake version: rows of one float, with a count of how often they came back. */
#ifndef WEIR_TESTS_FAKES_FAKE_JOB_H
#define WEIR_TESTS_FAKES_FAKE_JOB_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/job.h"

enum { FAKE_JOB_MAX_ROWS = 64 };

struct fake_job {
    struct job job;
    float in[FAKE_JOB_MAX_ROWS];
    float out[FAKE_JOB_MAX_ROWS];
    struct job_tensor input, output;
    atomic_int done_calls;
};

/* A job of `rows` rows of fake_version(0), values first, first + 1, ..., that is never late. */
void fake_job_init(struct fake_job *fake, uint32_t rows, float first);

#endif
