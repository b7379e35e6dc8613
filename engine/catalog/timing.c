#include "engine/catalog/timing.h"

#include <math.h>
#include <stdlib.h>

#include "engine/catalog/paired.h"
#include "engine/clock.h"
#include "engine/job.h"
#include "engine/run_jobs.h"

/* A turn of each version makes a round: batches one behind the other, as many as take no longer than this, so that all
 * but the first find the version in the caches. Rounds end when so many brought none that was quicker, or the time is
 * over; for short batches there is more, since most of it is waiting where the machine is busy. Batches of more than
 * one row run only if they are short: so that nobody notices. */
enum { TURN = 4, TURN_NS = 4 * CLOCK_NS_PER_MS, ROUNDS = 8, MOST_MS = 200, SHORT_MOST_MS = 1000 };
enum { SHORT_NS = CLOCK_NS_PER_MS };

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

/* Runs the rows so many times. Returns what the quickest took on the device; 0: one failed. */
static int64_t take_turn(struct catalog *catalog, struct version *version, const struct tensor_dims *dims,
                         struct job_tensor *inputs, int times) {
    int count = engine_describe(version).signature->output_count;
    struct job jobs[TURN] = {0};
    struct weir_error ignored;
    bool good = true;
    for (int i = 0; i < times; i++) {
        jobs[i] = (struct job){.version = version, .dims = *dims, .inputs = inputs};
        jobs[i].outputs = calloc((size_t)count + 1, sizeof *jobs[i].outputs);
        good &= jobs[i].outputs != NULL;
    }
    good = good && run_jobs(catalog->options.engine, jobs, times, &ignored) == WEIR_OK;
    int64_t quickest_ns = INT64_MAX;
    for (int i = 0; i < times; i++) {
        int64_t took_ns = jobs[i].finished_ns - jobs[i].started_ns;
        quickest_ns = took_ns < quickest_ns ? took_ns : quickest_ns;
        release(jobs[i].outputs, count);
    }
    return good ? quickest_ns : 0;
}

/* What a batch of these rows takes, as far as the engine knows. */
static double predict_ns(struct catalog *catalog, struct version *version, uint32_t rows) {
    struct engine_costs costs = engine_costs(catalog->options.engine, version);
    return costs.base_ns + costs.row_ns * rows;
}

/* The ratio of what these rows take, candidate's to stable's; 0: it could not be told. */
static double compare(struct catalog *catalog, struct version *const versions[2], uint32_t rows) {
    const struct signature *signature = engine_describe(versions[0]).signature;
    const struct tensor_dims dims = {.rows = rows};
    struct job_tensor *inputs = calloc((size_t)signature->input_count + 1, sizeof *inputs);
    double batch_ns = fmax(predict_ns(catalog, versions[0], rows), predict_ns(catalog, versions[1], rows));
    int times = batch_ns * TURN <= TURN_NS ? TURN : batch_ns <= TURN_NS ? (int)(TURN_NS / batch_ns) : 1;
    int64_t most_ms = batch_ns <= SHORT_NS ? SHORT_MOST_MS : MOST_MS;
    struct paired paired = {.rounds = 0};
    int64_t until_ns = clock_now_ns() + most_ms * CLOCK_NS_PER_MS;
    bool goes_on = inputs && make_inputs(signature, &dims, inputs), is_known = goes_on;
    while (goes_on) {
        int64_t took_ns[2] = {0, 0};
        for (int i = 0; i < 2 && is_known; i++) {
            took_ns[i] = take_turn(catalog, versions[i], &dims, inputs, times);
            is_known = took_ns[i] > 0;
        }
        if (is_known)
            paired_note(&paired, took_ns);
        goes_on = is_known && paired.stale < ROUNDS && clock_now_ns() < until_ns;
    }
    release(inputs, signature->input_count);
    return is_known ? paired_ratio(&paired) : 0;
}

double timing_run(struct catalog *catalog, struct version *stable, struct version *candidate) {
    struct version *const versions[2] = {stable, candidate};
    uint32_t most = engine_describe(stable).batch_rows, other = engine_describe(candidate).batch_rows;
    uint32_t some = (most < other ? most : other) / 2;
    if (engine_describe(stable).signature->free_count > 0)
        return 0;
    bool was_loading = atomic_exchange(&catalog->loading, true);
    double one = compare(catalog, versions, 1), many = 0;
    if (some > 1 && predict_ns(catalog, stable, some) <= SHORT_NS && predict_ns(catalog, candidate, some) <= SHORT_NS)
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
