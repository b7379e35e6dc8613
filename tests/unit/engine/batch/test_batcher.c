#include "tests/unit/engine/batch/batcher_case.h"

TestSuite(batcher, .init = batcher_case_begin, .fini = batcher_case_end);

/* Runs or drops what is still queued. */
static void end_all(void) {
    do {
        end();
        batcher_end_dropped(&batch, clock_now_ns());
    } while (take() || batch.dropped);
}

Test(batcher, jobs_leave_in_the_order_they_came) {
    struct fake_job jobs[3];
    for (int i = 0; i < 3; i++) {
        add_rows(&jobs[i], 2);
    }
    cr_assert(take());
    cr_assert_eq(batch.part_count, 3);
    cr_assert_eq(batch.rows, 6);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(batch.parts[i].job, &jobs[i].job);
    cr_assert_eq(end(), 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(atomic_load(&jobs[i].done_calls), 1);
        cr_assert_eq(jobs[i].job.status, WEIR_OK);
        cr_assert_eq(jobs[i].job.batch_rows, 6);
        cr_assert_eq(jobs[i].job.batch, 1);
    }
}

Test(batcher, a_batch_never_has_more_rows_than_its_limit) {
    struct fake_job jobs[2];
    for (int i = 0; i < 2; i++) {
        add_rows(&jobs[i], 5);
    }
    cr_assert(take());
    cr_assert_eq(batch.rows, ROWS);
    cr_assert_eq(batch.parts[1].rows, 3);
    cr_assert_eq(end(), 1, "the first job is complete, the second is not");
    cr_assert_eq(atomic_load(&jobs[1].done_calls), 0);
    cr_assert(take());
    cr_assert_eq(batch.rows, 2);
    cr_assert_eq(batch.parts[0].first_row, 3);
    cr_assert_eq(end(), 1);
    cr_assert_eq(atomic_load(&jobs[1].done_calls), 1);
}

Test(batcher, a_job_larger_than_a_batch_is_split_and_joined) {
    struct fake_job job;
    add_rows(&job, 20);
    uint32_t rows[3] = {0}, n = 0;
    while (take()) {
        cr_assert_eq(atomic_load(&job.done_calls), 0);
        cr_assert_lt(n, 3);
        rows[n++] = batch.rows;
        end();
    }
    const uint32_t wanted[] = {8, 8, 4};
    cr_assert_arr_eq(rows, wanted, sizeof wanted);
    cr_assert_eq(atomic_load(&job.done_calls), 1);
}

Test(batcher, forty_single_rows_make_five_batches_of_eight) {
    struct fake_job jobs[40];
    for (int i = 0; i < 40; i++) {
        add_rows(&jobs[i], 1);
    }
    int batches = 0;
    for (; take(); batches++) {
        cr_assert_eq(batch.rows, 8);
        end();
    }
    cr_assert_eq(batches, 5);
}

Test(batcher, only_jobs_of_one_version_share_a_batch) {
    struct fake_job jobs[4];
    for (int i = 0; i < 4; i++) {
        fake_job_init(&jobs[i], 1, 0);
        jobs[i].job.version = fake_version(i % 2);
        add(&jobs[i]);
    }
    cr_assert(take());
    cr_assert_eq(batch.part_count, 2);
    cr_assert_eq(batch.parts[0].job, &jobs[0].job);
    cr_assert_eq(batch.parts[1].job, &jobs[2].job);
    end();
    cr_assert(take());
    cr_assert_eq(batch.parts[0].job, &jobs[1].job);
    end();
}

Test(batcher, only_jobs_of_the_same_free_sizes_share_a_batch) {
    struct fake_job jobs[4];
    for (int i = 0; i < 4; i++) {
        fake_job_init(&jobs[i], 1, 0);
        jobs[i].job.dims.free_count = 1;
        jobs[i].job.dims.free[0] = 10 + i % 2;
        add(&jobs[i]);
    }
    for (int turn = 0; turn < 2; turn++) {
        cr_assert(take());
        cr_assert_eq(batch.part_count, 2);
        cr_assert_eq(batch.dims.free[0], 10 + turn);
        cr_assert_eq(batch.parts[0].job, &jobs[turn].job);
        cr_assert_eq(batch.parts[1].job, &jobs[turn + 2].job);
        end();
    }
}

Test(batcher, a_version_with_a_smaller_batch_gets_it) {
    struct fake_job jobs[3];
    for (int i = 0; i < 3; i++) {
        fake_job_init(&jobs[i], 1, 0);
        jobs[i].job.batch_rows_limit = 1;
        add(&jobs[i]);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert(take());
        cr_assert_eq(batch.rows, 1);
        end();
    }
}

