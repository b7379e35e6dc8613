#include "server/api/prediction.h"

#include <math.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "server/api/api.h"
#include "server/observe/statistics.h"

enum { LOOKED_AT = 1 << 18 }; /* so many of an output: a fraction of a millisecond */
enum { COPIES_SHARE = 4 };    /* copies may keep memory while no more than this part of what is allowed is in use */

static const struct signature *signature_of(const struct prediction *prediction) {
    return engine_describe(prediction->choice.version).signature;
}

void prediction_release(struct prediction *prediction) {
    struct api *api = prediction->api;
    const struct signature *signature = signature_of(prediction);
    decoder_close(prediction->decoder);
    inflater_close(prediction->inflater);
    decoded_release(&prediction->decoded, signature->input_count);
    if (prediction->job.outputs) {
        for (int i = 0; i < signature->output_count; i++)
            free(prediction->job.outputs[i].data);
        free(prediction->job.outputs);
    }
    admission_release_bytes(&api->admission, prediction->held_bytes);
    if (prediction->holds_slot)
        admission_release_slot(&api->admission);
    catalog_choice_release(&prediction->choice);
    free(prediction);
}

enum weir_status prediction_hold(struct prediction *prediction, uint64_t bytes, struct weir_error *err) {
    if (!admission_take_bytes(&prediction->api->admission, bytes))
        return weir_fail(err, WEIR_CROWDED, "too many bytes of requests and answers are in progress");
    prediction->held_bytes += bytes;
    return WEIR_OK;
}

/* Adds the bytes of an output of the job to *total. One answer may be as large as one body. */
static enum weir_status add_output(const struct prediction *prediction, const struct tensor_spec *spec,
                                   size_t row_bytes, uint64_t *total, struct weir_error *err) {
    uint64_t most = atomic_load(&prediction->api->max_body_bytes), bytes;
    uint32_t rows = prediction->job.dims.rows;
    if (__builtin_mul_overflow((uint64_t)row_bytes, spec->batch_axis < 0 ? 1 : rows, &bytes) ||
        __builtin_add_overflow(*total, bytes, total) || *total > most)
        return weir_fail(err, WEIR_TOO_LARGE, "the answer to %u rows would have more than %llu bytes", rows,
                         (unsigned long long)most);
    return WEIR_OK;
}

enum weir_status prediction_allocate_outputs(struct prediction *prediction, struct weir_error *err) {
    const struct signature *signature = signature_of(prediction);
    struct job *job = &prediction->job;
    uint64_t total = 0;
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < signature->output_count && status == WEIR_OK; i++)
        if (signature->outputs[i].is_fixed)
            status = add_output(prediction, &signature->outputs[i], signature->outputs[i].row_bytes, &total, err);
    if (status == WEIR_OK)
        status = prediction_hold(prediction, total, err);
    if (status != WEIR_OK)
        return status;
    job->outputs = calloc((size_t)signature->output_count, sizeof *job->outputs);
    for (int i = 0; i < signature->output_count; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        size_t elements;
        if (job->outputs && spec->is_fixed) {
            tensor_spec_row(spec, &job->dims, &job->outputs[i].row, &elements);
            job->outputs[i].row_bytes = spec->row_bytes;
            job->outputs[i].data = malloc(spec->row_bytes * (spec->batch_axis < 0 ? 1 : job->dims.rows) + 1);
        }
        if (!job->outputs || (spec->is_fixed && !job->outputs[i].data))
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for %u rows of answers", job->dims.rows);
    }
    return WEIR_OK;
}

enum weir_status prediction_hold_outputs(struct prediction *prediction, struct weir_error *err) {
    const struct signature *signature = signature_of(prediction);
    uint64_t total = 0, known = 0;
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < signature->output_count && status == WEIR_OK; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        if (spec->is_fixed)
            status = add_output(prediction, spec, spec->row_bytes, &known, err);
        if (status == WEIR_OK)
            status = add_output(prediction, spec, prediction->job.outputs[i].row_bytes, &total, err);
    }
    return status == WEIR_OK ? prediction_hold(prediction, total - known, err) : status;
}

/* Is one of the float32 outputs' first elements NaN or infinite? */
static bool has_non_finite(const struct prediction *prediction) {
    const struct signature *signature = signature_of(prediction);
    for (int i = 0; i < signature->output_count; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        const struct job_tensor *tensor = &prediction->job.outputs[i];
        size_t count = tensor->row_bytes / sizeof(float) * (spec->batch_axis < 0 ? 1 : prediction->job.dims.rows);
        const float *values = tensor->data;
        for (size_t k = 0; spec->dtype == TENSOR_F32 && k < count && k < LOOKED_AT; k++)
            if (!isfinite(values[k]))
                return true;
    }
    return false;
}

/* Counts the request for the statistics of its version. */
static void count(const struct prediction *prediction, enum weir_status status, int64_t whole_ns) {
    const struct job *job = &prediction->job;
    struct statistics_request request = {.is_good = status == WEIR_OK, .whole_ns = whole_ns};
    if (request.is_good) {
        request.queue_ns = job->started_ns - job->submitted_ns;
        request.input_ns = job->batch_input_ns;
        request.infer_ns = job->batch_infer_ns;
        request.output_ns = job->batch_output_ns;
    }
    statistics_add_request(prediction->api->statistics, engine_describe(prediction->choice.version).tag, &request);
}

void prediction_note(struct prediction *prediction, enum weir_status status, int64_t ended_ns) {
    int64_t submitted_ns = prediction->job.submitted_ns;
    int64_t latency_ns = ended_ns > submitted_ns ? ended_ns - submitted_ns : 0;
    unsigned flags = 0;
    count(prediction, status, latency_ns);
    switch (status) {
    case WEIR_OK: /* in JSON nothing else is possible */
        flags = prediction->choice.rollout != 0 && has_non_finite(prediction) ? CATALOG_NON_FINITE : 0;
        break;
    case WEIR_NON_FINITE:
        flags = CATALOG_ERROR | CATALOG_NON_FINITE;
        break;
    case WEIR_DEVICE:
    case WEIR_DEVICE_LOST:
    case WEIR_INTERNAL:
        flags = CATALOG_ERROR;
        break;
    case WEIR_DEADLINE:
    case WEIR_TOO_LATE:
        flags = CATALOG_LATE;
        break;
    default:
        return; /* the request's fault, or the server's, not the version's */
    }
    catalog_note(prediction->api->catalog, &prediction->choice, flags, latency_ns);
}

/* thread: any. */
static void compared(struct catalog_copy *copy) {
    struct prediction *prediction = (struct prediction *)((char *)copy - offsetof(struct prediction, copy));
    prediction_release(prediction);
}

void prediction_end(struct prediction *prediction) {
    struct admission *admission = &prediction->api->admission;
    if (!prediction->choice.other || prediction->job.status != WEIR_OK ||
        atomic_load(&admission->bytes) > atomic_load(&admission->max_bytes) / COPIES_SHARE) {
        prediction_release(prediction);
        return;
    }
    if (prediction->holds_slot)
        admission_release_slot(admission);
    prediction->holds_slot = false;
    prediction->copy.job.dims = prediction->job.dims;
    prediction->copy.job.inputs = prediction->job.inputs;
    prediction->copy.outputs = prediction->job.outputs;
    prediction->copy.choice = prediction->choice;
    prediction->copy.release = compared;
    catalog_compare(prediction->api->catalog, &prediction->copy);
}
