#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/batch/executor.h"
#include "engine/clock.h"
#include "tests/fakes/fake_backend.h"
#include "tests/fakes/fake_job.h"
#include "tests/fakes/fake_version.h"
#include "tests/fakes/pause.h"

enum { ROWS = 8 };

static struct fake_backend fake;
static struct batcher *batcher;
static struct executor *executor;
static struct weir_error err;
static atomic_int lost_calls, done_calls, observed_rows, devices_left;

static void on_lost(void *context, int device, const char *reason) {
    (void)context;
    (void)device;
    (void)reason;
    atomic_fetch_add(&lost_calls, 1);
}

static void on_batch(void *context, int device, const struct version *version, const struct observer_batch *batch) {
    (void)context;
    (void)device;
    (void)version;
    atomic_fetch_add(&observed_rows, (int)batch->rows);
}

static void on_done(void *context) {
    (void)context;
    atomic_fetch_add(&done_calls, 1);
}

static const struct observer observer = {.batch_ran = on_batch, .jobs_done = on_done, .device_lost = on_lost};

static void make_batcher(int slots) {
    fake_backend_init(&fake, slots);
    fake_version_device(0, &fake);
    batcher = batcher_create(&(struct batcher_options){.batch_rows = ROWS});
}

static void start_executor(void) {
    atomic_store(&devices_left, 1);
    struct executor_options options = {.backend = &fake.backend,
                                       .batcher = batcher,
                                       .observer = &observer,
                                       .batch_rows = ROWS,
                                       .devices_left = &devices_left};
    cr_assert_eq(executor_start(&options, &executor, &err), WEIR_OK);
}

static void start(int slots) {
    make_batcher(slots);
    start_executor();
}

static void stop(void) {
    batcher_stop(batcher);
    executor_stop(executor);
    batcher_destroy(batcher);
}

static void add(struct fake_job *job) {
    cr_assert_eq(batcher_add(batcher, &job->job, clock_now_ns(), &err), WEIR_OK);
}

static void wait_for(struct fake_job *job) {
    while (atomic_load(&job->done_calls) == 0)
        pause_briefly();
}

/* Keeps a device of one slot busy, so that all jobs added until let_go are taken together. */
static void keep_busy(struct fake_job *job) {
    atomic_store(&fake.hold, true);
    fake_job_init(job, 1, 0);
    add(job);
    batcher_publish(batcher);
    while (atomic_load(&fake.in_flight) == 0)
        pause_briefly();
}

static void let_go(struct fake_job *job) {
    atomic_store(&fake.hold, false);
    wait_for(job);
}

Test(executor, every_row_gets_its_own_answer) {
    struct fake_job jobs[6];
    start(1);
    for (int i = 0; i < 6; i++) {
        fake_job_init(&jobs[i], (uint32_t)i + 1, (float)i * 100);
        add(&jobs[i]);
    }
    batcher_publish(batcher);
    for (int i = 0; i < 6; i++) {
        wait_for(&jobs[i]);
        for (int row = 0; row <= i; row++)
            cr_assert_float_eq(jobs[i].out[row], (float)(i * 100 + row + 1), 0);
    }
    stop();
    cr_assert_eq(atomic_load(&observed_rows), 21);
    cr_assert_gt(atomic_load(&done_calls), 0);
}

Test(executor, a_job_that_breaks_its_batch_fails_alone) {
    struct fake_job jobs[ROWS], before;
    start(1);
    keep_busy(&before);
    for (int i = 0; i < ROWS; i++) {
        fake_job_init(&jobs[i], 1, i == 5 ? FAKE_POISON : (float)i);
        add(&jobs[i]);
    }
    batcher_publish(batcher);
    let_go(&before);
    for (int i = 0; i < ROWS; i++) {
        wait_for(&jobs[i]);
        cr_assert_eq(jobs[i].job.status, i == 5 ? WEIR_DEVICE : WEIR_OK, "job %d", i);
        if (i != 5)
            cr_assert_float_eq(jobs[i].out[0], (float)(i + 1), 0);
    }
    stop();
    /* After the run before: one of eight, then halves: 4, 4, 2, 2, 1, 1. */
    cr_assert_eq(atomic_load(&fake.runs), 1 + 7);
}

Test(executor, with_two_slots_the_next_batch_is_submitted_while_one_runs) {
    struct fake_job jobs[2 * ROWS];
    make_batcher(2);
    atomic_store(&fake.hold, true);
    for (int i = 0; i < 2 * ROWS; i++) {
        fake_job_init(&jobs[i], 1, (float)i);
        add(&jobs[i]);
    }
    start_executor(); /* the jobs are there: else it may take a few and then wait for these */
    while (atomic_load(&fake.in_flight) < 2)
        pause_briefly();
    atomic_store(&fake.hold, false);
    for (int i = 0; i < 2 * ROWS; i++) {
        wait_for(&jobs[i]);
        cr_assert_float_eq(jobs[i].out[0], (float)(i + 1), 0);
    }
    stop();
    cr_assert_eq(atomic_load(&fake.most_in_flight), 2);
}

Test(executor, a_lost_device_answers_everything_and_says_so_once) {
    struct fake_job jobs[3];
    start(1);
    atomic_store(&fake.lost, true);
    for (int i = 0; i < 3; i++) {
        fake_job_init(&jobs[i], 1, 0);
        add(&jobs[i]);
        batcher_publish(batcher);
        wait_for(&jobs[i]);
        cr_assert_eq(jobs[i].job.status, WEIR_DEVICE_LOST);
    }
    stop();
    cr_assert_eq(atomic_load(&lost_calls), 1);
}

