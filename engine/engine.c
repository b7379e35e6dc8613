#include "engine/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/batch/batcher.h"
#include "engine/batch/executor.h"
#include "engine/clock.h"
#include "engine/cpus.h"
#include "engine/device/backend.h"
#include "engine/model/cost_model.h"
#include "engine/model/model.h"

enum {
    SPIN_US = 20,
    STUCK_LEAST_MS = 10000, /* the default of watchdog_ns */
    STUCK_TIMES = 20,       /* a batch that has not run this many times as long as expected is not stuck */
    STUCK_FOR_GOOD = 2,     /* times watchdog_ns: it will not come back */
};

struct engine {
    struct engine_options options;
    struct inventory inventory;
    struct batcher *batcher;
    struct executor **executors;
    atomic_int devices_left;
    atomic_bool lost[FORECAST_MAX_DEVICES]; /* devices of which others than they themselves said so */
    struct telemetry *telemetry;            /* NULL: no GPU serves */
    pthread_mutex_t lock;
    struct version *retired; /* a list, under lock */
};

/* An idle device looks for work a moment before it sleeps, but only where another core can bring some meanwhile. */
static int64_t spin_ns(void) {
    return cpus_available() < 2 ? 0 : SPIN_US * CLOCK_NS_PER_US;
}

static void gpu_lost(void *context, int gpu, const char *reason) {
    struct engine *engine = context;
    atomic_store(&engine->lost[gpu], true);
    if (engine->options.observer.device_lost)
        engine->options.observer.device_lost(engine->options.observer.context, gpu, reason);
}

/* Only where GPUs serve: nothing of NVIDIA is opened otherwise. */
static enum weir_status start_telemetry(struct engine *engine, struct weir_error *err) {
    const struct inventory *inventory = &engine->inventory;
    const char *bus_ids[TELEMETRY_MOST_GPUS];
    int count = 0;
    for (; count < inventory->count && count < TELEMETRY_MOST_GPUS && inventory->devices[count]->bus_id[0]; count++)
        bus_ids[count] = inventory->devices[count]->bus_id;
    if (count == 0)
        return WEIR_OK;
    struct telemetry_options options = {.count = count, .bus_ids = bus_ids, .lost = gpu_lost, .context = engine};
    return telemetry_start(&options, &engine->telemetry, err);
}

enum weir_status engine_open(const struct engine_options *options, struct engine **out, struct weir_error *err) {
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the engine");
    engine->options = *options;
    if (engine->options.watchdog_ns == 0)
        engine->options.watchdog_ns = (int64_t)STUCK_LEAST_MS * CLOCK_NS_PER_MS;
    engine->options.devices.patience_ns = STUCK_FOR_GOOD * engine->options.watchdog_ns;
    pthread_mutex_init(&engine->lock, NULL);
    enum weir_status status = inventory_open(&engine->options.devices, &engine->inventory, err);
    if (status != WEIR_OK)
        goto out;
    struct batcher_options batching = {
        .batch_rows = options->batch_rows,
        .device_count = engine->inventory.count,
        .policy = options->admit_all ? BATCHER_FIFO : BATCHER_PREDICT,
        .max_queue_delay_ns = options->max_queue_delay_ns,
        .queue_delay_target_ns = options->queue_delay_target_ns,
        .spin_ns = spin_ns(),
    };
    engine->batcher = batcher_create(&batching);
    atomic_init(&engine->devices_left, engine->inventory.count);
    engine->executors = calloc((size_t)engine->inventory.count, sizeof(struct executor *));
    if (!engine->batcher || !engine->executors) {
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the engine");
        goto out;
    }
    for (int i = 0; i < engine->inventory.count && status == WEIR_OK; i++) {
        struct executor_options executing = {.device = i,
                                             .backend = engine->inventory.devices[i],
                                             .batcher = engine->batcher,
                                             .observer = &engine->options.observer,
                                             .batch_rows = options->batch_rows,
                                             .devices_left = &engine->devices_left};
        status = executor_start(&executing, &engine->executors[i], err);
    }
    if (status == WEIR_OK)
        status = start_telemetry(engine, err);
out:
    if (status == WEIR_OK)
        *out = engine;
    else
        engine_close(engine);
    return status;
}

void engine_stop(struct engine *engine) {
    if (engine->batcher)
        batcher_stop(engine->batcher);
    for (int i = 0; engine->executors && i < engine->inventory.count; i++) {
        executor_stop(engine->executors[i]);
        engine->executors[i] = NULL;
    }
}

