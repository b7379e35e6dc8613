#include "engine/model/model.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/device/backend.h"
#include "engine/graph/plan.h"
#include "engine/model/cost_table.h"

enum { LONG_NS = 50 * CLOCK_NS_PER_MS, REPORT_BYTES = 400, WARM_UP_RUNS = 4 };

struct version {
    atomic_uint references;
    char *model_name;
    uint64_t number;
    struct plan *plan; /* outlives the replicas */
    struct backend **devices;
    struct backend_model **replicas;
    struct cost_table *costs;      /* by device */
    char (*reports)[REPORT_BYTES]; /* by device */
    int device_count;
    uint32_t batch_rows;
    int64_t load_ns;
    uint64_t serial;
    int tag;
    void (*retired)(void *context, struct version *version);
    void *context;
    struct version *next;
};

void version_destroy(struct version *version) {
    for (int i = 0; i < version->device_count; i++)
        if (version->replicas[i])
            version->devices[i]->ops->unload(version->replicas[i]);
    plan_destroy(version->plan);
    free(version->replicas);
    free(version->costs);
    free(version->reports);
    free(version->devices);
    free(version->model_name);
    free(version);
}

static enum weir_status zero_inputs(struct version *version, int device, const struct tensor_dims *dims,
                                    struct weir_error *err) {
    const struct signature *signature = plan_signature(version->plan);
    for (int i = 0; i < signature->input_count; i++) {
        struct tensor_shape whole = tensor_spec_whole(&signature->inputs[i], dims);
        size_t bytes;
        if (!tensor_shape_elements(&whole, 0, &bytes) ||
            __builtin_mul_overflow(bytes, tensor_dtype_bytes(signature->inputs[i].dtype), &bytes))
            return weir_fail(err, WEIR_TOO_LARGE, "input \"%s\" is too large for %u rows", signature->inputs[i].name,
                             dims->rows);
        memset(version->devices[device]->ops->input(version->replicas[device], 0, i), 0, bytes);
    }
    return WEIR_OK;
}

/* Runs a batch of zeros a few times: the first touches all the memory, and the quickest tells what it takes where
 * others use the processor too. Where a batch takes long anyway, once is enough. */
static enum weir_status warm_up(struct version *version, int device, uint32_t rows, struct weir_error *err) {
    const struct backend_ops *ops = version->devices[device]->ops;
    struct backend_model *replica = version->replicas[device];
    struct tensor_dims dims = *plan_example(version->plan);
    dims.rows = rows;
    enum weir_status status = ops->begin(replica, 0, &dims, err);
    if (status == WEIR_OK)
        status = zero_inputs(version, device, &dims, err);
    int64_t took_ns = INT64_MAX, all_ns = 0;
    for (int run = 0; run < WARM_UP_RUNS && status == WEIR_OK && all_ns < LONG_NS; run++) {
        int64_t begin_ns = clock_now_ns();
        status = ops->submit(replica, 0, err);
        if (status == WEIR_OK)
            status = ops->wait_loading(replica, 0, err);
        int64_t run_ns = clock_now_ns() - begin_ns;
        took_ns = run_ns < took_ns ? run_ns : took_ns;
        all_ns += run_ns;
    }
    if (status == WEIR_OK)
        cost_table_learn(&version->costs[device], &dims, took_ns);
    return status;
}

/* What the device says of its replica, in words. */
static void note_report(struct version *version, int device) {
    const struct backend_ops *ops = version->devices[device]->ops;
    struct backend_report report = {.memory = ""};
    if (!ops->report)
        return;
    ops->report(version->replicas[device], &report);
    snprintf(version->reports[device], REPORT_BYTES, "%s%s%s", report.memory,
             report.memory[0] && report.invariance_tested ? "; " : "",
             !report.invariance_tested ? ""
             : report.invariant        ? "tested: a row's bits do not depend on its batch"
                                       : "tested: a row's bits depend on its batch");
}

/* Loads the plan onto every device and runs the row counts that will come first. */
static enum weir_status load_replicas(struct version *version, struct weir_error *err) {
    for (int i = 0; i < version->device_count; i++) {
        struct backend *device = version->devices[i];
        cost_table_init(&version->costs[i], version->batch_rows);
        enum weir_status status =
            device->ops->load(device, version->plan, version->batch_rows, &version->replicas[i], err);
        uint32_t half = version->batch_rows / 2 > 0 ? version->batch_rows / 2 : 1;
        uint32_t rows[] = {1, half, version->batch_rows};
        for (int r = 0; r < 3 && status == WEIR_OK; r++)
            status = warm_up(version, i, rows[r], err);
        if (status != WEIR_OK)
            return version->device_count > 1 ? weir_fail_in(err, "device %d", i) : status;
        note_report(version, i);
    }
    return WEIR_OK;
}

