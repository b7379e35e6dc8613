#include "engine/batch/spare.h"

#include <criterion/criterion.h>

#include "engine/clock.h"
#include "engine/model/cost_model.h"
#include "tests/fakes/fake_job.h"

enum { ROWS = 8, MANY = 16 };

static struct fake_job fakes[MANY];

/* A list of `count` jobs, submitted one a second from now_ns on. join_ns: of the last; the others are copies. */
static struct job_list list_of(int count, int64_t now_ns, int64_t join_ns) {
    struct job_list list = {.batch_rows = ROWS};
    for (int i = 0; i < count; i++) {
        fake_job_init(&fakes[i], 1, 0);
        fakes[i].job.is_spare = true;
        fakes[i].job.submitted_ns = now_ns + i * CLOCK_NS_PER_S;
        fakes[i].job.join_ns = i == count - 1 ? join_ns : INT64_MAX;
        job_list_append(&list, &fakes[i].job);
    }
    return list;
}

Test(spare, few_copies_wait_for_more_for_five_milliseconds) {
    struct job_list none = {.batch_rows = ROWS}, few = list_of(3, 70, INT64_MAX);
    cr_assert_eq(spare_due_ns(&none), INT64_MAX);
    cr_assert_eq(spare_due_ns(&few), 70 + 5 * CLOCK_NS_PER_MS);
}

Test(spare, many_copies_or_a_sample_among_them_wait_for_nothing) {
    struct job_list many = list_of(MANY, CLOCK_NS_PER_S, INT64_MAX);
    cr_assert_leq(spare_due_ns(&many), CLOCK_NS_PER_S);
    struct job_list sample = list_of(3, CLOCK_NS_PER_S, INT64_MAX - 1);
    cr_assert_leq(spare_due_ns(&sample), CLOCK_NS_PER_S);
}

Test(spare, those_whose_time_has_come_join_the_queue) {
    struct job_list queue = {.batch_rows = ROWS}, spare = list_of(3, 0, 500);
    cr_assert_eq(spare_join(&spare, &queue, 499, false), 500);
    cr_assert_eq(queue.jobs, 0);
    cr_assert_eq(spare_join(&spare, &queue, 500, false), INT64_MAX);
    cr_assert_eq(queue.first, &fakes[2].job);
    cr_assert_not(fakes[2].job.is_spare);
    cr_assert_eq(spare.jobs, 2);
    spare_join(&spare, &queue, 500, true);
    cr_assert_eq(queue.jobs, 3);
    cr_assert_eq(spare.jobs, 0);
}

Test(spare, only_copies_are_kept_short) {
    struct cost_model costs;
    cost_model_init(&costs, ROWS);
    struct job_list list = list_of(2, 0, 500);
    cr_assert_eq(spare_rows(list.first, &costs, ROWS), 1);
    cr_assert_eq(spare_rows(list.last, &costs, ROWS), ROWS);
    cost_model_learn(&costs, 1, 10000);
    cost_model_learn(&costs, ROWS, 45000);
    uint32_t rows = spare_rows(list.first, &costs, ROWS);
    cr_assert(rows == 2 || rows == 3, "%u", rows);
    cr_assert_eq(spare_rows(list.last, &costs, ROWS), ROWS);
}
