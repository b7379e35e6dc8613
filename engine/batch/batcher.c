#include "engine/batch/batcher.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/batch/job_list.h"
#include "engine/batch/running.h"
#include "engine/batch/spare.h"
#include "engine/clock.h"
#include "engine/model/cost_table.h"
#include "engine/model/model.h"

/* An estimate is trusted for this part of the time there is: it is wrong by a fifth now and then. */
static const double SLACK = 1.2;
/* The delay target of each priority, in parts of the configured one: low is refused first, high last. */
static const double TARGET_SHARE[JOB_PRIORITY_COUNT] = {[JOB_NORMAL] = 1, [JOB_HIGH] = 1.5, [JOB_LOW] = 0.5};
/* Arrivals are counted over about this time. */
static const double RATE_WINDOW_NS = 50e6;
enum {
    AUTO_TARGET_BATCHES = 3,
    AUTO_TARGET_LEAST_MS = 5, /* below this the scheduler decides about waiting, not the queue */
    DEADLINE_BATCHES = 3,
};

struct batcher {
    struct batcher_options options;
    pthread_mutex_t lock;
    pthread_cond_t more;   /* published rows, or the end */
    struct job_list queue; /* one that is partly taken goes to the end: its next rows wait their turn */
    struct job_list spare; /* runs on devices that have nothing else to do */
    uint32_t running_rows;
    uint64_t batches; /* that were taken */
    uint32_t sleepers;
    int64_t wakes_ns; /* the soonest that one of them wakes by itself; INT64_MAX: none does */
    struct running running[FORECAST_MAX_DEVICES];
    double arrival_rate; /* rows a nanosecond, of late */
    int64_t arrival_ns;
    struct forecast_trials trials;
    double short_deadline_ns;   /* a low quantile of the time that jobs have; 0 before the first */
    _Atomic uint32_t published; /* rows that a device may know of; read without the lock only as a hint */
    bool stopped;
};

struct batcher *batcher_create(const struct batcher_options *options) {
    struct batcher *batcher = calloc(1, sizeof *batcher);
    if (!batcher)
        return NULL;
    batcher->options = *options;
    batcher->options.device_count = options->device_count < 1 ? 1 : options->device_count;
    assert(batcher->options.device_count <= FORECAST_MAX_DEVICES);
    batcher->queue.batch_rows = batcher->spare.batch_rows = options->batch_rows;
    batcher->wakes_ns = INT64_MAX;
    clock_cond_init(&batcher->more);
    pthread_mutex_init(&batcher->lock, NULL);
    return batcher;
}

void batcher_destroy(struct batcher *batcher) {
    if (!batcher)
        return;
    assert(batcher->queue.first == NULL && batcher->spare.first == NULL);
    pthread_cond_destroy(&batcher->more);
    pthread_mutex_destroy(&batcher->lock);
    free(batcher);
}

/* What batches of these sizes take on a device. */
static const struct cost_model *costs_of(struct version *version, int device, const struct tensor_dims *dims) {
    return cost_table_find(version_costs(version, device), dims);
}

static struct job_list *list_of(struct batcher *batcher, const struct job *job) {
    return job->is_spare ? &batcher->spare : &batcher->queue;
}

/* The most rows of a batch of this job's version now. Short deadlines make batches smaller: one that takes more than a
 * third of the time a job has leaves too little for waiting. But its fixed cost must not dominate. */
static uint32_t batch_rows_of(const struct batcher *batcher, const struct job *job) {
    uint32_t rows = batcher->options.batch_rows;
    if (rows > job->batch_rows_limit)
        rows = job->batch_rows_limit;
    if (batcher->options.policy != BATCHER_PREDICT || batcher->short_deadline_ns == 0)
        return rows;
    const struct cost_model *costs = costs_of(job->version, 0, &job->dims);
    int64_t limit_ns = (int64_t)batcher->short_deadline_ns / DEADLINE_BATCHES;
    int64_t least_ns = 2 * cost_model_predict(costs, 1);
    return cost_model_rows_within(costs, rows, limit_ns > least_ns ? limit_ns : least_ns);
}