Test(executor, a_lost_device_leaves_the_queue_to_the_others) {
    static struct fake_backend broken;
    struct executor *other;
    struct fake_job first, jobs[2 * ROWS];
    fake_backend_init(&fake, 1);
    fake_backend_init(&broken, 2);
    fake_version_device(0, &fake);
    fake_version_device(1, &broken);
    atomic_store(&broken.lost, true);
    atomic_store(&devices_left, 2);
    batcher = batcher_create(&(struct batcher_options){.batch_rows = ROWS, .device_count = 2});
    struct executor_options options = {.device = 1,
                                       .backend = &broken.backend,
                                       .batcher = batcher,
                                       .observer = &observer,
                                       .batch_rows = ROWS,
                                       .devices_left = &devices_left};
    cr_assert_eq(executor_start(&options, &other, &err), WEIR_OK);
    fake_job_init(&first, 1, 0);
    add(&first);
    batcher_publish(batcher);
    wait_for(&first);
    cr_assert_eq(first.job.status, WEIR_DEVICE_LOST);
    for (int i = 0; i < 2 * ROWS; i++) {
        fake_job_init(&jobs[i], 1, (float)i);
        add(&jobs[i]);
    }
    batcher_publish(batcher);
    options.device = 0;
    options.backend = &fake.backend;
    cr_assert_eq(executor_start(&options, &executor, &err), WEIR_OK);
    for (int i = 0; i < 2 * ROWS; i++) {
        wait_for(&jobs[i]);
        cr_assert_eq(jobs[i].job.status, WEIR_OK);
    }
    batcher_stop(batcher);
    executor_stop(other);
    executor_stop(executor);
    batcher_destroy(batcher);
    cr_assert_eq(atomic_load(&lost_calls), 1);
}

Test(executor, late_jobs_come_back_without_a_run) {
    struct fake_job job;
    start(1);
    fake_job_init(&job, 1, 0);
    job.job.deadline_ns = 1;
    add(&job);
    batcher_publish(batcher);
    wait_for(&job);
    stop();
    cr_assert_eq(job.job.status, WEIR_DEADLINE);
    cr_assert_eq(atomic_load(&fake.runs), 0);
}

Test(executor, a_batch_that_is_too_large_as_a_whole_runs_in_parts) {
    struct fake_job jobs[8], bulky, before;
    start(1);
    keep_busy(&before);
    for (int i = 0; i < 8; i++) {
        fake_job_init(&jobs[i], 1, (float)i);
        jobs[i].job.dims.free_count = 1;
        jobs[i].job.dims.free[0] = FAKE_BULKY_SIZE;
        add(&jobs[i]);
    }
    fake_job_init(&bulky, FAKE_BULKY_ROWS + 1, 0);
    bulky.job.dims.free_count = 1;
    bulky.job.dims.free[0] = FAKE_BULKY_SIZE;
    add(&bulky);
    batcher_publish(batcher);
    let_go(&before);
    for (int i = 0; i < 8; i++) {
        wait_for(&jobs[i]);
        cr_assert_eq(jobs[i].job.status, WEIR_OK);
        cr_assert_float_eq(jobs[i].out[0], (float)i + 1, 0);
    }
    wait_for(&bulky);
    stop();
    cr_assert_eq(bulky.job.status, WEIR_TOO_LARGE, "what is too large alone is refused");
    for (unsigned i = 0; i < atomic_load(&fake.runs); i++)
        cr_assert_leq(fake.run_rows[i], FAKE_BULKY_ROWS);
}

Test(executor, sizes_that_the_model_does_not_take_fail_their_jobs_with_the_reason) {
    struct fake_job refused[2], good;
    start(1);
    for (int i = 0; i < 2; i++) {
        fake_job_init(&refused[i], 1, 0);
        refused[i].job.dims.free_count = 1;
        refused[i].job.dims.free[0] = FAKE_REFUSED_SIZE;
        add(&refused[i]);
    }
    fake_job_init(&good, 1, 5);
    good.job.dims.free_count = 1;
    good.job.dims.free[0] = 12;
    add(&good);
    batcher_publish(batcher);
    for (int i = 0; i < 2; i++) {
        wait_for(&refused[i]);
        cr_assert_eq(refused[i].job.status, WEIR_INVALID);
        cr_assert_str_eq(refused[i].job.error.text, "the fake model does not take 13");
    }
    wait_for(&good);
    stop();
    cr_assert_eq(good.job.status, WEIR_OK);
    cr_assert_float_eq(good.out[0], 6, 0);
    cr_assert_eq(atomic_load(&fake.runs), 1, "nothing is halved, nothing ran");
    cr_assert_eq(atomic_load(&observed_rows), 1, "and it is no failure of the device");
}

Test(executor, the_reason_why_the_device_failed_reaches_the_job) {
    struct fake_job job;
    start(1);
    fake_job_init(&job, 1, FAKE_POISON);
    add(&job);
    batcher_publish(batcher);
    wait_for(&job);
    stop();
    cr_assert_eq(job.job.status, WEIR_DEVICE);
    cr_assert_str_eq(job.job.error.text, "the fake device met poison");
}

Test(executor, an_output_that_the_job_brings_no_memory_for_is_allocated) {
    struct fake_job job;
    start(1);
    fake_job_init(&job, 20, 1);
    job.output = (struct job_tensor){.data = NULL};
    add(&job);
    batcher_publish(batcher);
    wait_for(&job);
    stop();
    cr_assert_eq(job.job.status, WEIR_OK);
    cr_assert_eq(job.output.row_bytes, sizeof(float));
    cr_assert_eq(job.output.row.rank, 1);
    for (int row = 0; row < 20; row++)
        cr_assert_float_eq(((float *)job.output.data)[row], (float)(row + 2), 0);
    free(job.output.data);
}
