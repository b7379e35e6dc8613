/* The queue between requests and devices. Jobs wait in order of arrival; a device that is free takes a batch of jobs of
 * one version and free sizes (a job alone, where the model shares inputs between rows). A job of more rows than fit is
 * split over batches and joined again. Every job that batcher_add took comes back exactly once: from batcher_cancel, or
 * through job->done.
 *
 * Admission: a job is taken only if it is expected to be done by its deadline, and if the wait for its turn is not
 * longer than the delay target: a queue that is longer than the device needs to stay busy only makes every answer
 * later. */
#ifndef WEIR_ENGINE_BATCH_BATCHER_H
#define WEIR_ENGINE_BATCH_BATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/batch/batch.h"
#include "engine/batch/forecast.h"
#include "engine/job.h"

struct batcher;

enum batcher_policy {
    BATCHER_PREDICT, /* refuse what is not expected to be in time */
    BATCHER_FIFO,    /* queue everything, drop what has expired: what most servers do, for comparison */
};

struct batcher_options {
    uint32_t batch_rows; /* most rows of a batch */
    int device_count;    /* 1 to FORECAST_MAX_DEVICES */
    enum batcher_policy policy;
    int64_t max_queue_delay_ns;    /* how long an idle device waits for a fuller batch; 0: not at all */
    int64_t queue_delay_target_ns; /* longest wait for a turn; 0: three batches of the largest size */
    int64_t spin_ns;               /* how long an idle device looks for work before it sleeps; 0 on one core */
};

struct batcher_load {
    uint32_t queued_jobs;
    uint32_t queued_rows;
    uint32_t running_rows;
    int64_t oldest_taken_ns;    /* when the batch that runs longest was taken; 0 if none runs */
    int64_t oldest_expected_ns; /* how long that batch was expected to take */
    int oldest_device;          /* where it runs */
};

/* Returns NULL without memory. Owner: the engine. */
struct batcher *batcher_create(const struct batcher_options *options);
void batcher_destroy(struct batcher *batcher);

/* Would a job of these rows, deadline and priority be taken now? For requests whose body is not read yet. *out is
 * filled either way. Errors: TOO_LATE, BUSY, DRAINING. thread: any. */
enum weir_status batcher_admit(struct batcher *batcher, const struct job *job, int64_t now_ns, struct forecast *out,
                               struct weir_error *err) WEIR_CHECKED;

/* Queues a job without waking a device: batcher_publish does, once for many. Errors: as batcher_admit. thread: any. */
enum weir_status batcher_add(struct batcher *batcher, struct job *job, int64_t now_ns,
                             struct weir_error *err) WEIR_CHECKED;
void batcher_publish(struct batcher *batcher);

/* Queues a job that runs when a device has nothing else to do (spare.h): no admission, and no user's request waits for
 * it longer than for the batch that runs. At join_ns it joins the queue like any other (INT64_MAX: never). Errors:
 * DRAINING, BUSY (join_ns is INT64_MAX and too many such jobs wait). thread: any. */
enum weir_status batcher_add_spare(struct batcher *batcher, struct job *job, int64_t now_ns, int64_t join_ns,
                                   struct weir_error *err) WEIR_CHECKED;

/* True: no row of the job is on a device; it is the caller's again and done will not be called. False: it runs, and
 * comes back through done (with CANCELLED, or with what it was when it ended meanwhile). thread: any. */
bool batcher_cancel(struct batcher *batcher, struct job *job);

/* Fills batch with the rows to run next. wait: sleep until there are some. False: there is nothing (or, when waiting,
 * the batcher was stopped and is empty). batch->dropped, the jobs that cannot be in time any more, must be ended by
 * batcher_end_dropped whatever the result. thread: the device's. */
bool batcher_take(struct batcher *batcher, int device, struct batch *batch, bool wait);

/* The batch ran: its parts' status is set and results are in the jobs' outputs. Calls done for every job that is
 * complete by it. Returns for how many. thread: the one that took the batch. */
int batcher_end(struct batcher *batcher, struct batch *batch, int64_t now_ns);

/* Calls done for the jobs that batcher_take dropped. Returns for how many. */
int batcher_end_dropped(struct batch *batch, int64_t now_ns);

/* No more jobs; takers see what is queued and then the end. */
void batcher_stop(struct batcher *batcher);

void batcher_load(struct batcher *batcher, struct batcher_load *out);

/* A copy of what is known of a version's batches on a device, of the free sizes that ran last. */
struct cost_model batcher_costs(struct batcher *batcher, struct version *version, int device);

/* Changes max_queue_delay_ns and queue_delay_target_ns. */
void batcher_set_delays(struct batcher *batcher, int64_t max_queue_delay_ns, int64_t queue_delay_target_ns);

#endif