/* When each device will be free. Returns the least time by which a device's batch has run over. */
static int64_t free_times(const struct batcher *batcher, int64_t now_ns, int64_t *free_ns) {
    int64_t least_ns = INT64_MAX, over_ns;
    for (int i = 0; i < batcher->options.device_count; i++) {
        free_ns[i] = running_free_ns(&batcher->running[i], now_ns, &over_ns);
        least_ns = over_ns < least_ns ? over_ns : least_ns;
    }
    return least_ns;
}

/* Rows that run before the last of the job's. A job of one batch waits for one turn of each job ahead; a longer one
 * comes back to the queue's end, so that all that is there goes before its last rows. */
static uint32_t queued_ahead(const struct batcher *batcher, const struct job *job) {
    uint64_t rows = job->dims.rows <= batcher->options.batch_rows ? batcher->queue.turn_rows : batcher->queue.rows;
    return rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
}

/* Decides on a job; called with the lock. */
static enum weir_status admit(struct batcher *batcher, const struct job *job, int64_t now_ns, struct forecast *out,
                              bool *is_trial, struct weir_error *err) {
    *out = (struct forecast){.done_ns = now_ns};
    *is_trial = false;
    if (batcher->stopped)
        return weir_fail(err, WEIR_DRAINING, "the server is shutting down");
    const struct cost_model *costs = costs_of(job->version, 0, &job->dims);
    int64_t free_ns[FORECAST_MAX_DEVICES];
    int64_t over_ns = free_times(batcher, now_ns, free_ns);
    struct forecast_state state = {.costs = costs,
                                   .now_ns = now_ns,
                                   .free_ns = free_ns,
                                   .device_count = batcher->options.device_count,
                                   .queued_rows = queued_ahead(batcher, job),
                                   .batch_rows = batch_rows_of(batcher, job),
                                   .arrival_rate = batcher->arrival_rate};
    forecast_make(&state, job->dims.rows, out);
    if (batcher->options.policy != BATCHER_PREDICT || costs->samples == 0)
        return WEIR_OK;
    int64_t target_ns = batcher->options.queue_delay_target_ns, least_ns = AUTO_TARGET_LEAST_MS * CLOCK_NS_PER_MS;
    int64_t batches_ns = AUTO_TARGET_BATCHES * cost_model_predict(costs, state.batch_rows);
    if (target_ns == 0)
        target_ns = batches_ns > least_ns ? batches_ns : least_ns;
    double needed_ns = (double)(out->done_ns - now_ns + batcher->options.max_queue_delay_ns) * SLACK;
    bool is_late = needed_ns > (double)(job->deadline_ns - now_ns);
    if (is_late && batcher->queue.jobs == 0 && batcher->running_rows == 0 && job->deadline_ns > now_ns)
        *is_trial =
            forecast_try(&batcher->trials, cost_table_knows(version_costs(job->version, 0), &job->dims), now_ns);
    if (is_late && !*is_trial)
        return weir_fail(err, WEIR_TOO_LATE, "the answer would take about %lld microseconds, and %lld are left",
                         (long long)needed_ns / 1000, (long long)(job->deadline_ns - now_ns) / 1000);
    /* A device that stalls says nothing about the length of the queue: that is the deadlines' business, above. */
    if ((double)(out->wait_ns - over_ns) > (double)target_ns * TARGET_SHARE[job->priority])
        return weir_fail(err, WEIR_BUSY, "its turn would come in %lld microseconds", (long long)out->wait_ns / 1000);
    return WEIR_OK;
}

enum weir_status batcher_admit(struct batcher *batcher, const struct job *job, int64_t now_ns, struct forecast *out,
                               struct weir_error *err) {
    pthread_mutex_lock(&batcher->lock);
    bool is_trial;
    enum weir_status status = admit(batcher, job, now_ns, out, &is_trial, err);
    pthread_mutex_unlock(&batcher->lock);
    return status;
}

