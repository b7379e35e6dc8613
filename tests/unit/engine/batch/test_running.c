#include <criterion/criterion.h>

#include "engine/batch/running.h"

Test(running, a_batch_waits_for_the_one_before_it) {
    struct running running = {.count = 0};
    int64_t over_ns;
    running_begin(&running, 100, 10);
    running_begin(&running, 105, 20);
    cr_assert_eq(running_free_ns(&running, 106, &over_ns), 130);
    cr_assert_eq(over_ns, 0);
    cr_assert_eq(running_end(&running, 100, 112), 12);
    cr_assert_eq(running_free_ns(&running, 112, &over_ns), 132);
    cr_assert_eq(running_end(&running, 105, 130), 18, "it began when the first one had ended");
    cr_assert_eq(running.count, 0);
}

Test(running, a_batch_that_runs_over_its_time_takes_as_much_again) {
    struct running running = {.count = 0};
    int64_t over_ns;
    running_begin(&running, 0, 10);
    cr_assert_eq(running_free_ns(&running, 30, &over_ns), 50);
    cr_assert_eq(over_ns, 20);
}
