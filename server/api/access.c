#include "server/api/access.h"

#include <string.h>

#include "engine/job.h"
#include "server/observe/access_entry.h"
#include "server/observe/trace_entry.h"

void access_put_model(struct exchange *exchange, const char *name, uint64_t version) {
    struct access_entry *entry = exchange->entry;
    struct trace_entry *traced = exchange->traced;
    if (entry) {
        entry->model_size = (uint8_t)access_entry_copy(entry->model, sizeof entry->model, name, strlen(name));
        entry->version = version;
    }
    if (traced) {
        traced->model_size = (uint8_t)access_entry_copy(traced->model, sizeof traced->model, name, strlen(name));
        traced->version = version;
    }
}

/* The queue's time is known of a job that is not home too: the loop itself submitted it. */
static void trace_job(struct trace_entry *entry, const struct job *job, bool is_home) {
    entry->rows = job->dims.rows;
    if (is_home && job->finished_ns == 0)
        return; /* it was refused at the queue's door, or before */
    entry->submitted_ns = job->submitted_ns;
    if (!is_home)
        return;
    entry->finished_ns = job->finished_ns;
    entry->taken_ns = job->started_ns;
    entry->batch = job->batch;
    entry->batch_rows = job->batch_rows;
    entry->device = (int16_t)job->device;
    entry->input_ns = job->batch_input_ns;
    entry->infer_ns = job->batch_infer_ns;
    entry->output_ns = job->batch_output_ns;
}

static void log_job(struct access_entry *entry, const struct exchange *exchange, const struct job *job, bool is_home) {
    entry->rows = job->dims.rows;
    if (!is_home || job->submitted_ns == 0)
        return;
    entry->times_ns[ACCESS_READ] = job->submitted_ns - exchange->started_ns;
    if (job->started_ns > 0)
        entry->times_ns[ACCESS_QUEUE] = job->started_ns - job->submitted_ns;
    if (job->batch_rows == 0)
        return;
    entry->batch_rows = job->batch_rows;
    entry->device = (int16_t)job->device;
    entry->finished_ns = job->finished_ns;
    entry->times_ns[ACCESS_INPUT] = job->batch_input_ns;
    entry->times_ns[ACCESS_COMPUTE] = job->batch_infer_ns;
    entry->times_ns[ACCESS_OUTPUT] = job->batch_output_ns;
}

void access_put_job(struct exchange *exchange, const struct job *job, bool is_home) {
    if (exchange->entry)
        log_job(exchange->entry, exchange, job, is_home);
    if (exchange->traced)
        trace_job(exchange->traced, job, is_home);
}
