#include "engine/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/repository.h"
#include "engine/model/samples.h"
#include "engine/model/self_test.h"
#include "engine/run_jobs.h"

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory to verify a model");
}

/* Finds and loads the newest version. */
static enum weir_status load(struct engine *engine, const char *model_path, struct verify_report *out, bool *is_loose,
                             struct weir_error *err) {
    struct repository_listing listing;
    enum weir_status status = repository_scan(model_path, NULL, &listing, err);
    if (status != WEIR_OK)
        return status;
    *is_loose = listing.is_loose;
    snprintf(out->model, sizeof out->model, "%s", listing.name);
    if (listing.version_count == 0)
        status = weir_fail(err, WEIR_NOT_FOUND, "%s: there is no version in it", model_path);
    if (status == WEIR_OK) {
        out->version = listing.versions[0].number;
        out->path = strdup(listing.versions[0].path);
        status =
            out->path ? engine_prepare(engine, out->model, out->version, out->path, &out->held, err) : no_memory(err);
    }
    repository_listing_release(&listing);
    return status;
}

/* Finds the samples' directory. */
static enum weir_status find_samples(const char *samples_path, bool is_loose, struct verify_report *out,
                                     struct weir_error *err) {
    const char *slash = strrchr(out->path, '/');
    int folder = slash ? (int)(slash - out->path) : 1;
    if (!samples_path && is_loose)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: is a file alone, without samples: name their directory", out->path);
    int made = samples_path ? asprintf(&out->samples_path, "%s", samples_path)
                            : asprintf(&out->samples_path, "%.*s/samples", folder, slash ? out->path : ".");
    if (made < 0) {
        out->samples_path = NULL;
        return no_memory(err);
    }
    return WEIR_OK;
}

static enum weir_status read_samples(const struct verify_report *out, struct samples **samples,
                                     struct weir_error *err) {
    enum weir_status status = samples_load_from(out->samples_path, engine_describe(out->held).signature, samples, err);
    if (status == WEIR_OK && !*samples)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: there is no such directory: without samples nothing can be verified",
                         out->samples_path);
    return status;
}

/* Samples whose outputs are being taken; left: bytes of them that may still be. */
struct recording {
    struct job_runner runner;
    const struct signature *signature;
    struct samples *samples;
    size_t left;
};

/* Takes what sample number `sample` gave for an output. */
static enum weir_status take_output(struct recording *recording, int output, uint32_t sample,
                                    const struct job_tensor *got, struct weir_error *err) {
    struct samples *samples = recording->samples;
    const struct tensor_spec *spec = &recording->signature->outputs[output];
    struct job_tensor *kept = &samples->outputs[output];
    size_t rows = spec->batch_axis < 0 ? 1 : samples->dims.rows, bytes;
    if (!got->data)
        return weir_fail(err, WEIR_INTERNAL, "output \"%.100s\" did not come", spec->name);
    if (sample == 0) {
        *kept = *got;
        if (__builtin_mul_overflow(rows, got->row_bytes, &bytes) || bytes > recording->left)
            bytes = SIZE_MAX;
        kept->data = bytes < SIZE_MAX ? malloc(bytes + 1) : NULL;
        if (bytes == SIZE_MAX)
            return weir_fail(err, WEIR_TOO_LARGE, "the outputs of %u samples take more than %d MiB", samples->dims.rows,
                             SAMPLES_MOST_BYTES >> 20);
        if (!kept->data)
            return no_memory(err);
        recording->left -= bytes;
    }
    if (kept->row_bytes != got->row_bytes || !tensor_shape_equal(&kept->row, &got->row))
        return weir_fail(err, WEIR_INVALID, "output \"%.100s\": sample %u gives another shape than the first",
                         spec->name, sample);
    if (sample == 0 || rows > 1)
        memcpy((char *)kept->data + (rows > 1 ? sample * got->row_bytes : 0), got->data, got->row_bytes);
    return WEIR_OK;
}