Test(batcher, a_late_job_is_dropped_before_it_costs_anything) {
    struct fake_job late, timely;
    fake_job_init(&late, 4, 0);
    late.job.deadline_ns = clock_now_ns() - 1;
    fake_job_init(&timely, 1, 0);
    add(&late);
    add(&timely);
    cr_assert(take());
    cr_assert_eq(batch.rows, 1);
    cr_assert_eq(batch.parts[0].job, &timely.job);
    cr_assert_eq(batcher_end_dropped(&batch, clock_now_ns()), 1);
    cr_assert_eq(late.job.status, WEIR_DEADLINE);
    cr_assert_eq(late.job.started_ns, 0);
    cr_assert_eq(atomic_load(&late.done_calls), 1);
    end();
}

Test(batcher, a_cancelled_job_in_the_queue_goes_back_at_once) {
    struct fake_job a, b;
    struct batcher_load load;
    fake_job_init(&a, 2, 0);
    fake_job_init(&b, 3, 0);
    add(&a);
    add(&b);
    cr_assert(batcher_cancel(batcher, &a.job));
    batcher_load(batcher, &load);
    cr_assert_eq(load.queued_jobs, 1);
    cr_assert_eq(load.queued_rows, 3);
    cr_assert(take());
    cr_assert_eq(batch.parts[0].job, &b.job);
    end();
    cr_assert_eq(atomic_load(&a.done_calls), 0, "it came back from the cancel, not through done");
}

Test(batcher, a_cancelled_job_on_the_device_comes_back_through_done) {
    struct fake_job job;
    add_rows(&job, 1);
    cr_assert(take());
    cr_assert_not(batcher_cancel(batcher, &job.job));
    end();
    cr_assert_eq(atomic_load(&job.done_calls), 1);
}

Test(batcher, the_rest_of_a_cancelled_split_job_is_not_computed) {
    struct fake_job job;
    struct batcher_load load;
    add_rows(&job, 20);
    cr_assert(take());
    cr_assert_not(batcher_cancel(batcher, &job.job));
    batcher_load(batcher, &load);
    cr_assert_eq(load.queued_rows, 0);
    cr_assert_eq(load.running_rows, 8);
    cr_assert_eq(end(), 1);
    cr_assert_eq(job.job.status, WEIR_CANCELLED);
    cr_assert_eq(atomic_load(&job.done_calls), 1);
}

Test(batcher, a_failed_part_ends_the_whole_job) {
    struct fake_job job;
    add_rows(&job, 20);
    cr_assert(take());
    batch.parts[0].status = WEIR_DEVICE;
    cr_assert_eq(end(), 1);
    cr_assert_eq(job.job.status, WEIR_DEVICE);
    cr_assert_not(take());
}

Test(batcher, nothing_is_taken_after_the_stop) {
    struct fake_job before, after;
    fake_job_init(&before, 1, 0);
    fake_job_init(&after, 1, 0);
    add(&before);
    batcher_stop(batcher);
    cr_assert_eq(batcher_add(batcher, &after.job, clock_now_ns(), &err), WEIR_DRAINING);
    cr_assert(batcher_take(batcher, 0, &batch, true), "what was queued still runs");
    end();
    cr_assert_not(batcher_take(batcher, 0, &batch, true), "and then it ends, without sleeping");
}

static void *publish_later(void *context) {
    struct fake_job *job = context;
    add(job);
    batcher_publish(batcher);
    return NULL;
}

Test(batcher, a_waiting_device_is_woken_by_publish) {
    struct fake_job job;
    pthread_t thread;
    fake_job_init(&job, 1, 0);
    pthread_create(&thread, NULL, publish_later, &job);
    cr_assert(batcher_take(batcher, 0, &batch, true));
    cr_assert_eq(batch.rows, 1);
    pthread_join(thread, NULL);
    end();
}

Test(batcher, an_idle_device_waits_for_a_fuller_batch_when_told_to) {
    struct fake_job job;
    int64_t delay_ns = 20 * CLOCK_NS_PER_MS;
    fake_job_init(&job, 1, 0);
    batcher_set_delays(batcher, delay_ns, 0);
    int64_t begin_ns = clock_now_ns();
    add(&job);
    batcher_publish(batcher);
    cr_assert(batcher_take(batcher, 0, &batch, true));
    cr_assert_geq(clock_now_ns() - begin_ns, delay_ns);
    cr_assert_eq(batch.rows, 1);
    end();
}

Test(batcher, a_full_batch_does_not_wait) {
    struct fake_job jobs[ROWS];
    batcher_set_delays(batcher, 3600 * CLOCK_NS_PER_S, 0);
    for (int i = 0; i < ROWS; i++) {
        add_rows(&jobs[i], 1);
    }
    batcher_publish(batcher);
    cr_assert(batcher_take(batcher, 0, &batch, true));
    cr_assert_eq(batch.rows, ROWS);
    end();
}

