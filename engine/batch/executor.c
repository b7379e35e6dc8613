#include "engine/batch/executor.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/batch/running.h"
#include "engine/clock.h"
#include "engine/device/backend.h"
#include "engine/model/model.h"
#include "engine/thread.h"

struct executor {
    struct executor_options options;
    struct batch batches[RUNNING_SLOTS];
    int64_t submitted_ns[RUNNING_SLOTS];
    enum weir_status submit_status[RUNNING_SLOTS];
    bool lost, retired; /* retired: lost, and others take what is queued */
    pthread_t thread;
};

static struct backend_model *replica_of(const struct executor *executor, const struct batch *batch) {
    return version_replica(batch->version, executor->options.device);
}

/* A device that has no memory for a batch has failed, to those who wait for it. */
static enum weir_status of_run(enum weir_status status) {
    return status == WEIR_NO_MEMORY ? WEIR_DEVICE : status;
}

/* Lays parts first..end into the slot and starts it. */
static enum weir_status submit(struct executor *executor, int slot, uint32_t first, uint32_t end) {
    const struct backend_ops *ops = executor->options.backend->ops;
    struct batch *batch = &executor->batches[slot];
    const struct signature *signature = version_signature(batch->version);
    struct backend_model *replica = replica_of(executor, batch);
    assert(thread_is(THREAD_DEVICE));
    if (executor->lost)
        return weir_fail(&batch->error, WEIR_DEVICE_LOST, "the device failed earlier");
    struct tensor_dims dims = batch->dims;
    dims.rows = batch_rows(batch, first, end);
    int64_t began_ns = clock_now_ns();
    enum weir_status status = ops->begin(replica, slot, &dims, &batch->error);
    int64_t begun_ns = clock_now_ns();
    batch->begin_ns += begun_ns - began_ns;
    if (status != WEIR_OK)
        return of_run(status);
    for (int i = 0; i < signature->input_count; i++)
        batch_gather(batch, first, end, i, &signature->inputs[i], ops->input(replica, slot, i));
    batch->input_ns += clock_now_ns() - begun_ns;
    return of_run(ops->submit(replica, slot, &batch->error));
}

static enum weir_status wait(struct executor *executor, int slot) {
    struct batch *batch = &executor->batches[slot];
    return of_run(executor->options.backend->ops->wait(replica_of(executor, batch), slot, &batch->error));
}

static void set_status(struct batch *batch, uint32_t first, uint32_t end, enum weir_status status) {
    for (uint32_t p = first; p < end; p++)
        batch->parts[p].status = status;
}

/* The parts have run: hands their results back. */
static void scatter(struct executor *executor, int slot, uint32_t first, uint32_t end) {
    const struct backend_ops *ops = executor->options.backend->ops;
    struct batch *batch = &executor->batches[slot];
    const struct signature *signature = version_signature(batch->version);
    struct backend_model *replica = replica_of(executor, batch);
    set_status(batch, first, end, WEIR_OK);
    for (int i = 0; i < signature->output_count; i++) {
        struct batch_result result = {.data = ops->output(replica, slot, i),
                                      .shape = ops->output_shape(replica, slot, i)};
        batch_scatter(batch, first, end, i, &signature->outputs[i], &result);
    }
}

static void lose_device(struct executor *executor, const char *reason) {
    const struct observer *observer = executor->options.observer;
    if (executor->lost)
        return;
    executor->lost = true;
    executor->retired = atomic_fetch_sub(executor->options.devices_left, 1) > 1;
    if (observer && observer->device_lost)
        observer->device_lost(observer->context, executor->options.device, reason);
}

/* A batch that failed may hold one part that breaks it, or be too large only as a whole: each half is run alone. */
static bool worth_halving(enum weir_status status, uint32_t parts) {
    return (status == WEIR_DEVICE || status == WEIR_TOO_LARGE) && parts > 1;
}

/* Runs parts first..end alone, after a batch that held them failed. A failure that another batch may not have is
 * narrowed down by halves, so that only the part that causes it fails: at most log2(parts) rounds. */
static void run_by_halves(struct executor *executor, int slot, uint32_t first, uint32_t end) {
    struct batch *batch = &executor->batches[slot];
    enum weir_status status = submit(executor, slot, first, end);
    if (status == WEIR_OK)
        status = wait(executor, slot);
    if (status == WEIR_OK) {
        scatter(executor, slot, first, end);
        return;
    }
    if (status == WEIR_DEVICE_LOST)
        lose_device(executor, batch->error.text);
    if (worth_halving(status, end - first)) {
        uint32_t middle = first + (end - first) / 2;
        run_by_halves(executor, slot, first, middle);
        run_by_halves(executor, slot, middle, end);
        return;
    }
    set_status(batch, first, end, status);
}

