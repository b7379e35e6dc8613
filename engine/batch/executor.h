/* An executor runs batches on one device: one thread that takes a batch, lays its rows into the device's staging
 * memory, runs it, and hands the results back; with two slots it fills the next batch while one runs. Sizes that the
 * model does not take fail the batch's jobs with the backend's words; they are no failure of the device. One whose
 * device is lost leaves the queue to the others; the last one hands back what it takes as failed, so that nobody waits.
 */
#ifndef WEIR_ENGINE_BATCH_EXECUTOR_H
#define WEIR_ENGINE_BATCH_EXECUTOR_H

#include <stdatomic.h>

#include "engine/batch/batcher.h"
#include "engine/observer.h"
#include "engine/status.h"

struct executor;
struct backend;

struct executor_options {
    int device; /* its number: which replica of a version it runs */
    struct backend *backend;
    struct batcher *batcher;
    const struct observer *observer; /* may be NULL; must outlive the executor */
    uint32_t batch_rows;
    atomic_int *devices_left; /* how many are not lost, shared by all executors of the batcher */
};

/* Starts the thread. Errors: NO_MEMORY. Owner: the engine, by executor_stop. */
enum weir_status executor_start(const struct executor_options *options, struct executor **out,
                                struct weir_error *err) WEIR_CHECKED;

/* Waits until the batcher (which must be stopped) is empty and the thread is gone, and releases the executor. */
void executor_stop(struct executor *executor);

#endif