void engine_close(struct engine *engine) {
    if (!engine)
        return;
    engine_stop(engine);
    telemetry_stop(engine->telemetry);
    free(engine->executors);
    batcher_destroy(engine->batcher);
    engine_reap(engine);
    inventory_release(&engine->inventory);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

static void retire(void *context, struct version *version) {
    struct engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    *version_next(version) = engine->retired;
    engine->retired = version;
    pthread_mutex_unlock(&engine->lock);
    if (engine->options.observer.version_retired)
        engine->options.observer.version_retired(engine->options.observer.context);
}

void engine_reap(struct engine *engine) {
    pthread_mutex_lock(&engine->lock);
    struct version *version = engine->retired;
    engine->retired = NULL;
    pthread_mutex_unlock(&engine->lock);
    while (version) {
        struct version *next = *version_next(version);
        version_destroy(version);
        version = next;
    }
}

enum weir_status engine_prepare(struct engine *engine, const char *model_name, uint64_t number, const char *path,
                                struct version **out, struct weir_error *err) {
    struct version_options options = {.model_name = model_name,
                                      .number = number,
                                      .path = path,
                                      .devices = engine->inventory.devices,
                                      .device_count = engine->inventory.count,
                                      .batch_rows = engine->options.batch_rows,
                                      .refuse_other_batch = engine->options.refuse_other_batch,
                                      .retired = retire,
                                      .context = engine};
    struct weir_error local;
    err = err ? err : &local;
    enum weir_status status = version_load(&options, out, err);
    if (status == WEIR_DEVICE_LOST && engine->options.observer.device_lost)
        engine->options.observer.device_lost(engine->options.observer.context, engine->inventory.count == 1 ? 0 : -1,
                                             err->text);
    return status;
}

struct version *engine_hold(struct version *version) {
    return version_ref(version);
}

enum backend_precision engine_precision(const struct engine *engine) {
    return inventory_backend_precision(engine->options.devices.precision);
}

void engine_release(struct version *version) {
    version_unref(version);
}

void engine_set_tag(struct version *version, int tag) {
    version_set_tag(version, tag);
}

struct version_info engine_describe(const struct version *version) {
    return (struct version_info){
        .model_name = version_model_name(version),
        .number = version_number(version),
        .signature = version_signature(version),
        .batch_rows = version_batch_rows(version),
        .fixed_batch = version_fixed_batch(version),
        .notice = version_notice(version),
        .batching = version_batching(version),
        .load_ns = version_load_ns(version),
        .serial = version_serial(version),
        .tag = version_tag(version),
    };
}

const char *engine_report(const struct version *version, int device) {
    return version_report(version, device);
}

struct engine_costs engine_costs(struct engine *engine, struct version *version) {
    struct cost_model model = batcher_costs(engine->batcher, version, 0);
    struct engine_costs costs = {.deviation_ns = model.deviation_ns};
    cost_model_line(&model, &costs.base_ns, &costs.row_ns);
    return costs;
}

enum weir_status engine_admit(struct engine *engine, struct job *job, int64_t *wait_ns, struct weir_error *err) {
    struct forecast forecast;
    job->batch_rows_limit = version_batch_rows(job->version);
    enum weir_status status = batcher_admit(engine->batcher, job, clock_now_ns(), &forecast, err);
    *wait_ns = forecast.wait_ns;
    return status;
}

enum weir_status engine_submit(struct engine *engine, struct job *job, struct weir_error *err) {
    job->batch_rows_limit = version_batch_rows(job->version);
    return batcher_add(engine->batcher, job, clock_now_ns(), err);
}

enum weir_status engine_submit_spare(struct engine *engine, struct job *job, int64_t join_ns, struct weir_error *err) {
    job->batch_rows_limit = version_batch_rows(job->version);
    return batcher_add_spare(engine->batcher, job, clock_now_ns(), join_ns, err);
}

void engine_flush(struct engine *engine) {
    batcher_publish(engine->batcher);
}

bool engine_cancel(struct engine *engine, struct job *job) {
    return batcher_cancel(engine->batcher, job);
}

void engine_drain(struct engine *engine) {
    batcher_stop(engine->batcher);
}

void engine_set_queue_delays(struct engine *engine, int64_t max_queue_delay_ns, int64_t queue_delay_target_ns) {
    batcher_set_delays(engine->batcher, max_queue_delay_ns, queue_delay_target_ns);
}

/* Has the batch that runs longest run for `times` limits of the watchdog? */
static bool is_stuck(const struct engine *engine, const struct batcher_load *load, int64_t times, int64_t now_ns) {
    if (load->oldest_taken_ns == 0)
        return false;
    int64_t age_ns = (now_ns - load->oldest_taken_ns) / times;
    return age_ns > engine->options.watchdog_ns && age_ns > STUCK_TIMES * load->oldest_expected_ns;
}

void engine_status(struct engine *engine, struct engine_status *out) {
    struct batcher_load load;
    batcher_load(engine->batcher, &load);
    int64_t now_ns = clock_now_ns();
    *out = (struct engine_status){
        .device = engine->inventory.devices[0]->ops->name,
        .device_reason = engine->inventory.reason,
        .device_description = engine->inventory.devices[0]->description,
        .device_fell_back = engine->inventory.fell_back,
        .device_count = engine->inventory.count,
        .cpu_threads = engine->inventory.cpu_threads,
        .queued_jobs = load.queued_jobs,
        .queued_rows = load.queued_rows,
        .running_rows = load.running_rows,
        .stuck = is_stuck(engine, &load, 1, now_ns),
        .stuck_for_good = engine->inventory.devices[0]->bus_id[0] && is_stuck(engine, &load, STUCK_FOR_GOOD, now_ns),
    };
    if (out->stuck_for_good)
        atomic_store(&engine->lost[load.oldest_device], true);
}

enum backend_state engine_device_state(const struct engine *engine, int device) {
    const struct backend *backend = engine->inventory.devices[device];
    if (atomic_load(&engine->lost[device]))
        return BACKEND_LOST;
    return backend->ops->state ? backend->ops->state(backend) : BACKEND_OK;
}

const char *engine_device_state_text(enum backend_state state) {
    static const char *const texts[BACKEND_STATES] = {
        [BACKEND_OK] = "ok", [BACKEND_DEGRADED] = "degraded", [BACKEND_LOST] = "lost"};
    return texts[state];
}

bool engine_telemetry(struct engine *engine, int device, struct telemetry_reading *out) {
    if (!engine->telemetry || device < 0 || device >= engine->inventory.count || device >= TELEMETRY_MOST_GPUS ||
        !engine->inventory.devices[device]->bus_id[0])
        return false;
    telemetry_read(engine->telemetry, device, clock_now_ns(), out);
    return true;
}