static void observe_batch(struct executor *executor, const struct batch *batch, int64_t compute_ns,
                          enum weir_status status) {
    const struct observer *observer = executor->options.observer;
    uint32_t asked_rows = 0;
    for (uint32_t p = 0; p < batch->part_count; p++)
        asked_rows += batch->parts[p].job->is_internal ? 0 : batch->parts[p].rows;
    struct observer_batch observed = {.rows = batch->rows,
                                      .asked_rows = asked_rows,
                                      .compute_ns = compute_ns,
                                      .input_ns = batch->input_ns,
                                      .infer_ns = batch->infer_ns,
                                      .output_ns = batch->output_ns,
                                      .status = status};
    if (observer && observer->batch_ran)
        observer->batch_ran(observer->context, executor->options.device, batch->version, &observed);
}

static void jobs_done(struct executor *executor, int count) {
    const struct observer *observer = executor->options.observer;
    if (count > 0 && observer && observer->jobs_done)
        observer->jobs_done(observer->context);
}

/* The model does not take these sizes: the requests' fault, nothing ran. */
static bool is_refusal(enum weir_status status) {
    return status == WEIR_INVALID || status == WEIR_UNSUPPORTED || status == WEIR_TOO_LARGE;
}

/* Waits for the slot and ends its batch. */
static void finish(struct executor *executor, int slot) {
    struct batch *batch = &executor->batches[slot];
    enum weir_status status = executor->submit_status[slot];
    if (status == WEIR_OK)
        status = wait(executor, slot);
    int64_t now_ns = clock_now_ns(), took_ns = now_ns - executor->submitted_ns[slot];
    batch->infer_ns = took_ns > batch->begin_ns + batch->input_ns ? took_ns - batch->begin_ns - batch->input_ns : 0;
    if (status == WEIR_DEVICE_LOST)
        lose_device(executor, batch->error.text);
    if (status == WEIR_OK) {
        scatter(executor, slot, 0, batch->part_count);
    } else if (worth_halving(status, batch->part_count)) {
        uint32_t middle = batch->part_count / 2;
        run_by_halves(executor, slot, 0, middle);
        run_by_halves(executor, slot, middle, batch->part_count);
    } else {
        set_status(batch, 0, batch->part_count, status);
    }
    int64_t ended_ns = clock_now_ns();
    batch->output_ns = ended_ns - now_ns;
    if (!is_refusal(status))
        observe_batch(executor, batch, took_ns, status);
    jobs_done(executor, batcher_end(executor->options.batcher, batch, ended_ns));
}

/* Takes the next batch into the slot and starts it. */
static bool start(struct executor *executor, int slot, bool wait) {
    struct batch *batch = &executor->batches[slot];
    bool taken = batcher_take(executor->options.batcher, executor->options.device, batch, wait);
    int dropped = batcher_end_dropped(batch, clock_now_ns());
    jobs_done(executor, dropped);
    if (taken) {
        executor->submitted_ns[slot] = clock_now_ns();
        executor->submit_status[slot] = submit(executor, slot, 0, batch->part_count);
    }
    return taken || dropped > 0;
}

static void *run(void *context) {
    struct executor *executor = context;
    thread_enter(THREAD_DEVICE, executor->options.device);
    int slots = executor->options.backend->slot_count;
    int oldest = 0, running = 0;
    for (;;) {
        int slot = (oldest + running) % slots;
        if (running < slots && !executor->retired) {
            bool any = start(executor, slot, running == 0);
            if (executor->batches[slot].part_count > 0) {
                running++;
                continue;
            }
            if (any)
                continue;
        }
        if (running == 0)
            break; /* retired, or stopped and empty */
        finish(executor, oldest);
        oldest = (oldest + 1) % slots;
        running--;
    }
    return NULL;
}

enum weir_status executor_start(const struct executor_options *options, struct executor **out, struct weir_error *err) {
    struct executor *executor = calloc(1, sizeof *executor);
    if (!executor)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the executor of device %d", options->device);
    executor->options = *options;
    for (int slot = 0; slot < options->backend->slot_count; slot++) {
        enum weir_status status = batch_init(&executor->batches[slot], options->batch_rows, err);
        if (status != WEIR_OK) {
            batch_release(&executor->batches[0]);
            free(executor);
            return status;
        }
    }
    int error = pthread_create(&executor->thread, NULL, run, executor);
    if (error != 0) {
        for (int slot = 0; slot < RUNNING_SLOTS; slot++)
            batch_release(&executor->batches[slot]);
        free(executor);
        return weir_fail(err, WEIR_NO_MEMORY, "cannot start the thread of device %d: %s", options->device,
                         strerror(error));
    }
    *out = executor;
    return WEIR_OK;
}

void executor_stop(struct executor *executor) {
    if (!executor)
        return;
    pthread_join(executor->thread, NULL);
    for (int slot = 0; slot < RUNNING_SLOTS; slot++)
        batch_release(&executor->batches[slot]);
    free(executor);
}