static enum weir_status run_alone(struct recording *recording, uint32_t sample, struct weir_error *err) {
    struct samples *samples = recording->samples;
    struct job_tensor *inputs = calloc((size_t)samples->input_count + 1, sizeof *inputs);
    struct job_tensor *outputs = calloc((size_t)samples->output_count + 1, sizeof *outputs);
    struct tensor_dims dims = samples->dims;
    dims.rows = 1;
    for (int i = 0; inputs && i < samples->input_count; i++) {
        inputs[i] = samples->inputs[i];
        if (recording->signature->inputs[i].batch_axis >= 0)
            inputs[i].data = (char *)inputs[i].data + sample * inputs[i].row_bytes;
    }
    enum weir_status status =
        inputs && outputs ? run_one_job(&recording->runner, &dims, inputs, outputs, err) : no_memory(err);
    for (int i = 0; outputs && i < samples->output_count; i++) {
        if (status == WEIR_OK)
            status = take_output(recording, i, sample, &outputs[i], err);
        free(outputs[i].data);
    }
    free(inputs);
    free(outputs);
    return status == WEIR_OK ? status : weir_fail_in(err, "sample %u", sample);
}

/* Writes what the inputs give, each of them alone, as the samples' outputs. All run before the first file is written.
 */
static enum weir_status record(struct engine *engine, const struct verify_report *out, struct weir_error *err) {
    struct recording recording = {.runner = {.engine = engine, .version = out->held},
                                  .signature = engine_describe(out->held).signature,
                                  .left = SAMPLES_MOST_BYTES};
    const struct signature *signature = recording.signature;
    enum weir_status status = samples_load_inputs(out->samples_path, signature, &recording.samples, err);
    for (uint32_t i = 0; status == WEIR_OK && i < recording.samples->dims.rows; i++)
        status = run_alone(&recording, i, err);
    for (int i = 0; status == WEIR_OK && i < signature->output_count; i++)
        status = samples_write_output(out->samples_path, signature, recording.samples, i, err);
    samples_destroy(recording.samples);
    return status;
}

/* Makes lines of the cells that had a batch. */
static enum weir_status keep(const struct self_test_cell *cells, const struct signature *signature,
                             struct verify_report *out, struct weir_error *err) {
    int outputs = signature->output_count, count = SELF_TEST_SIZES * outputs;
    out->lines = calloc((size_t)count + 1, sizeof *out->lines);
    if (!out->lines)
        return no_memory(err);
    for (int i = 0; i < count; i++) {
        if (cells[i].runs == 0)
            continue;
        out->off += cells[i].off;
        out->lines[out->line_count++] = (struct verify_line){.output = signature->outputs[i % outputs].name,
                                                             .rows = cells[i].rows,
                                                             .runs = cells[i].runs,
                                                             .off = cells[i].off,
                                                             .error = cells[i].error,
                                                             .allowed = cells[i].allowed};
    }
    return WEIR_OK;
}

static enum weir_status test(struct engine *engine, const struct samples *samples, struct verify_report *out,
                             struct weir_error *err) {
    struct version_info info = engine_describe(out->held);
    struct self_test_cell *cells =
        calloc((size_t)SELF_TEST_SIZES * (size_t)info.signature->output_count + 1, sizeof *cells);
    if (!cells)
        return no_memory(err);
    struct job_runner jobs = {.engine = engine, .version = out->held};
    struct self_test_options options = {.signature = info.signature,
                                        .max_rows = info.batch_rows,
                                        .precision = engine_precision(engine),
                                        .cells = cells,
                                        .first = &out->first};
    struct self_test_runner runner = {.context = &jobs, .run = run_one_job};
    struct self_test_report report;
    enum weir_status status = self_test_run(samples, &options, &runner, &report, err);
    enum weir_status kept = keep(cells, info.signature, out, err);
    if (status == WEIR_OK && kept == WEIR_OK) {
        out->samples = report.samples;
        out->samples_alone = report.samples_alone;
        out->runs = report.runs;
    }
    free(cells);
    return status == WEIR_OK ? kept : status;
}

enum weir_status verify_model(struct engine *engine, const struct verify_options *options, struct verify_report *out,
                              struct weir_error *err) {
    struct samples *samples = NULL;
    bool is_loose = false;
    *out = (struct verify_report){.version = 0};
    enum weir_status status = load(engine, options->model_path, out, &is_loose, err);
    if (status == WEIR_OK)
        status = find_samples(options->samples_path, is_loose, out, err);
    if (status == WEIR_OK && options->record)
        status = record(engine, out, err);
    if (status == WEIR_OK)
        status = read_samples(out, &samples, err);
    if (status == WEIR_OK)
        status = test(engine, samples, out, err);
    samples_destroy(samples);
    return status;
}

void verify_release(struct verify_report *report) {
    engine_release(report->held);
    free(report->path);
    free(report->samples_path);
    free(report->lines);
    *report = (struct verify_report){.version = 0};
}
