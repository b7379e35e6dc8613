/* The batcher's jobs for devices that have nothing else to do, and those that run alone. */
#include "tests/unit/engine/batch/batcher_case.h"

TestSuite(batcher_spare, .init = batcher_case_begin, .fini = batcher_case_end);

/* One that is old enough not to wait for others. */
static enum weir_status add_spare(struct fake_job *fake, int64_t join_ns) {
    return batcher_add_spare(batcher, &fake->job, clock_now_ns() - CLOCK_NS_PER_S, join_ns, &err);
}

static void add_copies(struct fake_job *fakes, int count, int64_t now_ns) {
    for (int i = 0; i < count; i++) {
        fake_job_init(&fakes[i], 1, 0);
        cr_assert_eq(batcher_add_spare(batcher, &fakes[i].job, now_ns, INT64_MAX, &err), WEIR_OK);
    }
}

Test(batcher_spare, spare_jobs_run_after_all_others) {
    struct fake_job spare[2], jobs[2];
    for (int i = 0; i < 2; i++) {
        fake_job_init(&spare[i], 1, 0);
        fake_job_init(&jobs[i], 1, 0);
        cr_assert_eq(add_spare(&spare[i], INT64_MAX), WEIR_OK);
        add(&jobs[i]);
    }
    cr_assert(take());
    cr_assert_eq(batch.part_count, 2);
    cr_assert_eq(batch.parts[0].job, &jobs[0].job);
    end();
    for (uint32_t seen = 0; seen < 2; end()) {
        cr_assert(take());
        cr_assert_eq(batch.parts[0].job, &spare[seen].job);
        seen += batch.part_count;
    }
    cr_assert_not(take());
}

Test(batcher_spare, copies_run_alone_while_nothing_is_known_of_costs) {
    struct fake_job copies[2];
    add_copies(copies, 2, clock_now_ns() - CLOCK_NS_PER_S);
    cr_assert(take());
    cr_assert_eq(batch.part_count, 1);
    for (end(); take(); end())
        continue;
}

Test(batcher_spare, copies_gather_until_they_are_many) {
    struct fake_job copies[16];
    int64_t soon_ns = clock_now_ns() + CLOCK_NS_PER_S;
    batcher_case_learn(10 * CLOCK_NS_PER_US, 15 * CLOCK_NS_PER_US);
    add_copies(copies, 15, soon_ns);
    cr_assert_not(take());
    add_copies(&copies[15], 1, soon_ns);
    cr_assert(take());
    cr_assert_eq(batch.rows, ROWS);
    cr_assert_eq(batch.parts[0].job, &copies[0].job);
    end();
    cr_assert_not(take());
    batcher_stop(batcher);
    cr_assert(take());
    end();
}

Test(batcher_spare, copies_that_are_old_do_not_wait_for_more) {
    struct fake_job copies[3];
    batcher_case_learn(10 * CLOCK_NS_PER_US, 15 * CLOCK_NS_PER_US);
    add_copies(copies, 1, clock_now_ns() - CLOCK_NS_PER_S);
    add_copies(&copies[1], 2, clock_now_ns() + CLOCK_NS_PER_S);
    cr_assert(take());
    cr_assert_eq(batch.rows, 3);
    end();
}

Test(batcher_spare, a_batch_of_copies_takes_no_longer_than_two_of_one_row) {
    struct fake_job copies[ROWS];
    batcher_case_learn(10 * CLOCK_NS_PER_US, 45 * CLOCK_NS_PER_US); /* 5 us, and 5 for each row */
    add_copies(copies, ROWS, clock_now_ns() - CLOCK_NS_PER_S);
    cr_assert(take());
    cr_assert(batch.rows == 2 || batch.rows == 3, "%u", batch.rows);
    for (end(); take(); end())
        continue;
}

Test(batcher_spare, a_sample_runs_alone_and_at_once) {
    struct fake_job copy, sample;
    batcher_case_learn(10 * CLOCK_NS_PER_US, 100 * CLOCK_NS_PER_MS);
    add_copies(&copy, 1, clock_now_ns() + CLOCK_NS_PER_S);
    fake_job_init(&sample, ROWS, 0);
    cr_assert_eq(batcher_add_spare(batcher, &sample.job, clock_now_ns(), INT64_MAX - 1, &err), WEIR_OK);
    uint32_t taken[2];
    for (int i = 0; i < 2; i++, end()) {
        cr_assert(take());
        cr_assert_eq(batch.part_count, 1);
        taken[i] = batch.rows;
    }
    cr_assert_eq(taken[0] + taken[1], ROWS + 1);
}

static void *take_when_it_comes(void *unused) {
    (void)unused;
    return batcher_take(batcher, 0, &batch, true) ? &batch : NULL;
}

Test(batcher_spare, a_device_that_sleeps_wakes_for_a_copy_that_has_become_old) {
    struct fake_job copy;
    pthread_t thread;
    void *taken = NULL;
    cr_assert_eq(pthread_create(&thread, NULL, take_when_it_comes, NULL), 0);
    add_copies(&copy, 1, clock_now_ns());
    batcher_publish(batcher);
    pthread_join(thread, &taken);
    cr_assert_not_null(taken);
    cr_assert_eq(batch.parts[0].job, &copy.job);
    end();
}

Test(batcher_spare, a_spare_job_waits_while_the_device_has_a_batch) {
    struct fake_job job, spare;
    struct batch second;
    cr_assert_eq(batch_init(&second, ROWS, &err), WEIR_OK);
    fake_job_init(&job, 1, 0);
    fake_job_init(&spare, 1, 0);
    add(&job);
    cr_assert_eq(add_spare(&spare, INT64_MAX), WEIR_OK);
    cr_assert(take());
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
    cr_assert(take());
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
    while (take())
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
        cr_assert(take());
        cr_assert_eq(batch.part_count, 1);
        cr_assert_eq(batch.rows, 2);
        end();
    }
}
