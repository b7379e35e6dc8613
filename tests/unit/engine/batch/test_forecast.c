#include "engine/batch/forecast.h"

#include <criterion/criterion.h>

#include "engine/clock.h"

enum { LARGEST = 32 };

static struct cost_model costs;
static int64_t free_ns[2];
static struct forecast_state state;
static struct forecast forecast;

/* t(rows) = 2 ms + 0.25 ms * rows */
static int64_t t(uint32_t rows) {
    return 2000000 + 250000 * (int64_t)rows;
}

static void setup(void) {
    cost_model_init(&costs, LARGEST);
    cost_model_learn(&costs, 1, t(1));
    cost_model_learn(&costs, LARGEST, t(LARGEST));
    free_ns[0] = free_ns[1] = 0;
    state = (struct forecast_state){
        .costs = &costs, .now_ns = 1000000000, .free_ns = free_ns, .device_count = 1, .batch_rows = LARGEST};
}

TestSuite(forecast, .init = setup);

static void assert_done_in(int64_t wanted_ns) {
    int64_t got_ns = forecast.done_ns - state.now_ns;
    cr_assert(got_ns > wanted_ns - 2000 && got_ns < wanted_ns + 2000, "done in %lld ns, wanted %lld", (long long)got_ns,
              (long long)wanted_ns);
}

Test(forecast, an_idle_device_begins_at_once) {
    forecast_make(&state, 1, &forecast);
    cr_assert_eq(forecast.wait_ns, 0);
    assert_done_in(t(1));
}

Test(forecast, a_job_waits_for_the_running_batch) {
    free_ns[0] = state.now_ns + 5000000;
    forecast_make(&state, 1, &forecast);
    cr_assert_eq(forecast.wait_ns, 5000000);
    assert_done_in(5000000 + t(1));
}

Test(forecast, full_batches_ahead_count_as_full) {
    state.queued_rows = 2 * LARGEST + 3;
    forecast_make(&state, 1, &forecast);
    cr_assert_float_eq((double)forecast.wait_ns, 2.0 * (double)t(LARGEST), 4000);
    assert_done_in(2 * t(LARGEST) + t(4));
}

Test(forecast, a_job_larger_than_a_batch_runs_on_in_its_own) {
    forecast_make(&state, 2 * LARGEST + 5, &forecast);
    cr_assert_eq(forecast.wait_ns, 0);
    assert_done_in(2 * t(LARGEST) + t(5));
}

Test(forecast, arrivals_fill_the_batch_while_it_waits) {
    free_ns[0] = state.now_ns + 5000000;
    state.arrival_rate = 2.0 / 1e6; /* two rows in a millisecond: ten more by then */
    forecast_make(&state, 1, &forecast);
    assert_done_in(5000000 + t(11));
    state.arrival_rate = 1;
    forecast_make(&state, 1, &forecast);
    assert_done_in(5000000 + t(LARGEST));
}

Test(forecast, several_devices_share_the_batches_ahead) {
    state.device_count = 2;
    state.queued_rows = 4 * LARGEST;
    forecast_make(&state, 1, &forecast);
    assert_done_in(2 * t(LARGEST) + t(1));
}

Test(forecast, the_device_that_is_free_first_takes_it) {
    state.device_count = 2;
    free_ns[0] = state.now_ns + 9000000;
    free_ns[1] = state.now_ns + 1000000;
    forecast_make(&state, 1, &forecast);
    cr_assert_eq(forecast.wait_ns, 1000000);
    assert_done_in(1000000 + t(1));
}

Test(forecast, sizes_that_nothing_is_known_of_are_always_tried) {
    struct forecast_trials trials = {0};
    for (int i = 0; i < 100; i++)
        cr_assert(forecast_try(&trials, false, i * CLOCK_NS_PER_MS));
}

Test(forecast, of_many_refused_jobs_one_a_second_is_tried_and_may_ask_twice) {
    struct forecast_trials trials = {0};
    int64_t begin_ns = 100 * CLOCK_NS_PER_S;
    int tried = 0, tries[3];
    for (int ms = 0; ms < 2900; ms += 10)
        if (forecast_try(&trials, true, begin_ns + (int64_t)ms * CLOCK_NS_PER_MS) &&
            (tried == 0 || ms > tries[tried - 1] + 100))
            tries[tried++] = ms;
    cr_assert_eq(tried, 3, "%d", tried);
    cr_assert(tries[0] == 80 && tries[1] == 1080 && tries[2] == 2080, "%d %d %d", tries[0], tries[1], tries[2]);
    cr_assert(!forecast_try(&trials, true, begin_ns + (int64_t)2900 * CLOCK_NS_PER_MS));
}
