#include "engine/batch/batcher.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"

struct batcher {
    struct batcher_options options;
    pthread_mutex_t lock;
    pthread_cond_t more;      /* published rows, or the end */
    struct job *first, *last; /* queued jobs; one that is partly taken stays the first until its last row is */
    uint32_t queued_jobs, queued_rows, running_rows;
    uint32_t sleepers;
    _Atomic uint32_t published; /* rows that a device may know of; read without the lock only as a hint */
    bool stopped;
};

struct batcher *batcher_create(const struct batcher_options *options) {
    struct batcher *batcher = calloc(1, sizeof *batcher);
    if (!batcher)
        return NULL;
    batcher->options = *options;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&batcher->more, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&batcher->lock, NULL);
    return batcher;
}

void batcher_destroy(struct batcher *batcher) {
    if (!batcher)
        return;
    assert(batcher->first == NULL);
    pthread_cond_destroy(&batcher->more);
    pthread_mutex_destroy(&batcher->lock);
    free(batcher);
}

static void unlink_job(struct batcher *batcher, struct job *job) {
    if (job->prev)
        job->prev->next = job->next;
    else
        batcher->first = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        batcher->last = job->prev;
    job->prev = job->next = NULL;
    job->queued = false;
    batcher->queued_jobs--;
    batcher->queued_rows -= job->rows - job->rows_taken;
}

enum weir_status batcher_add(struct batcher *batcher, struct job *job, int64_t now_ns, struct weir_error *err) {
    assert(job->rows > 0 && job->batch_rows_limit > 0 && job->done);
    job->submitted_ns = now_ns;
    job->started_ns = 0;
    job->rows_taken = job->rows_done = 0;
    job->parts_out = 0;
    job->status = WEIR_OK;
    job->ending = false;
    job->next = NULL;
    atomic_store_explicit(&job->cancelled, false, memory_order_relaxed);
    pthread_mutex_lock(&batcher->lock);
    if (batcher->stopped) {
        pthread_mutex_unlock(&batcher->lock);
        return weir_fail(err, WEIR_DRAINING, "the server is shutting down");
    }
    job->prev = batcher->last;
    if (batcher->last)
        batcher->last->next = job;
    else
        batcher->first = job;
    batcher->last = job;
    job->queued = true;
    batcher->queued_jobs++;
    batcher->queued_rows += job->rows;
    pthread_mutex_unlock(&batcher->lock);
    return WEIR_OK;
}

void batcher_publish(struct batcher *batcher) {
    pthread_mutex_lock(&batcher->lock);
    atomic_store_explicit(&batcher->published, batcher->queued_rows, memory_order_relaxed);
    bool wake = batcher->sleepers > 0 && batcher->queued_rows > 0;
    pthread_mutex_unlock(&batcher->lock);
    if (wake)
        pthread_cond_signal(&batcher->more);
}

bool batcher_cancel(struct batcher *batcher, struct job *job) {
    pthread_mutex_lock(&batcher->lock);
    if (job->queued)
        unlink_job(batcher, job);
    bool yours = job->parts_out == 0 && !job->ending;
    if (!yours && job->rows_taken < job->rows && job->status == WEIR_OK)
        job->status = WEIR_CANCELLED; /* the rows never taken are not waited for */
    atomic_store_explicit(&job->cancelled, true, memory_order_relaxed);
    pthread_mutex_unlock(&batcher->lock);
    return yours;
}

/* Moves a queued job that must not run to the batch's dropped list, or marks it if some of its rows are still out. */
static void drop(struct batcher *batcher, struct batch *batch, struct job *job, enum weir_status status) {
    unlink_job(batcher, job);
    if (job->status == WEIR_OK)
        job->status = status;
    if (job->parts_out > 0)
        return; /* batcher_end ends it with its last part */
    job->ending = true;
    job->next = batch->dropped;
    batch->dropped = job;
}

