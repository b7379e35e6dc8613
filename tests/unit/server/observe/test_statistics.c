#include "server/observe/statistics.h"

#include <criterion/criterion.h>

static struct statistics *statistics;

static void setup(void) {
    statistics = statistics_create(3, 8);
    cr_assert_not_null(statistics);
    statistics_open(statistics, 1);
    statistics_open(statistics, 1);
}

static void teardown(void) {
    statistics_destroy(statistics);
}

TestSuite(statistics, .init = setup, .fini = teardown);

Test(statistics, a_batchs_times_count_once_for_each_of_its_requests) {
    const struct statistics_batch batch = {.input_ns = 1, .infer_ns = 20, .output_ns = 3};
    const struct statistics_request request = {
        .is_good = true, .whole_ns = 100, .queue_ns = 10, .input_ns = 1, .infer_ns = 20, .output_ns = 3};
    statistics_add_batch(statistics, 1, 2, &batch);
    statistics_add_request(statistics, 1, &request);
    statistics_add_request(statistics, 1, &request);
    struct statistics_totals totals = statistics_read(statistics, 1);
    cr_assert(totals.rows == 2 && totals.executions == 1 && totals.last_unix_ms > 0);
    cr_assert(totals.success.count == 2 && totals.success.ns == 200);
    cr_assert(totals.queue.count == 2 && totals.queue.ns == 20);
    cr_assert(totals.infer.count == 2 && totals.infer.ns == 40);
    cr_assert(totals.input.count == 2 && totals.output.ns == 6);
    struct statistics_batch sized = statistics_read_batch(statistics, 1, 2);
    cr_assert(sized.count == 1 && sized.infer_ns == 20 && sized.input_ns == 1 && sized.output_ns == 3);
    cr_assert_eq(statistics_read_batch(statistics, 1, 1).count, 0);
}

Test(statistics, a_tag_that_was_closed_begins_with_nothing) {
    const struct statistics_batch batch = {.input_ns = 1, .infer_ns = 20, .output_ns = 3};
    statistics_add_batch(statistics, 1, 8, &batch);
    statistics_add_request(statistics, 1, &(struct statistics_request){.is_good = true, .whole_ns = 5, .queue_ns = 1});
    statistics_add_request(statistics, 1, &(struct statistics_request){.whole_ns = 7});
    statistics_close(statistics, 1);
    statistics_close(statistics, 0); /* was never open */
    statistics_close(statistics, 7);
    statistics_open(statistics, 1);
    struct statistics_totals totals = statistics_read(statistics, 1);
    cr_assert(totals.rows == 0 && totals.executions == 0 && totals.last_unix_ms == 0);
    cr_assert(totals.success.count == 0 && totals.success.ns == 0 && totals.fail.count == 0 && totals.queue.ns == 0);
    cr_assert_eq(statistics_read_batch(statistics, 1, 8).count, 0);
    statistics_add_batch(statistics, 1, 8, &batch);
    statistics_open(statistics, 1); /* its like, loaded beside it */
    cr_assert_eq(statistics_read(statistics, 1).executions, 1);
}

Test(statistics, a_request_that_failed_moves_nothing_else) {
    statistics_add_request(statistics, 1, &(struct statistics_request){.whole_ns = 7, .infer_ns = 9});
    struct statistics_totals totals = statistics_read(statistics, 1);
    cr_assert(totals.fail.count == 1 && totals.fail.ns == 7);
    cr_assert(totals.success.count == 0 && totals.infer.count == 0 && totals.last_unix_ms == 0);
}

Test(statistics, what_is_out_of_bounds_is_nobodys) {
    const struct statistics_batch batch = {.infer_ns = 1};
    statistics_add_batch(statistics, 1, 9, &batch);
    statistics_add_batch(statistics, 2, 1, &batch);
    statistics_add_batch(statistics, 7, 1, &batch);
    statistics_add_request(statistics, -1, &(struct statistics_request){.is_good = true});
    cr_assert_eq(statistics_read(statistics, 1).executions, 0);
    cr_assert_eq(statistics_read(statistics, 2).executions, 0);
    cr_assert_eq(statistics_read_batch(statistics, 1, 9).count, 0);
    cr_assert_eq(statistics_most_rows(statistics), 8);
}