/* Notes an arrival, also of a job that is refused: it tells how fast batches fill. */
static void note_arrival(struct batcher *batcher, const struct job *job, int64_t now_ns) {
    double passed = (double)(now_ns - batcher->arrival_ns) / RATE_WINDOW_NS;
    batcher->arrival_rate = batcher->arrival_rate * exp(-passed) + job->dims.rows / RATE_WINDOW_NS;
    batcher->arrival_ns = now_ns;
}

/* Notes how much time an admitted job has. Not of refused ones: who asks for the impossible must not make the batches
 * of others smaller. */
static void note_deadline(struct batcher *batcher, const struct job *job, int64_t now_ns) {
    double has_ns = (double)(job->deadline_ns - now_ns), *low = &batcher->short_deadline_ns;
    if (has_ns <= 0)
        return;
    if (*low == 0)
        *low = has_ns;
    else
        *low += (has_ns < *low ? 0.1 : 0.01) * (has_ns - *low); /* settles where a tenth is shorter */
}

static void begin_job(struct job *job, int64_t now_ns) {
    assert(job->dims.rows > 0 && job->batch_rows_limit > 0 && job->done);
    job->submitted_ns = now_ns;
    job->started_ns = job->expected_ns = 0;
    job->rows_taken = job->rows_done = job->parts_out = 0;
    job->batch = 0;
    job->status = job->error.status = WEIR_OK;
    job->error.text[0] = 0;
    job->ending = job->is_trial = job->is_spare = job->is_internal = false;
    job->next = NULL;
}

enum weir_status batcher_add(struct batcher *batcher, struct job *job, int64_t now_ns, struct weir_error *err) {
    struct forecast forecast;
    begin_job(job, now_ns);
    pthread_mutex_lock(&batcher->lock);
    note_arrival(batcher, job, now_ns);
    enum weir_status status = admit(batcher, job, now_ns, &forecast, &job->is_trial, err);
    if (status == WEIR_OK) {
        job->expected_ns = costs_of(job->version, 0, &job->dims)->samples > 0 ? forecast.done_ns : 0;
        job_list_append(list_of(batcher, job), job);
        note_deadline(batcher, job, now_ns);
    }
    pthread_mutex_unlock(&batcher->lock);
    return status;
}

enum weir_status batcher_add_spare(struct batcher *batcher, struct job *job, int64_t now_ns, int64_t join_ns,
                                   struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    begin_job(job, now_ns);
    pthread_mutex_lock(&batcher->lock);
    if (batcher->stopped)
        status = weir_fail(err, WEIR_DRAINING, "the server is shutting down");
    else if (join_ns == INT64_MAX && spare_is_full(&batcher->spare))
        status = weir_fail(err, WEIR_BUSY, "the devices have no time to spare");
    if (status == WEIR_OK) {
        job->is_spare = job->is_internal = true;
        job->join_ns = join_ns;
        job_list_append(&batcher->spare, job);
    }
    pthread_mutex_unlock(&batcher->lock);
    return status;
}

/* Says how many rows a device may take now. Returns whether one that sleeps should look. Called with the lock. */
static bool publish(struct batcher *batcher, int64_t now_ns) {
    int64_t due_ns = spare_due_ns(&batcher->spare);
    uint32_t ready = batcher->queue.rows + (due_ns <= now_ns ? batcher->spare.rows : 0);
    atomic_store_explicit(&batcher->published, ready, memory_order_relaxed);
    return batcher->sleepers > 0 && (ready > 0 || due_ns < batcher->wakes_ns);
}

void batcher_publish(struct batcher *batcher) {
    pthread_mutex_lock(&batcher->lock);
    bool wake = publish(batcher, batcher->spare.first ? clock_now_ns() : 0);
    pthread_mutex_unlock(&batcher->lock);
    if (wake)
        pthread_cond_signal(&batcher->more);
}