/* Takes rows of the first job's version and shape, in order. Called with the lock. */
static void fill(struct batcher *batcher, struct batch *batch, int64_t now_ns) {
    uint32_t room = batcher->options.batch_rows;
    if (room > batch->capacity)
        room = batch->capacity;
    for (struct job *job = batcher->first, *next; job && batch->rows < room; job = next) {
        next = job->next;
        if (job->status != WEIR_OK || job->deadline_ns <= now_ns) {
            drop(batcher, batch, job, WEIR_DEADLINE);
            continue;
        }
        if (batch->part_count == 0) {
            batch->version = job->version;
            batch->shape_key = job->shape_key;
            if (room > job->batch_rows_limit)
                room = job->batch_rows_limit;
        } else if (job->version != batch->version || job->shape_key != batch->shape_key) {
            continue;
        }
        uint32_t left = job->rows - job->rows_taken;
        uint32_t rows = left < room - batch->rows ? left : room - batch->rows;
        batch->parts[batch->part_count++] = (struct batch_part){.job = job, .first_row = job->rows_taken, .rows = rows};
        if (job->started_ns == 0)
            job->started_ns = now_ns;
        job->parts_out++;
        if (rows == left)
            unlink_job(batcher, job);
        else
            batcher->queued_rows -= rows;
        job->rows_taken += rows;
        batch->rows += rows;
    }
    batcher->running_rows += batch->rows;
    atomic_store_explicit(&batcher->published, batcher->queued_rows, memory_order_relaxed);
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
    if (at_ns == INT64_MAX) {
        pthread_cond_wait(&batcher->more, &batcher->lock);
    } else {
        struct timespec at = {.tv_sec = at_ns / CLOCK_NS_PER_S, .tv_nsec = at_ns % CLOCK_NS_PER_S};
        pthread_cond_timedwait(&batcher->more, &batcher->lock, &at);
    }
    batcher->sleepers--;
}

bool batcher_take(struct batcher *batcher, struct batch *batch, bool wait) {
    batch->part_count = 0;
    batch->rows = 0;
    batch->dropped = NULL;
    if (wait && batcher->options.spin_ns > 0)
        spin(batcher);
    pthread_mutex_lock(&batcher->lock);
    for (;;) {
        int64_t wake_ns = INT64_MAX;
        if (batcher->first) {
            int64_t full_ns = batcher->first->submitted_ns + batcher->options.max_queue_delay_ns;
            bool linger = wait && !batcher->stopped && batcher->options.max_queue_delay_ns > 0 &&
                          batcher->queued_rows < batcher->options.batch_rows;
            int64_t now_ns = clock_now_ns();
            if (!linger || now_ns >= full_ns) {
                fill(batcher, batch, now_ns);
                if (batch->part_count > 0 || batch->dropped)
                    break;
                continue;
            }
            wake_ns = full_ns;
        }
        if (!wait || (batcher->stopped && !batcher->first))
            break;
        sleep_until(batcher, wake_ns);
    }
    /* One signal wakes one device: if more is left than it took, the next one is told. */
    bool more = batcher->sleepers > 0 && batcher->queued_rows > 0;
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
    pthread_mutex_lock(&batcher->lock);
    batcher->running_rows -= batch->rows;
    for (uint32_t p = 0; p < batch->part_count; p++) {
        struct batch_part *part = &batch->parts[p];
        struct job *job = part->job;
        job->parts_out--;
        job->rows_done += part->rows;
        job->batch_rows = batch->rows;
        if (part->status != WEIR_OK && job->status == WEIR_OK)
            job->status = part->status;
        if (job->status != WEIR_OK && job->queued) /* the rest of it would be for nothing */
            unlink_job(batcher, job);
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
    *out = (struct batcher_load){.queued_jobs = batcher->queued_jobs,
                                 .queued_rows = batcher->queued_rows,
                                 .running_rows = batcher->running_rows};
    pthread_mutex_unlock(&batcher->lock);
}

void batcher_set_delay(struct batcher *batcher, int64_t max_queue_delay_ns) {
    pthread_mutex_lock(&batcher->lock);
    batcher->options.max_queue_delay_ns = max_queue_delay_ns;
    pthread_mutex_unlock(&batcher->lock);
    pthread_cond_broadcast(&batcher->more);
}
