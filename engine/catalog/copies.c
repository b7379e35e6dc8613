/* Requests whose inputs go to a second version too, so that the answers can be compared. */
#include <stdlib.h>

#include "engine/catalog/parts.h"
#include "engine/clock.h"
#include "engine/engine.h"

/* A copy that no device had time for by then is not worth much any more. */
enum { COPY_LASTS_MS = 2000 };

static void release(struct catalog_copy *copy) {
    const struct signature *signature = engine_describe(copy->choice.other).signature;
    for (int i = 0; copy->job.outputs && i < signature->output_count; i++)
        free(copy->job.outputs[i].data);
    free(copy->job.outputs);
    copy->job.outputs = NULL;
    copy->release(copy);
}

/* Wakes nobody: the next tick finds the copy. thread: device. */
static void copy_done(struct job *job) {
    struct catalog_copy *copy = job->owner;
    struct catalog *catalog = copy->catalog;
    copy->next = atomic_load_explicit(&catalog->copies, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&catalog->copies, &copy->next, copy, memory_order_release,
                                                  memory_order_relaxed))
        continue;
}

void catalog_compare(struct catalog *catalog, struct catalog_copy *copy) {
    struct weir_error ignored;
    struct job *job = &copy->job;
    const struct signature *signature = engine_describe(copy->choice.other).signature;
    copy->catalog = catalog;
    job->version = copy->choice.other;
    job->deadline_ns = clock_now_ns() + COPY_LASTS_MS * (int64_t)CLOCK_NS_PER_MS;
    job->priority = JOB_LOW;
    job->done = copy_done;
    job->owner = copy;
    job->outputs = calloc((size_t)signature->output_count, sizeof *job->outputs);
    if (!job->outputs || engine_submit_spare(catalog->options.engine, job, INT64_MAX, &ignored) != WEIR_OK) {
        release(copy);
        return;
    }
    engine_flush(catalog->options.engine);
}

/* The time between the job's first row reaching the device and its end. */
static int64_t compute_ns(const struct job *job) {
    return job->started_ns > 0 ? job->finished_ns - job->started_ns : 0;
}

static void compare(struct catalog *catalog, struct catalog_copy *copy, bool is_shadow) {
    struct catalog_model *model = &catalog->models[copy->choice.model];
    const struct job *job = &copy->job;
    bool candidate_ran = copy->choice.role == CATALOG_STABLE; /* as the copy */
    pthread_mutex_lock(&catalog->comparing);
    if (candidate_ran && is_shadow && job->started_ns > 0)
        outcomes_add(&model->outcomes[CATALOG_CANDIDATE], job->status == WEIR_OK ? OUTCOME_GOOD : OUTCOME_ERROR,
                     compute_ns(job));
    if (job->status == WEIR_OK) {
        struct comparison_pair pair = {
            .signature = engine_describe(copy->choice.version).signature,
            .stable = candidate_ran ? copy->outputs : job->outputs,
            .candidate = candidate_ran ? job->outputs : copy->outputs,
            .rows = job->dims.rows,
        };
        comparison_add(model->comparison, &pair);
    }
    pthread_mutex_unlock(&catalog->comparing);
}

void copies_compare(struct catalog *catalog) {
    struct catalog_copy *copy = atomic_exchange_explicit(&catalog->copies, NULL, memory_order_acquire);
    while (copy) {
        struct catalog_copy *next = copy->next;
        const struct catalog_model *model = &catalog->models[copy->choice.model];
        pthread_mutex_lock(&catalog->lock);
        bool counts = model->route.rollout == copy->choice.rollout;
        bool is_shadow = model->rollout->plan.kind == ROLLOUT_SHADOW;
        pthread_mutex_unlock(&catalog->lock);
        if (counts)
            compare(catalog, copy, is_shadow);
        release(copy);
        copy = next;
    }
}
