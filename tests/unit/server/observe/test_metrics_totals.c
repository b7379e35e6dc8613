#include "server/observe/metrics_totals.h"

#include <criterion/criterion.h>

#include "server/observe/metrics.h"

static struct metrics_totals totals_of(struct metrics *metrics) {
    struct metrics_totals totals;
    metrics_totals_read(metrics, &totals);
    return totals;
}

Test(metrics_totals, predictions_of_all_shards_models_and_protocols_add_up_by_outcome) {
    struct metrics *metrics = metrics_create(2);
    int a = metrics_model(metrics, "a", 1), b = metrics_model(metrics, "b", 7);
    const struct {
        int code;
        enum metrics_outcome outcome;
    } cases[] = {{200, METRICS_OK},     {429, METRICS_REFUSED}, {503, METRICS_REFUSED},
                 {504, METRICS_LATE},   {400, METRICS_BAD},     {408, METRICS_BAD},
                 {500, METRICS_FAILED}, {599, METRICS_FAILED},  {499, METRICS_GONE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct metrics_totals before = totals_of(metrics);
        metrics_count_request(metrics_shard(metrics, 0), ROUTE_PREDICT, cases[i].code, REASON_OK, a, 1000);
        metrics_count_request(metrics_shard(metrics, 1), ROUTE_V2_INFER, cases[i].code, REASON_OK, b, 1000);
        metrics_count_request(metrics_shard(metrics, 1), ROUTE_V1_PREDICT, cases[i].code, REASON_OK, 0, 1000);
        struct metrics_totals counted = totals_of(metrics);
        metrics_totals_subtract(&counted, &before);
        for (int k = 0; k < METRICS_OUTCOMES; k++)
            cr_assert_eq(counted.outcomes[k], k == (int)cases[i].outcome ? 3 : 0, "%d as %d", cases[i].code, k);
    }
    metrics_destroy(metrics);
}

Test(metrics_totals, what_is_no_prediction_does_not_count) {
    struct metrics *metrics = metrics_create(1);
    metrics_count_request(metrics_shard(metrics, 0), ROUTE_METRICS, 200, REASON_OK, 0, 1000);
    metrics_count_request(metrics_shard(metrics, 0), ROUTE_UI, 200, REASON_OK, 0, 1000);
    cr_assert_eq(totals_of(metrics).outcomes[METRICS_OK], 0);
    metrics_destroy(metrics);
}

Test(metrics_totals, histograms_add_up_and_only_answers_have_a_duration) {
    struct metrics *metrics = metrics_create(2);
    int a = metrics_model(metrics, "a", 1), b = metrics_model(metrics, "b", 1);
    metrics_count_request(metrics_shard(metrics, 0), ROUTE_PREDICT, 200, REASON_OK, a, 2000000);
    metrics_count_request(metrics_shard(metrics, 1), ROUTE_PREDICT, 503, REASON_FULL, b, 2000000);
    metrics_count_queue_delay(metrics_shard(metrics, 0), b, 1000000);
    metrics_count_batch(metrics_shard(metrics, 1), a, 4, 3000000);
    metrics_count_batch(metrics_shard(metrics, 1), b, 8, 1000000);
    metrics_count_wasted(metrics_shard(metrics, 0), 5, 1000);
    metrics_count_answer(metrics_shard(metrics, 0), a, 3, 1000, 1000);
    metrics_count_answer(metrics_shard(metrics, 1), b, 4, 1000, 1000);
    struct metrics_totals totals = totals_of(metrics);
    cr_assert_eq(totals.good_rows, 7);
    cr_assert_float_eq(totals.duration.sum, 0.002, 1e-12);
    cr_assert_float_eq(totals.queue_delay.sum, 0.001, 1e-12);
    cr_assert_eq(totals.batch_rows.sum, 12);
    cr_assert_float_eq(totals.batch_compute.sum, 0.004, 1e-12);
    cr_assert_eq(totals.wasted_rows, 5);
    metrics_destroy(metrics);
}

Test(metrics_totals, a_version_that_made_room_takes_its_counts_away_and_nothing_becomes_negative) {
    struct metrics *metrics = metrics_create(1);
    int model = metrics_model(metrics, "a", 1);
    metrics_count_request(metrics_shard(metrics, 0), ROUTE_PREDICT, 200, REASON_OK, model, 1000);
    struct metrics_totals before = totals_of(metrics);
    metrics_retire(metrics, model);
    for (uint64_t version = 2; version < 2 + METRICS_KEPT_GONE; version++)
        metrics_retire(metrics, metrics_model(metrics, "a", version));
    struct metrics_totals counted = totals_of(metrics);
    cr_assert_eq(counted.outcomes[METRICS_OK], 0);
    metrics_totals_subtract(&counted, &before);
    cr_assert_eq(counted.outcomes[METRICS_OK], 0);
    cr_assert_eq(counted.duration.sum, 0);
    metrics_destroy(metrics);
}
