/* The batcher's jobs that run alone. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "engine/batch/batcher.h"
#include "engine/clock.h"
#include "engine/model/cost_table.h"
#include "engine/model/model.h"
#include "tests/fakes/fake_job.h"
#include "tests/fakes/fake_version.h"

enum { ROWS = 8 };

static struct batcher *batcher;
static struct batch batch;
static struct weir_error err;

static void setup(void) {
    batcher = batcher_create(&(struct batcher_options){.batch_rows = ROWS});
    cr_assert_not_null(batcher);
    cr_assert_eq(batch_init(&batch, ROWS, &err), WEIR_OK);
}

static void teardown(void) {
    batcher_destroy(batcher);
    batch_release(&batch);
}

TestSuite(batcher_spare, .init = setup, .fini = teardown);

static void add(struct fake_job *fake) {
    cr_assert_eq(batcher_add(batcher, &fake->job, clock_now_ns(), &err), WEIR_OK);
}

static int end(void) {
    return batcher_end(batcher, &batch, clock_now_ns());
}

static enum weir_status add_spare(struct fake_job *fake, int64_t join_ns) {
    return batcher_add_spare(batcher, &fake->job, clock_now_ns(), join_ns, &err);
}

Test(batcher_spare, a_spare_job_runs_after_all_others_and_alone) {
    struct fake_job spare[2], jobs[2];
    for (int i = 0; i < 2; i++) {
        fake_job_init(&spare[i], 1, 0);
        fake_job_init(&jobs[i], 1, 0);
        cr_assert_eq(add_spare(&spare[i], INT64_MAX), WEIR_OK);
        add(&jobs[i]);
    }
    cr_assert(batcher_take(batcher, 0, &batch, false));
    cr_assert_eq(batch.part_count, 2);
    cr_assert_eq(batch.parts[0].job, &jobs[0].job);
    end();
    for (int i = 0; i < 2; i++) {
        cr_assert(batcher_take(batcher, 0, &batch, false));
        cr_assert_eq(batch.part_count, 1);
        cr_assert_eq(batch.parts[0].job, &spare[i].job);
        end();
    }
    cr_assert_not(batcher_take(batcher, 0, &batch, false));
}

Test(batcher_spare, a_spare_job_waits_while_the_device_has_a_batch) {
    struct fake_job job, spare;
    struct batch second;
    cr_assert_eq(batch_init(&second, ROWS, &err), WEIR_OK);
    fake_job_init(&job, 1, 0);
    fake_job_init(&spare, 1, 0);
    add(&job);
    cr_assert_eq(add_spare(&spare, INT64_MAX), WEIR_OK);
    cr_assert(batcher_take(batcher, 0, &batch, false));
    cr_assert_not(batcher_take(batcher, 0, &second, false));
    end();
    cr_assert(batcher_take(batcher, 0, &second, false));
    batcher_end(batcher, &second, clock_now_ns());
    batch_release(&second);
}

Test(batcher_spare, a_spare_job_joins_the_queue_when_its_time_has_come) {
    struct fake_job first, spare;
    fake_job_init(&first, 1, 0);
    fake_job_init(&spare, 1, 0);
    cr_assert_eq(add_spare(&spare, clock_now_ns()), WEIR_OK);
    add(&first);
    cr_assert(batcher_take(batcher, 0, &batch, false));
    cr_assert_eq(batch.part_count, 2);
    end();
}

Test(batcher_spare, spare_jobs_are_bounded_and_those_that_must_run_are_not) {
    static struct fake_job jobs[100];
    int taken = 0;
    for (int i = 0; i < 99; i++) {
        fake_job_init(&jobs[i], 1, 0);
        taken += add_spare(&jobs[i], INT64_MAX) == WEIR_OK;
    }
    cr_assert_eq(taken, 64);
    fake_job_init(&jobs[99], 1, 0);
    cr_assert_eq(add_spare(&jobs[99], INT64_MAX - 1), WEIR_OK);
    while (batcher_take(batcher, 0, &batch, false))
        end();
}

Test(batcher_spare, a_spare_job_can_be_cancelled_and_runs_before_the_end) {
    struct fake_job gone, stays;
    fake_job_init(&gone, 1, 0);
    fake_job_init(&stays, 1, 0);
    cr_assert_eq(add_spare(&gone, INT64_MAX), WEIR_OK);
    cr_assert_eq(add_spare(&stays, INT64_MAX), WEIR_OK);
    cr_assert(batcher_cancel(batcher, &gone.job));
    batcher_stop(batcher);
    cr_assert(batcher_take(batcher, 0, &batch, true));
    cr_assert_eq(batch.parts[0].job, &stays.job);
    end();
    cr_assert_not(batcher_take(batcher, 0, &batch, true));
}

Test(batcher_spare, jobs_with_an_input_that_their_rows_share_run_alone) {
    struct fake_job jobs[3];
    for (int i = 0; i < 3; i++) {
        fake_job_init(&jobs[i], 2, 0);
        jobs[i].job.version = fake_version(2);
        add(&jobs[i]);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert(batcher_take(batcher, 0, &batch, false));
        cr_assert_eq(batch.part_count, 1);
        cr_assert_eq(batch.rows, 2);
        end();
    }
}