bool batcher_cancel(struct batcher *batcher, struct job *job) {
    pthread_mutex_lock(&batcher->lock);
    if (job->queued)
        job_list_remove(list_of(batcher, job), job);
    bool yours = job->parts_out == 0 && !job->ending;
    if (!yours && job->rows_taken < job->dims.rows && job->status == WEIR_OK)
        job->status = WEIR_CANCELLED; /* the rows never taken are not waited for */
    pthread_mutex_unlock(&batcher->lock);
    return yours;
}

/* Moves a queued job that must not run to the batch's dropped list, or marks it if some of its rows are still out. */
static void drop(struct batcher *batcher, struct batch *batch, struct job *job, enum weir_status status) {
    job_list_remove(list_of(batcher, job), job);
    if (job->status == WEIR_OK)
        job->status = status;
    if (job->parts_out > 0)
        return; /* batcher_end ends it with its last part */
    job->ending = true;
    job->next = batch->dropped;
    batch->dropped = job;
}

/* When a batch taken now must be expected to end: nothing that is due earlier is worth computing. */
static int64_t batch_end_ns(const struct batcher *batcher, const struct job *job, uint32_t room, int64_t now_ns) {
    if (batcher->options.policy != BATCHER_PREDICT)
        return now_ns;
    uint32_t rows = batcher->queue.rows < room ? batcher->queue.rows : room;
    return now_ns + cost_model_predict(costs_of(job->version, 0, &job->dims), rows);
}

/* Notes that the batch runs on its device from now on. */
static void note_running(struct batcher *batcher, struct batch *batch, int64_t now_ns) {
    int64_t took_ns = cost_model_predict(costs_of(batch->version, batch->device, &batch->dims), batch->rows);
    running_begin(&batcher->running[batch->device], now_ns, took_ns);
    batch->taken_ns = now_ns;
    batch->number = ++batcher->batches;
    batcher->running_rows += batch->rows;
}

/* Notes that the oldest batch of its device has ended, and learns from how long that took. */
static void note_ended(struct batcher *batcher, const struct batch *batch, bool worked, int64_t now_ns) {
    int64_t took_ns = running_end(&batcher->running[batch->device], batch->taken_ns, now_ns);
    batcher->running_rows -= batch->rows;
    struct tensor_dims dims = batch->dims;
    dims.rows = batch->rows;
    if (worked)
        cost_table_learn(version_costs(batch->version, batch->device), &dims, took_ns - batch->begin_ns);
}

/* May rows of this job run with those that the batch has? */
static bool may_join(const struct batch *batch, const struct job *job) {
    bool alone = job->is_spare && !(spare_is_copy(job) && spare_is_copy(batch->parts[0].job));
    return !alone && job->version == batch->version && tensor_dims_share(&job->dims, &batch->dims) &&
           !version_signature(job->version)->shares_inputs;
}

/* Takes rows of the first job's version and free sizes, in order. Called with the lock. */
static void fill(struct batcher *batcher, struct job_list *list, struct batch *batch, int64_t now_ns) {
    uint32_t room = batch->capacity;
    int64_t end_ns = now_ns;
    for (struct job *job = list->first, *next; job && batch->rows < room; job = next) {
        next = job->next;
        if (batch->part_count > 0 && !may_join(batch, job))
            continue;
        if (batch->part_count == 0) {
            uint32_t rows =
                spare_rows(job, costs_of(job->version, batch->device, &job->dims), batch_rows_of(batcher, job));
            room = rows < batch->capacity ? rows : batch->capacity;
            end_ns = batch_end_ns(batcher, job, room, now_ns);
        }
        if (job->status != WEIR_OK || job->deadline_ns <= (job->is_trial ? now_ns : end_ns)) {
            drop(batcher, batch, job, job->deadline_ns <= now_ns ? WEIR_DEADLINE : WEIR_TOO_LATE);
            continue;
        }
        batch->version = job->version;
        batch->dims = job->dims;
        uint32_t left = job->dims.rows - job->rows_taken;
        uint32_t rows = left < room - batch->rows ? left : room - batch->rows;
        batch->parts[batch->part_count++] = (struct batch_part){.job = job, .first_row = job->rows_taken, .rows = rows};
        if (job->started_ns == 0)
            job->started_ns = now_ns;
        job->parts_out++;
        job_list_remove(list_of(batcher, job), job);
        job->rows_taken += rows;
        if (rows < left) /* others first: a long request must not stop the short ones */
            job_list_append(list_of(batcher, job), job);
        batch->rows += rows;
    }
    if (batch->part_count > 0)
        note_running(batcher, batch, now_ns);
    publish(batcher, now_ns);
}

