#include "tests/fakes/fake_job.h"

#include <string.h>

#include "tests/fakes/fake_version.h"

static void done(struct job *job) {
    struct fake_job *fake = job->owner;
    atomic_fetch_add(&fake->done_calls, 1);
}

void fake_job_init(struct fake_job *fake, uint32_t rows, float first) {
    memset(fake, 0, sizeof *fake);
    const struct tensor_shape row = {.rank = 1, .dims = {1}};
    for (uint32_t i = 0; i < rows; i++)
        fake->in[i] = first + (float)i;
    fake->input = (struct job_tensor){.data = fake->in, .row_bytes = sizeof(float), .row = row};
    fake->output = (struct job_tensor){.data = fake->out, .row_bytes = sizeof(float), .row = row};
    fake->job.version = fake_version(0);
    fake->job.dims.rows = rows;
    fake->job.inputs = &fake->input;
    fake->job.outputs = &fake->output;
    fake->job.deadline_ns = INT64_MAX;
    fake->job.done = done;
    fake->job.owner = fake;
    fake->job.batch_rows_limit = UINT32_MAX;
}
