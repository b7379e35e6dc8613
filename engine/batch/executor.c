#include "engine/batch/executor.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/device/backend.h"
#include "engine/model/model.h"
#include "engine/thread.h"

enum { MAX_SLOTS = 2, MAX_TENSORS = 16 };

struct executor {
    struct executor_options options;
    struct batch batches[MAX_SLOTS];
    int64_t submitted_ns[MAX_SLOTS];
    enum weir_status submit_status[MAX_SLOTS];
    bool lost;
    pthread_t thread;
};

static struct backend_model *replica_of(const struct executor *executor, const struct batch *batch) {
    return version_replica(batch->version, executor->options.device);
}

/* Lays parts first..end into the slot and starts it. */
static enum weir_status submit(struct executor *executor, int slot, uint32_t first, uint32_t end,
                               struct weir_error *err) {
    const struct backend_ops *ops = executor->options.backend->ops;
    struct batch *batch = &executor->batches[slot];
    const struct signature *signature = version_signature(batch->version);
    struct backend_model *replica = replica_of(executor, batch);
    assert(thread_is(THREAD_DEVICE));
    void *inputs[MAX_TENSORS];
    for (int i = 0; i < signature->input_count; i++)
        inputs[i] = ops->input(replica, slot, i);
    uint32_t rows = batch_gather(batch, first, end, signature, inputs);
    return ops->submit(replica, slot, rows, err);
}

static void scatter(struct executor *executor, int slot, uint32_t first, uint32_t end) {
    const struct backend_ops *ops = executor->options.backend->ops;
    struct batch *batch = &executor->batches[slot];
    const struct signature *signature = version_signature(batch->version);
    struct backend_model *replica = replica_of(executor, batch);
    const void *outputs[MAX_TENSORS];
    for (int i = 0; i < signature->output_count; i++)
        outputs[i] = ops->output(replica, slot, i);
    batch_scatter(batch, first, end, signature, outputs);
}

static void set_status(struct batch *batch, uint32_t first, uint32_t end, enum weir_status status) {
    for (uint32_t p = first; p < end; p++)
        batch->parts[p].status = status;
}

/* Runs parts first..end alone, after a batch that held them failed. A failure that another batch may not have is
 * narrowed down by halves, so that only the part that causes it fails: at most log2(parts) rounds. */
static void run_by_halves(struct executor *executor, int slot, uint32_t first, uint32_t end) {
    struct weir_error err;
    struct batch *batch = &executor->batches[slot];
    enum weir_status status = executor->lost ? WEIR_DEVICE_LOST : submit(executor, slot, first, end, &err);
    if (status == WEIR_OK)
        status = executor->options.backend->ops->wait(replica_of(executor, batch), slot, &err);
    if (status == WEIR_OK) {
        scatter(executor, slot, first, end);
    } else if (status == WEIR_DEVICE && end - first > 1) {
        uint32_t middle = first + (end - first) / 2;
        run_by_halves(executor, slot, first, middle);
        run_by_halves(executor, slot, middle, end);
        return;
    }
    set_status(batch, first, end, status);
}

static void observe_batch(struct executor *executor, uint32_t rows, int64_t compute_ns, enum weir_status status) {
    const struct observer *observer = executor->options.observer;
    if (observer && observer->batch_ran)
        observer->batch_ran(observer->context, executor->options.device, rows, compute_ns, status);
}

static void jobs_done(struct executor *executor, int count) {
    const struct observer *observer = executor->options.observer;
    if (count > 0 && observer && observer->jobs_done)
        observer->jobs_done(observer->context);
}

static void lose_device(struct executor *executor, const char *reason) {
    const struct observer *observer = executor->options.observer;
    if (!executor->lost && observer && observer->device_lost)
        observer->device_lost(observer->context, executor->options.device, reason);
    executor->lost = true;
}

/* Waits for the slot and ends its batch. */
static void finish(struct executor *executor, int slot) {
    struct batch *batch = &executor->batches[slot];
    struct weir_error err = {.text = "the device failed earlier"};
    enum weir_status status = executor->submit_status[slot];
    if (status == WEIR_OK)
        status = executor->options.backend->ops->wait(replica_of(executor, batch), slot, &err);
    int64_t now_ns = clock_now_ns();
    observe_batch(executor, batch->rows, now_ns - executor->submitted_ns[slot], status);
    if (status == WEIR_OK) {
        scatter(executor, slot, 0, batch->part_count);
        set_status(batch, 0, batch->part_count, WEIR_OK);
    } else if (status == WEIR_DEVICE && batch->part_count > 1) {
        uint32_t middle = batch->part_count / 2;
        run_by_halves(executor, slot, 0, middle);
        run_by_halves(executor, slot, middle, batch->part_count);
    } else {
        set_status(batch, 0, batch->part_count, status);
    }
    if (status == WEIR_DEVICE_LOST)
        lose_device(executor, err.text);
    jobs_done(executor, batcher_end(executor->options.batcher, batch, clock_now_ns()));
}

/* Takes the next batch into the slot and starts it. */
static bool start(struct executor *executor, int slot, bool wait) {
    struct batch *batch = &executor->batches[slot];
    bool taken = batcher_take(executor->options.batcher, executor->options.device, batch, wait);
    int dropped = batcher_end_dropped(batch, clock_now_ns());
    jobs_done(executor, dropped);
    if (taken) {
        struct weir_error err;
        executor->submitted_ns[slot] = clock_now_ns();
        executor->submit_status[slot] =
            executor->lost ? WEIR_DEVICE_LOST : submit(executor, slot, 0, batch->part_count, &err);
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
        if (running < slots) {
            bool any = start(executor, slot, running == 0);
            if (executor->batches[slot].part_count > 0) {
                running++;
                continue;
            }
            if (any)
                continue;
            if (running == 0)
                break; /* stopped and empty */
        }
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
        for (int slot = 0; slot < MAX_SLOTS; slot++)
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
    for (int slot = 0; slot < MAX_SLOTS; slot++)
        batch_release(&executor->batches[slot]);
    free(executor);
}
