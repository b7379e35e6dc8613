#include "engine/catalog/timing.h"

#include <stdlib.h>

#include "engine/clock.h"
#include "engine/job.h"

/* Rounds of one batch of each version, as many as fit the time. Batches of more than one row run only if they are so
 * short that nobody notices. */
enum { ROUNDS = 8, MOST_MS = 200, SHORT_NS = CLOCK_NS_PER_MS };

/* Inputs of zeros, which take long for no model. Returns false without memory. */
static bool make_inputs(const struct signature *signature, const struct tensor_dims *dims, struct job_tensor *inputs) {
    for (int i = 0; i < signature->input_count; i++) {
        const struct tensor_spec *spec = &signature->inputs[i];
        size_t elements;
        tensor_spec_row(spec, dims, &inputs[i].row, &elements);
        inputs[i].row_bytes = spec->row_bytes;
        inputs[i].data = calloc(spec->batch_axis < 0 ? 1 : dims->rows, spec->row_bytes + 1);
        if (!inputs[i].data)
            return false;
    }
    return true;
}

static void release(struct job_tensor *tensors, int count) {
    for (int i = 0; tensors && i < count; i++)
        free(tensors[i].data);
    free(tensors);
}

/* Runs the rows. Returns what that took on the device; 0 if it failed. */
static int64_t run(struct catalog *catalog, struct version *version, const struct tensor_dims *dims,
                   struct job_tensor *inputs) {
    int count = engine_describe(version).signature->output_count;
    struct job job = {.version = version, .dims = *dims, .inputs = inputs};
    struct weir_error ignored;
    job.outputs = calloc((size_t)count + 1, sizeof *job.outputs);
    bool ran = job.outputs && loading_run_job(catalog, &job, &ignored) == WEIR_OK;
    release(job.outputs, count);
    return ran ? job.finished_ns - job.started_ns : 0;
}

/* The ratio of what these rows take, candidate's to stable's; 0: it could not be told. */
static double compare(struct catalog *catalog, struct version *const versions[2], uint32_t rows) {
    const struct signature *signature = engine_describe(versions[0]).signature;
    const struct tensor_dims dims = {.rows = rows};
    struct job_tensor *inputs = calloc((size_t)signature->input_count + 1, sizeof *inputs);
    int64_t until_ns = clock_now_ns() + (int64_t)MOST_MS * CLOCK_NS_PER_MS, quickest_ns[2] = {INT64_MAX, INT64_MAX};
    bool goes_on = inputs && make_inputs(signature, &dims, inputs), is_known = goes_on;
    for (int round = 0; round < ROUNDS && goes_on; round++) {
        for (int i = 0; i < 2 && is_known; i++) {
            int64_t took_ns = run(catalog, versions[i], &dims, inputs);
            is_known = took_ns > 0;
            quickest_ns[i] = took_ns < quickest_ns[i] ? took_ns : quickest_ns[i];
        }
        goes_on = is_known && clock_now_ns() < until_ns;
    }
    release(inputs, signature->input_count);
    return is_known ? (double)quickest_ns[1] / (double)quickest_ns[0] : 0;
}

static bool is_short(struct catalog *catalog, struct version *version, uint32_t rows) {
    struct engine_costs costs = engine_costs(catalog->options.engine, version);
    return costs.base_ns + costs.row_ns * rows <= SHORT_NS;
}

double timing_run(struct catalog *catalog, struct version *stable, struct version *candidate) {
    struct version *const versions[2] = {stable, candidate};
    uint32_t most = engine_describe(stable).batch_rows, other = engine_describe(candidate).batch_rows;
    uint32_t some = (most < other ? most : other) / 2;
    if (engine_describe(stable).signature->free_count > 0)
        return 0;
    bool was_loading = atomic_exchange(&catalog->loading, true);
    double one = compare(catalog, versions, 1), many = 0;
    if (some > 1 && is_short(catalog, stable, some) && is_short(catalog, candidate, some))
        many = compare(catalog, versions, some);
    atomic_store(&catalog->loading, was_loading);
    return one > many ? one : many;
}

double timing_of(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry,
                 const struct rollout_plan *plan) {
    return plan->checks.max_compute_ratio == ROLLOUT_OFF ? TIMING_NEVER
                                                         : timing_run(catalog, model->stable->version, entry->version);
}

void timing_catch_up(struct catalog *catalog, struct catalog_model *model) {
    pthread_mutex_lock(&catalog->changing);
    const struct entry *candidate = model->candidate;
    const struct rollout_plan plan = model->rollout->plan;
    bool is_due = rollout_is_on(model->rollout) && model->timed_ratio == 0 && candidate && candidate->version &&
                  model->stable && model->stable->version;
    pthread_mutex_unlock(&catalog->changing);
    if (!is_due)
        return;
    double ratio = timing_of(catalog, model, candidate, &plan);
    pthread_mutex_lock(&catalog->changing);
    model->timed_ratio = ratio > 0 ? ratio : TIMING_NEVER;
    pthread_mutex_unlock(&catalog->changing);
}
