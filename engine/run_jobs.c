#include "engine/run_jobs.h"

#include <pthread.h>

#include "engine/clock.h"

enum { JOIN_MS = 50 }; /* after this a job does not wait for an idle device any more */

/* Somebody who waits for jobs. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int left;
};

static void finish(struct waiter *waiter, int jobs) {
    pthread_mutex_lock(&waiter->lock);
    waiter->left -= jobs;
    if (waiter->left == 0)
        pthread_cond_signal(&waiter->done);
    pthread_mutex_unlock(&waiter->lock);
}

static void job_done(struct job *job) {
    finish(job->owner, 1);
}

enum weir_status run_jobs(struct engine *engine, struct job *jobs, int count, struct weir_error *err) {
    struct waiter waiter = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .left = count};
    enum weir_status status = WEIR_OK;
    int sent = 0;
    while (sent < count && status == WEIR_OK) {
        struct job *job = &jobs[sent];
        job->deadline_ns = INT64_MAX;
        job->done = job_done;
        job->owner = &waiter;
        status = engine_submit_spare(engine, job, clock_now_ns() + JOIN_MS * (int64_t)CLOCK_NS_PER_MS, err);
        sent += status == WEIR_OK;
    }
    engine_flush(engine);
    finish(&waiter, count - sent);
    pthread_mutex_lock(&waiter.lock);
    while (waiter.left > 0)
        pthread_cond_wait(&waiter.done, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    for (int i = 0; i < sent && status == WEIR_OK; i++)
        if (jobs[i].status != WEIR_OK)
            status = weir_fail(err, jobs[i].status, "%s",
                               jobs[i].error.text[0] ? jobs[i].error.text : weir_status_text(jobs[i].status));
    return status;
}

enum weir_status run_one_job(void *context, const struct tensor_dims *dims, struct job_tensor *inputs,
                             struct job_tensor *outputs, struct weir_error *err) {
    const struct job_runner *runner = context;
    struct job job = {.version = runner->version, .dims = *dims, .inputs = inputs, .outputs = outputs};
    return run_jobs(runner->engine, &job, 1, err);
}
