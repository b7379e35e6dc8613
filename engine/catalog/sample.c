/* Copies of known samples. */
#include "engine/catalog_sample.h"

#include <stdlib.h>
#include <string.h>

#include "engine/catalog/parts.h"
#include "engine/engine.h"
#include "engine/model/samples.h"

static size_t bytes_of(const struct job_tensor *tensors, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += tensors[i].row_bytes;
    return bytes;
}

/* A row of each tensor. NULL: no memory. */
static struct job_tensor *copy_row(const struct job_tensor *tensors, const struct tensor_spec *specs, int count,
                                   uint32_t row) {
    struct job_tensor *copies = calloc((size_t)count, sizeof *copies);
    for (int i = 0; copies && i < count; i++) {
        size_t at = specs[i].batch_axis >= 0 ? row * tensors[i].row_bytes : 0;
        copies[i] = tensors[i];
        copies[i].data = malloc(tensors[i].row_bytes + 1);
        if (!copies[i].data) {
            while (i-- > 0)
                free(copies[i].data);
            free(copies);
            return NULL;
        }
        memcpy(copies[i].data, (const char *)tensors[i].data + at, tensors[i].row_bytes);
    }
    return copies;
}

static void release_row(struct job_tensor *tensors, int count) {
    for (int i = 0; tensors && i < count; i++)
        free(tensors[i].data);
    free(tensors);
}

/* Called with the lock. */
static enum weir_status copy(const struct entry *entry, const struct catalog_sample_ask *ask,
                             struct catalog_sample *out, struct weir_error *err) {
    if (!entry || !entry->version)
        return weir_fail(err, WEIR_NOT_FOUND, "that version is not loaded");
    const struct samples *samples = entry->samples;
    const struct signature *signature = engine_describe(entry->version).signature;
    if (!samples)
        return weir_fail(err, WEIR_NOT_FOUND, "the version has no samples");
    if (bytes_of(samples->inputs, samples->input_count) + bytes_of(samples->outputs, samples->output_count) >
        CATALOG_SAMPLE_BYTES)
        return weir_fail(err, WEIR_TOO_LARGE, "a sample has more than %d bytes", CATALOG_SAMPLE_BYTES);
    struct catalog_sample sample = {.count = samples->dims.rows};
    sample.number = ask->number % sample.count;
    sample.inputs = copy_row(samples->inputs, signature->inputs, samples->input_count, sample.number);
    sample.expected = copy_row(samples->outputs, signature->outputs, samples->output_count, sample.number);
    if (!sample.inputs || !sample.expected) {
        release_row(sample.inputs, samples->input_count);
        release_row(sample.expected, samples->output_count);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a sample");
    }
    sample.version = engine_hold(entry->version);
    *out = sample;
    return WEIR_OK;
}

enum weir_status catalog_sample(struct catalog *catalog, const struct catalog_sample_ask *ask,
                                struct catalog_sample *out, struct weir_error *err) {
    const struct catalog_model *model = &catalog->models[ask->model];
    pthread_mutex_lock(&catalog->lock);
    const struct entry *entry = ask->version == 0 ? model->stable : scan_find(model, ask->version);
    enum weir_status status = copy(entry, ask, out, err);
    pthread_mutex_unlock(&catalog->lock);
    return status;
}

void catalog_sample_release(struct catalog_sample *sample) {
    const struct signature *signature = engine_describe(sample->version).signature;
    release_row(sample->inputs, signature->input_count);
    release_row(sample->expected, signature->output_count);
    engine_release(sample->version);
}
