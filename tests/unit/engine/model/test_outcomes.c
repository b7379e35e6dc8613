#include "engine/model/outcomes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static struct outcomes outcomes;
static struct outcomes_counts counts, earlier, between;

static void expect_near(double q, double wanted_ns) {
    double got = (double)outcomes_quantile(&counts, q);
    cr_assert(fabs(got / wanted_ns - 1) < 0.05, "quantile %.3f is %.0f, wanted %.0f", q, got, wanted_ns);
}

Test(outcomes, each_kind_is_counted_and_errors_have_no_latency) {
    outcomes_add(&outcomes, OUTCOME_GOOD, 1000);
    outcomes_add(&outcomes, OUTCOME_ERROR, 1000);
    outcomes_add(&outcomes, OUTCOME_ERROR | OUTCOME_NON_FINITE, 1000);
    outcomes_add(&outcomes, OUTCOME_NON_FINITE, 1000);
    outcomes_add(&outcomes, OUTCOME_LATE, 1000);
    outcomes_copy(&outcomes, &counts);
    cr_assert_eq(counts.requests, 5);
    cr_assert_eq(counts.errors, 2);
    cr_assert_eq(counts.non_finite, 2);
    cr_assert_eq(counts.late, 1);
    cr_assert_eq(counts.timed, 3);
    outcomes_reset(&outcomes);
    outcomes_copy(&outcomes, &counts);
    cr_assert_eq(counts.requests + counts.errors + counts.non_finite + counts.late + counts.timed, 0);
    cr_assert_eq(outcomes_quantile(&counts, 0.5), 0);
}

Test(outcomes, a_latency_is_found_again_within_five_percent) {
    for (double ns = 1000; ns < 1e11; ns *= 1.013) {
        outcomes_reset(&outcomes);
        outcomes_add(&outcomes, OUTCOME_GOOD, (int64_t)ns);
        outcomes_copy(&outcomes, &counts);
        expect_near(0.01, ns);
        expect_near(0.5, ns);
        expect_near(1, ns);
        cr_assert_eq(outcomes_above(&counts, (int64_t)(ns * 0.95)), 1, "%.0f", ns);
        cr_assert_eq(outcomes_above(&counts, (int64_t)(ns * 1.05)), 0, "%.0f", ns);
    }
}

Test(outcomes, what_no_bucket_holds_goes_to_the_first_or_the_last) {
    outcomes_add(&outcomes, OUTCOME_GOOD, 0);
    outcomes_add(&outcomes, OUTCOME_GOOD, -5);
    outcomes_add(&outcomes, OUTCOME_GOOD, INT64_MAX);
    outcomes_copy(&outcomes, &counts);
    cr_assert_eq(counts.buckets[0], 2);
    cr_assert_eq(counts.buckets[OUTCOMES_BUCKETS - 1], 1);
    cr_assert_gt(outcomes_quantile(&counts, 1), INT64_C(100000000000));
}

Test(outcomes, quantiles_are_those_of_the_numbers) {
    for (int i = 1; i <= 10000; i++)
        outcomes_add(&outcomes, OUTCOME_GOOD, i * INT64_C(1000));
    outcomes_copy(&outcomes, &counts);
    expect_near(0.5, 5e6);
    expect_near(0.9, 9e6);
    expect_near(0.99, 9.9e6);
    expect_near(1, 1e7);
    double above = (double)outcomes_above(&counts, 8000000);
    cr_assert(above > 1700 && above < 2300, "%.0f", above);
}

Test(outcomes, a_window_is_what_came_between_two_copies) {
    outcomes_add(&outcomes, OUTCOME_ERROR, 1000);
    outcomes_add(&outcomes, OUTCOME_GOOD, 1000000);
    outcomes_copy(&outcomes, &earlier);
    outcomes_add(&outcomes, OUTCOME_GOOD, 5000000);
    outcomes_copy(&outcomes, &counts);
    outcomes_since(&counts, &earlier, &between);
    cr_assert_eq(between.requests, 1);
    cr_assert_eq(between.errors, 0);
    cr_assert_eq(between.timed, 1);
    counts = between;
    expect_near(0.5, 5e6);
}

Test(outcomes, a_window_over_a_reset_is_empty_rather_than_huge) {
    outcomes_add(&outcomes, OUTCOME_GOOD, 1000000);
    outcomes_copy(&outcomes, &earlier);
    outcomes_reset(&outcomes);
    outcomes_copy(&outcomes, &counts);
    outcomes_since(&counts, &earlier, &between);
    cr_assert_eq(between.requests, 0);
    cr_assert_eq(between.timed, 0);
}

static void *add_many(void *unused) {
    for (int i = 0; i < 50000; i++)
        outcomes_add(&outcomes, i % 10 == 0 ? OUTCOME_ERROR : OUTCOME_GOOD, 1000 + i);
    return unused;
}

Test(outcomes, nothing_is_lost_when_threads_write_at_once) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    outcomes_copy(&outcomes, &counts);
    cr_assert_eq(counts.requests, 200000);
    cr_assert_eq(counts.errors, 20000);
    cr_assert_eq(counts.timed, 180000);
}
