#include "server/api/access.h"

#include <string.h>

#include "engine/job.h"
#include "server/observe/access_entry.h"

void access_put_model(struct exchange *exchange, const char *name, uint64_t version) {
    struct access_entry *entry = exchange->entry;
    if (!entry)
        return;
    entry->model_size = (uint8_t)access_entry_copy(entry->model, sizeof entry->model, name, strlen(name));
    entry->version = version;
}

void access_put_job(struct exchange *exchange, const struct job *job, bool is_home) {
    struct access_entry *entry = exchange->entry;
    if (!entry)
        return;
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
