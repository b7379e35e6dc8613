/* Many submitters and cancels against a device with two slots: every job comes back exactly once, with its own numbers.
 * A plain program, to be run under ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/batch/executor.h"
#include "engine/clock.h"
#include "tests/fakes/fake_backend.h"
#include "tests/fakes/fake_job.h"
#include "tests/fakes/fake_version.h"
#include "tests/fakes/pause.h"

enum { SUBMITTERS = 4, ROUNDS = 2000, AT_ONCE = 4, ROWS = 8 };

static struct batcher *batcher;
static atomic_int wrong;

static void complain(const char *what) {
    fprintf(stderr, "race_batcher: %s\n", what);
    atomic_fetch_add(&wrong, 1);
}

static void check(struct fake_job *job) {
    if (atomic_load(&job->done_calls) != 1)
        complain("a job came back more than once");
    if (job->job.status == WEIR_OK)
        for (uint32_t row = 0; row < job->job.dims.rows; row++)
            if (job->out[row] != job->in[row] + 1)
                complain("a row has another's answer");
}

static void *submit(void *context) {
    unsigned seed = (unsigned)(size_t)context;
    struct fake_job *jobs = calloc(AT_ONCE, sizeof *jobs);
    bool mine[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        struct weir_error err;
        for (int i = 0; i < AT_ONCE; i++) {
            fake_job_init(&jobs[i], 1 + (uint32_t)rand_r(&seed) % 20, (float)(rand_r(&seed) % 10000));
            if (batcher_add(batcher, &jobs[i].job, clock_now_ns(), &err) != WEIR_OK)
                complain("a job was refused");
        }
        batcher_publish(batcher);
        for (int i = 0; i < AT_ONCE; i++)
            mine[i] = rand_r(&seed) % 3 == 0 && batcher_cancel(batcher, &jobs[i].job);
        for (int i = 0; i < AT_ONCE; i++) {
            if (mine[i]) {
                if (atomic_load(&jobs[i].done_calls) != 0)
                    complain("a job came back twice");
                continue;
            }
            while (atomic_load(&jobs[i].done_calls) == 0)
                pause_briefly();
            check(&jobs[i]);
        }
    }
    free(jobs);
    return NULL;
}

int main(void) {
    static struct fake_backend fake;
    struct weir_error err;
    struct executor *executor;
    pthread_t threads[SUBMITTERS];
    fake_backend_init(&fake, 2);
    fake_version_device(0, &fake);
    batcher = batcher_create(
        &(struct batcher_options){.batch_rows = ROWS, .spin_ns = 2000, .queue_delay_target_ns = INT64_MAX / 4});
    atomic_int devices_left = 1;
    struct executor_options options = {
        .backend = &fake.backend, .batcher = batcher, .batch_rows = ROWS, .devices_left = &devices_left};
    if (!batcher || executor_start(&options, &executor, &err) != WEIR_OK)
        return 1;
    for (size_t i = 0; i < SUBMITTERS; i++)
        pthread_create(&threads[i], NULL, submit, (void *)(i + 1));
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    batcher_stop(batcher);
    executor_stop(executor);
    batcher_destroy(batcher);
    if (atomic_load(&wrong) > 0)
        return 1;
    printf("race_batcher: %d jobs came back once each\n", SUBMITTERS * ROUNDS * AT_ONCE);
    return 0;
}