/* t(rows) = 2 ms + 1 ms * rows; a full batch of eight takes 10 ms. */
static void learn_costs(void) {
    batcher_case_learn(3 * CLOCK_NS_PER_MS, 10 * CLOCK_NS_PER_MS);
}

static enum weir_status try(struct fake_job *fake, int64_t left_ms) {
    int64_t now_ns = clock_now_ns();
    fake->job.deadline_ns = now_ns + left_ms * CLOCK_NS_PER_MS;
    return batcher_add(batcher, &fake->job, now_ns, &err);
}

Test(batcher, a_job_that_cannot_be_in_time_is_refused) {
    struct fake_job soon, later;
    learn_costs();
    fake_job_init(&soon, ROWS, 0);
    fake_job_init(&later, ROWS, 0);
    cr_assert_eq(try(&soon, 5), WEIR_TOO_LATE, "ten milliseconds do not fit into five");
    cr_assert_eq(try(&later, 1000), WEIR_OK);
    cr_assert_gt(later.job.expected_ns, later.job.submitted_ns);
    cr_assert(take());
    cr_assert_eq(batch.rows, ROWS, "what was refused has no influence on the batches");
    end();
}

Test(batcher, a_long_queue_refuses_low_first_then_normal_then_high) {
    static const int most[] = {[JOB_LOW] = 1, [JOB_NORMAL] = 3, [JOB_HIGH] = 4};
    static const enum job_priority order[] = {JOB_LOW, JOB_NORMAL, JOB_HIGH};
    static struct fake_job jobs[32];
    int count = 0;
    learn_costs();
    for (int p = 0; p < 3; p++) {
        do {
            fake_job_init(&jobs[count], ROWS, 0);
            jobs[count].job.priority = order[p];
        } while (try(&jobs[count], 100000) == WEIR_OK && ++count < 30);
        /* The wait for a turn is ten milliseconds for each batch ahead; the target of normal is three batches. */
        cr_assert_eq(count, most[order[p]] + 1, "%d batches queued after priority %d", count, (int)order[p]);
    }
    while (take())
        end();
}

Test(batcher, an_idle_device_tries_sizes_that_nothing_is_known_of_and_a_busy_one_does_not) {
    struct fake_job first, second;
    learn_costs();
    fake_job_init(&first, ROWS, 0);
    fake_job_init(&second, ROWS, 0);
    first.job.dims.free_count = second.job.dims.free_count = 1; /* of size 0 */
    cr_assert_eq(try(&first, 5), WEIR_OK, "ten milliseconds are those of other sizes");
    cr_assert_eq(try(&second, 5), WEIR_TOO_LATE);
    cr_assert(take(), "it runs although it is expected late");
    end_all();
}

Test(batcher, of_many_refused_jobs_an_idle_device_tries_one) {
    struct fake_job job;
    int refused = 0;
    fake_job_init(&job, ROWS, 0);
    for (learn_costs(); try(&job, 5) == WEIR_TOO_LATE && refused < 100; refused++)
        continue;
    cr_assert_eq(refused, 8);
    cr_assert(take());
    end_all();
}

Test(batcher, a_job_that_became_late_in_the_queue_is_not_computed) {
    struct fake_job job;
    learn_costs();
    fake_job_init(&job, ROWS, 0);
    cr_assert_eq(try(&job, 1000), WEIR_OK);
    job.job.deadline_ns = clock_now_ns() + 5 * CLOCK_NS_PER_MS; /* as if it had waited */
    cr_assert_not(take());
    cr_assert_eq(batcher_end_dropped(&batch, clock_now_ns()), 1);
    cr_assert_eq(job.job.status, WEIR_TOO_LATE);
    cr_assert_eq(job.job.started_ns, 0);
}

Test(batcher, short_deadlines_make_smaller_batches) {
    static struct fake_job jobs[ROWS];
    learn_costs();
    for (int i = 0; i < ROWS; i++) {
        fake_job_init(&jobs[i], 1, 0);
        cr_assert_eq(try(&jobs[i], 21), WEIR_OK);
        jobs[i].job.deadline_ns = INT64_MAX;
    }
    cr_assert(take());
    cr_assert_leq(batch.rows, 5, "7 ms, a third of the deadlines, is a batch of five");
    end_all();
}

Test(batcher, fifo_refuses_nothing) {
    struct fake_job jobs[8];
    batcher_destroy(batcher);
    batcher = batcher_create(&(struct batcher_options){.batch_rows = ROWS, .policy = BATCHER_FIFO});
    learn_costs();
    for (int i = 0; i < 8; i++) {
        fake_job_init(&jobs[i], ROWS, 0);
        cr_assert_eq(try(&jobs[i], 50), WEIR_OK);
    }
    while (take())
        end();
    batcher_end_dropped(&batch, clock_now_ns());
}