/* The most rows of a batch that the plan and the configuration agree on. */
static enum weir_status choose_batch(struct version *version, const struct version_options *options,
                                     struct weir_error *err) {
    uint32_t fixed = plan_fixed_batch(version->plan), most = plan_max_rows(version->plan);
    if (fixed > 0 && fixed != options->batch_rows && options->refuse_other_batch)
        return weir_fail(err, WEIR_UNSUPPORTED, "the model has a fixed batch of %u, batch_size is set to %u", fixed,
                         options->batch_rows);
    version->batch_rows = options->batch_rows;
    if (fixed > 0 && fixed < version->batch_rows)
        version->batch_rows = fixed;
    if (most < version->batch_rows)
        version->batch_rows = most > 0 ? most : 1;
    return WEIR_OK;
}

enum weir_status version_load(const struct version_options *options, struct version **out, struct weir_error *err) {
    int64_t begin_ns = clock_now_ns();
    size_t count = (size_t)options->device_count;
    struct version *version = calloc(1, sizeof *version);
    if (!version)
        return weir_fail(err, WEIR_NO_MEMORY, "%s: no memory", options->path);
    static atomic_uint_fast64_t serials;
    atomic_init(&version->references, 1);
    version->serial = atomic_fetch_add(&serials, 1) + 1;
    version->retired = options->retired;
    version->context = options->context;
    version->number = options->number;
    version->model_name = strdup(options->model_name);
    version->devices = calloc(count, sizeof(struct backend *));
    version->replicas = calloc(count, sizeof(struct backend_model *));
    version->costs = calloc(count, sizeof *version->costs);
    version->reports = calloc(count, sizeof *version->reports);
    enum weir_status status = WEIR_OK;
    if (!version->model_name || !version->devices || !version->replicas || !version->costs || !version->reports) {
        status = weir_fail(err, WEIR_NO_MEMORY, "%s: no memory", options->path);
        goto out;
    }
    memcpy(version->devices, options->devices, count * sizeof(struct backend *));
    version->device_count = options->device_count;
    status = plan_load(options->path, &version->plan, err); /* names the path itself */
    if (status != WEIR_OK)
        goto out;
    status = choose_batch(version, options, err);
    if (status == WEIR_OK)
        status = load_replicas(version, err);
    if (status != WEIR_OK)
        weir_fail_in(err, "%s", options->path);
out:
    version->load_ns = clock_now_ns() - begin_ns;
    if (status == WEIR_OK)
        *out = version;
    else
        version_destroy(version);
    return status;
}

struct version *version_ref(struct version *version) {
    atomic_fetch_add_explicit(&version->references, 1, memory_order_relaxed);
    return version;
}

void version_unref(struct version *version) {
    if (!version || atomic_fetch_sub_explicit(&version->references, 1, memory_order_acq_rel) != 1)
        return;
    if (version->retired)
        version->retired(version->context, version);
    else
        version_destroy(version);
}

struct version **version_next(struct version *version) {
    return &version->next;
}

uint64_t version_serial(const struct version *version) {
    return version->serial;
}

void version_set_tag(struct version *version, int tag) {
    version->tag = tag;
}

int version_tag(const struct version *version) {
    return version->tag;
}

const char *version_model_name(const struct version *version) {
    return version->model_name;
}

uint64_t version_number(const struct version *version) {
    return version->number;
}

const struct signature *version_signature(const struct version *version) {
    return plan_signature(version->plan);
}

uint32_t version_batch_rows(const struct version *version) {
    return version->batch_rows;
}

uint32_t version_fixed_batch(const struct version *version) {
    return plan_fixed_batch(version->plan);
}

const char *version_batching(const struct version *version) {
    return version->batch_rows == 1 ? plan_max_rows_reason(version->plan) : "";
}

const char *version_notice(const struct version *version) {
    return plan_notice(version->plan);
}

const char *version_report(const struct version *version, int device) {
    return version->reports[device];
}

int64_t version_load_ns(const struct version *version) {
    return version->load_ns;
}

struct cost_table *version_costs(struct version *version, int device) {
    return &version->costs[device];
}

struct backend_model *version_replica(const struct version *version, int device) {
    return version->replicas[device];
}