/* Looks for published rows for a while without sleeping. */
static void spin(struct batcher *batcher) {
    int64_t end_ns = clock_now_ns() + batcher->options.spin_ns;
    while (atomic_load_explicit(&batcher->published, memory_order_relaxed) == 0 && clock_now_ns() < end_ns)
        for (int i = 0; i < 16; i++)
            __builtin_ia32_pause();
}

/* Sleeps until rows are published, at_ns comes or the batcher is stopped. Called with the lock. */
static void sleep_until(struct batcher *batcher, int64_t at_ns) {
    batcher->sleepers++;
    batcher->wakes_ns = at_ns < batcher->wakes_ns ? at_ns : batcher->wakes_ns;
    if (at_ns == INT64_MAX)
        pthread_cond_wait(&batcher->more, &batcher->lock);
    else
        clock_cond_wait(&batcher->more, &batcher->lock, at_ns);
    batcher->sleepers--;
    batcher->wakes_ns = INT64_MAX; /* of the others it is not known any more: they are woken once too often */
}

/* From which list the device should take now; NULL: from none before *wake_ns. Called with the lock. */
static struct job_list *choose_list(struct batcher *batcher, int device, bool wait, int64_t now_ns, int64_t *wake_ns) {
    const struct job *first = batcher->queue.first;
    if (!first) {
        int64_t due_ns = batcher->running[device].count == 0 ? spare_due_ns(&batcher->spare) : INT64_MAX;
        *wake_ns = due_ns < *wake_ns ? due_ns : *wake_ns;
        return due_ns <= now_ns ? &batcher->spare : NULL;
    }
    int64_t full_ns = first->submitted_ns + batcher->options.max_queue_delay_ns;
    bool linger = wait && !batcher->stopped && batcher->options.max_queue_delay_ns > 0 &&
                  batcher->queue.rows < batcher->options.batch_rows;
    if (!linger || now_ns >= full_ns)
        return &batcher->queue;
    *wake_ns = full_ns < *wake_ns ? full_ns : *wake_ns;
    return NULL;
}

bool batcher_take(struct batcher *batcher, int device, struct batch *batch, bool wait) {
    batch->device = device;
    batch->part_count = 0;
    batch->rows = 0;
    batch->begin_ns = batch->input_ns = batch->infer_ns = batch->output_ns = 0;
    batch->error.status = WEIR_OK;
    batch->dropped = NULL;
    if (wait && batcher->options.spin_ns > 0)
        spin(batcher);
    pthread_mutex_lock(&batcher->lock);
    for (;;) {
        int64_t now_ns = clock_now_ns();
        int64_t wake_ns = spare_join(&batcher->spare, &batcher->queue, now_ns, batcher->stopped);
        struct job_list *list = choose_list(batcher, device, wait, now_ns, &wake_ns);
        if (list) {
            fill(batcher, list, batch, now_ns);
            if (batch->part_count > 0 || batch->dropped)
                break;
            continue;
        }
        if (!wait || (batcher->stopped && batcher->queue.jobs + batcher->spare.jobs == 0))
            break;
        sleep_until(batcher, wake_ns);
    }
    bool more = batcher->sleepers > 0 && batcher->queue.rows > 0; /* one signal wakes one device: the next is told */
    pthread_mutex_unlock(&batcher->lock);
    if (more)
        pthread_cond_signal(&batcher->more);
    return batch->part_count > 0;
}

