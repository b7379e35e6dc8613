#include <criterion/criterion.h>

#include "engine/batch/job_list.h"

static struct job job_of(uint32_t rows) {
    return (struct job){.dims.rows = rows};
}

Test(job_list, jobs_stay_in_order_of_arrival) {
    struct job_list list = {.batch_rows = 8};
    struct job jobs[3] = {job_of(1), job_of(2), job_of(3)};
    for (int i = 0; i < 3; i++)
        job_list_append(&list, &jobs[i]);
    job_list_remove(&list, &jobs[1]);
    cr_assert_eq(list.first, &jobs[0]);
    cr_assert_eq(list.first->next, &jobs[2]);
    cr_assert_eq(list.last->prev, &jobs[0]);
    cr_assert(jobs[0].queued && jobs[2].queued && !jobs[1].queued);
}

Test(job_list, it_counts_jobs_rows_and_turns) {
    struct job_list list = {.batch_rows = 8};
    struct job small = job_of(3), large = job_of(20);
    job_list_append(&list, &small);
    job_list_append(&list, &large);
    cr_assert_eq(list.jobs, 2);
    cr_assert_eq(list.rows, 23);
    cr_assert_eq(list.turn_rows, 3 + 8);
    job_list_remove(&list, &small);
    job_list_remove(&list, &large);
    cr_assert(list.jobs == 0 && list.rows == 0 && list.turn_rows == 0 && !list.first && !list.last);
}

Test(job_list, rows_that_a_device_has_do_not_count) {
    struct job_list list = {.batch_rows = 8};
    struct job large = job_of(20);
    large.rows_taken = 16;
    job_list_append(&list, &large);
    cr_assert_eq(list.rows, 4);
    cr_assert_eq(list.turn_rows, 4);
}