Test(batcher, it_learns_what_batches_take) {
    struct fake_job job;
    fake_job_init(&job, ROWS, 0);
    cost_table_init(version_costs(fake_version(0), 0), ROWS);
    add(&job);
    cr_assert(take());
    cr_assert_eq(batcher_end(batcher, &batch, batch.taken_ns + 7 * CLOCK_NS_PER_MS), 1);
    struct cost_model costs = batcher_costs(batcher, fake_version(0), 0);
    cr_assert_eq(cost_model_predict(&costs, ROWS), 7 * CLOCK_NS_PER_MS);
}

Test(batcher, what_the_device_needed_to_prepare_for_new_sizes_is_not_learned) {
    struct fake_job job;
    fake_job_init(&job, ROWS, 0);
    cost_table_init(version_costs(fake_version(0), 0), ROWS);
    add(&job);
    cr_assert(take());
    batch.begin_ns = 5 * CLOCK_NS_PER_MS;
    cr_assert_eq(batcher_end(batcher, &batch, batch.taken_ns + 7 * CLOCK_NS_PER_MS), 1);
    struct cost_model costs = batcher_costs(batcher, fake_version(0), 0);
    cr_assert_eq(cost_model_predict(&costs, ROWS), 2 * CLOCK_NS_PER_MS);
}

Test(batcher, free_sizes_have_costs_of_their_own) {
    struct fake_job jobs[2];
    cost_table_init(version_costs(fake_version(0), 0), ROWS);
    for (int i = 0; i < 2; i++) {
        fake_job_init(&jobs[i], ROWS, 0);
        jobs[i].job.dims.free_count = 1;
        jobs[i].job.dims.free[0] = i == 0 ? 8 : 512;
        add(&jobs[i]);
        cr_assert(take());
        batcher_end(batcher, &batch, batch.taken_ns + (i == 0 ? 1 : 50) * CLOCK_NS_PER_MS);
    }
    const struct cost_table *costs = version_costs(fake_version(0), 0);
    cr_assert_float_eq((double)cost_model_predict(cost_table_find(costs, &jobs[0].job.dims), ROWS), 1e6, 10);
    int64_t long_ns = cost_model_predict(cost_table_find(costs, &jobs[1].job.dims), ROWS);
    cr_assert(long_ns > 48 * CLOCK_NS_PER_MS && long_ns <= 50 * CLOCK_NS_PER_MS, "%lld", (long long)long_ns);
}

Test(batcher, a_failed_job_carries_the_words_of_its_batch) {
    struct fake_job jobs[2];
    for (int i = 0; i < 2; i++) {
        add_rows(&jobs[i], 1);
    }
    cr_assert(take());
    batch.parts[0].status = weir_fail(&batch.error, WEIR_INVALID, "node 3 does not take 13");
    batch.parts[1].status = WEIR_NO_MEMORY;
    cr_assert_eq(end(), 2);
    cr_assert_str_eq(jobs[0].job.error.text, "node 3 does not take 13");
    cr_assert_str_eq(jobs[1].job.error.text, "out of memory");
    add_rows(&jobs[0], 1);
    cr_assert(take());
    cr_assert_eq(batch.error.status, WEIR_OK, "the next batch begins anew");
    end();
    cr_assert_eq(jobs[0].job.status, WEIR_OK);
}

Test(batcher, the_load_tells_how_old_the_running_batch_is) {
    struct fake_job job;
    struct batcher_load load;
    add_rows(&job, 1);
    cr_assert(take());
    batcher_load(batcher, &load);
    cr_assert_eq(load.oldest_taken_ns, batch.taken_ns);
    end();
    batcher_load(batcher, &load);
    cr_assert_eq(load.oldest_taken_ns, 0);
}

Test(batcher, a_long_job_lets_the_short_ones_take_turns) {
    struct fake_job large, small[2];
    cost_table_init(version_costs(fake_version(0), 0), ROWS);
    add_rows(&large, 5 * ROWS);
    cr_assert(take());
    for (int i = 0; i < 2; i++) {
        add_rows(&small[i], 1);
    }
    end();
    int batches = 0;
    while (atomic_load(&small[0].done_calls) == 0 || atomic_load(&small[1].done_calls) == 0) {
        cr_assert(take());
        end();
        batches++;
    }
    cr_assert_leq(batches, 2, "they wait for one turn of the large job, not for all of it");
    while (take())
        end();
    cr_assert_eq(atomic_load(&large.done_calls), 1);
    cr_assert_eq(large.job.status, WEIR_OK);
}