static void end_job(struct job *job, int64_t now_ns) {
    job->finished_ns = now_ns;
    job->done(job);
}

int batcher_end(struct batcher *batcher, struct batch *batch, int64_t now_ns) {
    uint32_t ended = 0;
    bool worked = true;
    for (uint32_t p = 0; p < batch->part_count; p++)
        worked = worked && batch->parts[p].status == WEIR_OK;
    pthread_mutex_lock(&batcher->lock);
    note_ended(batcher, batch, worked, now_ns);
    for (uint32_t p = 0; p < batch->part_count; p++) {
        struct batch_part *part = &batch->parts[p];
        struct job *job = part->job;
        job->parts_out--;
        job->rows_done += part->rows;
        job->batch_rows = batch->rows;
        job->batch = batch->number;
        job->device = batch->device;
        job->batch_input_ns = batch->input_ns;
        job->batch_infer_ns = batch->infer_ns;
        job->batch_output_ns = batch->output_ns;
        if (part->status != WEIR_OK && job->status == WEIR_OK) {
            job->status = part->status;
            if (batch->error.status == part->status)
                job->error = batch->error;
            else
                weir_fail(&job->error, part->status, "%s", weir_status_text(part->status));
        }
        if (job->status != WEIR_OK && job->queued) /* the rest of it would be for nothing */
            job_list_remove(list_of(batcher, job), job);
        if (job->parts_out == 0 && !job->queued) {
            job->ending = true;
            batch->parts[ended++].job = job;
        }
    }
    pthread_mutex_unlock(&batcher->lock);
    for (uint32_t p = 0; p < ended; p++)
        end_job(batch->parts[p].job, now_ns);
    batch->part_count = 0;
    batch->rows = 0;
    return (int)ended;
}

int batcher_end_dropped(struct batch *batch, int64_t now_ns) {
    int count = 0;
    while (batch->dropped) {
        struct job *job = batch->dropped;
        batch->dropped = job->next;
        job->next = NULL;
        end_job(job, now_ns);
        count++;
    }
    return count;
}

void batcher_stop(struct batcher *batcher) {
    pthread_mutex_lock(&batcher->lock);
    batcher->stopped = true;
    pthread_mutex_unlock(&batcher->lock);
    pthread_cond_broadcast(&batcher->more);
}

void batcher_load(struct batcher *batcher, struct batcher_load *out) {
    pthread_mutex_lock(&batcher->lock);
    *out = (struct batcher_load){
        .queued_jobs = batcher->queue.jobs, .queued_rows = batcher->queue.rows, .running_rows = batcher->running_rows};
    for (int i = 0; i < batcher->options.device_count; i++) {
        const struct running *running = &batcher->running[i];
        if (running->count == 0 || (out->oldest_taken_ns != 0 && running->batches[0].taken_ns >= out->oldest_taken_ns))
            continue;
        out->oldest_taken_ns = running->batches[0].taken_ns;
        out->oldest_expected_ns = running->batches[0].expected_ns;
        out->oldest_device = i;
    }
    pthread_mutex_unlock(&batcher->lock);
}

struct cost_model batcher_costs(struct batcher *batcher, struct version *version, int device) {
    pthread_mutex_lock(&batcher->lock);
    struct cost_model costs = *cost_table_find(version_costs(version, device), &(struct tensor_dims){.rows = 1});
    pthread_mutex_unlock(&batcher->lock);
    return costs;
}

void batcher_set_delays(struct batcher *batcher, int64_t max_queue_delay_ns, int64_t queue_delay_target_ns) {
    pthread_mutex_lock(&batcher->lock);
    batcher->options.max_queue_delay_ns = max_queue_delay_ns;
    batcher->options.queue_delay_target_ns = queue_delay_target_ns;
    pthread_mutex_unlock(&batcher->lock);
    pthread_cond_broadcast(&batcher->more);
}
