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

static enum weir_status run(struct catalog *catalog, struct version *version, const struct tensor_dims *dims,
                            struct job_tensor *inputs) {
    int count = engine_describe(version).signature->output_count;
    struct job job = {.version = version, .dims = *dims, .inputs = inputs};
    struct weir_error ignored;
    job.outputs = calloc((size_t)count + 1, sizeof *job.outputs);
    enum weir_status status = job.outputs ? loading_run_job(catalog, &job, &ignored) : WEIR_NO_MEMORY;
    release(job.outputs, count);
    return status;
}

static void run_rows(struct catalog *catalog, struct version *const versions[2], uint32_t rows) {
    const struct signature *signature = engine_describe(versions[0]).signature;
    const struct tensor_dims dims = {.rows = rows};
    struct job_tensor *inputs = calloc((size_t)signature->input_count + 1, sizeof *inputs);
    int64_t until_ns = clock_now_ns() + (int64_t)MOST_MS * CLOCK_NS_PER_MS;
    bool goes_on = inputs && make_inputs(signature, &dims, inputs);
    for (int round = 0; round < ROUNDS && goes_on; round++)
        goes_on = run(catalog, versions[0], &dims, inputs) == WEIR_OK &&
                  run(catalog, versions[1], &dims, inputs) == WEIR_OK && clock_now_ns() < until_ns;
    release(inputs, signature->input_count);
}

static bool is_short(struct catalog *catalog, struct version *version, uint32_t rows) {
    struct engine_costs costs = engine_costs(catalog->options.engine, version);
    return costs.base_ns + costs.row_ns * rows <= SHORT_NS;
}

void timing_run(struct catalog *catalog, struct version *stable, struct version *candidate) {
    struct version *const versions[2] = {stable, candidate};
    uint32_t largest = engine_describe(stable).batch_rows, half = largest / 2;
    if (engine_describe(stable).signature->free_count > 0)
        return;
    bool was_loading = atomic_exchange(&catalog->loading, true);
    run_rows(catalog, versions, 1);
    if (largest == engine_describe(candidate).batch_rows && half > 1 && is_short(catalog, stable, half) &&
        is_short(catalog, candidate, half))
        run_rows(catalog, versions, half);
    atomic_store(&catalog->loading, was_loading);
}

double timing_ratio(const struct engine_costs *stable, const struct engine_costs *candidate) {
    double ratios[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        bool same_rows = i == 0 || stable->largest == candidate->largest;
        if (!same_rows || stable->quickest_ns[i] <= 0 || candidate->quickest_ns[i] <= 0)
            continue;
        double ratio = (double)candidate->quickest_ns[i] / (double)stable->quickest_ns[i];
        int at = count++;
        for (; at > 0 && ratios[at - 1] > ratio; at--)
            ratios[at] = ratios[at - 1];
        ratios[at] = ratio;
    }
    return count == 0 ? 0 : ratios[(count - 1) / 2];
}
