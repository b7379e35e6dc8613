#include "server/observe/metrics.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int model;

static const struct metrics_gauges no_gauges = {.device = "cpu", .device_reason = "", .device_description = ""};

/* The value of the series that begins with `series`; -1 if the page has none. */
static double value_of(struct metrics *metrics, const char *series) {
    struct bytes page = {0};
    metrics_render(metrics, &no_gauges, &page);
    bytes_append(&page, "", 1);
    double value = -1;
    size_t size = strlen(series);
    for (char *line = strtok(page.data, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, series, size) == 0 && line[size] == ' ')
            value = atof(line + size);
    bytes_release(&page);
    return value;
}

static int series_count(struct metrics *metrics) {
    struct bytes page = {0};
    metrics_render(metrics, &no_gauges, &page);
    bytes_append(&page, "", 1);
    int count = 0;
    for (char *line = strtok(page.data, "\n"); line; line = strtok(NULL, "\n"))
        count += line[0] != '#';
    bytes_release(&page);
    return count;
}

Test(metrics, requests_of_all_shards_add_up) {
    struct metrics *metrics = metrics_create(3);
    model = metrics_model(metrics, "digits", 7);
    for (int i = 0; i < 3; i++)
        metrics_count_request(metrics_shard(metrics, i), ROUTE_PREDICT, 200, REASON_OK, model, 1000000);
    metrics_count_request(metrics_shard(metrics, 0), ROUTE_PREDICT, 503, REASON_FULL, model, 1000);
    metrics_count_request(metrics_shard(metrics, 0), ROUTE_OTHER, 404, REASON_NOT_FOUND, 0, 1000);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"digits\",version=\"7\",route=\"/predict\",code=\"200\","
                                   "reason=\"ok\"}"),
                 3);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"digits\",version=\"7\",route=\"/predict\",code=\"503\","
                                   "reason=\"full\"}"),
                 1);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"\",version=\"\",route=\"other\",code=\"404\","
                                   "reason=\"not_found\"}"),
                 1);
    cr_assert_float_eq(
        value_of(metrics, "weir_request_duration_seconds_sum{model=\"digits\",version=\"7\",class=\"2xx\"}"), 0.003,
        1e-12);
    cr_assert_eq(value_of(metrics, "weir_request_duration_seconds_count{model=\"digits\",version=\"7\",class=\"5xx\"}"),
                 1);
    metrics_destroy(metrics);
}

Test(metrics, every_code_counts_once) {
    const int codes[] = {200, 204, 400, 404, 405, 408, 413, 414, 415, 417, 429, 431, 499, 500, 501, 503, 504, 505};
    struct metrics *metrics = metrics_create(1);
    struct metrics_shard *shard = metrics_shard(metrics, 0);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        metrics_count_request(shard, ROUTE_HEALTH, codes[i], REASON_OK, 0, 0);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char series[200];
        snprintf(series, sizeof series,
                 "weir_requests_total{model=\"\",version=\"\",route=\"/health\",code=\"%d\",reason=\"ok\"}", codes[i]);
        cr_assert_eq(value_of(metrics, series), 1, "%d", codes[i]);
    }
    metrics_destroy(metrics);
}

Test(metrics, what_is_outside_the_lists_falls_into_them) {
    struct metrics *metrics = metrics_create(1);
    struct metrics_shard *shard = metrics_shard(metrics, 0);
    metrics_count_request(shard, ROUTE_HEALTH, 418, REASON_OK, 0, 0);
    metrics_count_request(shard, (enum route)77, -5, (enum reason)77, 0, -1);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"\",version=\"\",route=\"/health\",code=\"other\","
                                   "reason=\"ok\"}"),
                 1);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"\",version=\"\",route=\"other\",code=\"other\","
                                   "reason=\"internal\"}"),
                 1);
    metrics_destroy(metrics);
}

Test(metrics, series_keep_the_version_they_were_counted_under) {
    struct metrics *metrics = metrics_create(1);
    struct metrics_shard *shard = metrics_shard(metrics, 0);
    metrics_count_request(shard, ROUTE_PREDICT, 503, REASON_NOT_READY, model, 0);
    model = metrics_model(metrics, "digits", 1);
    metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, 0);
    metrics_count_batch(shard, model, 3, 1000);
    model = metrics_model(metrics, "digits", 2);
    metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, 0);
    model = metrics_model(metrics, "digits", 1); /* rolled back */
    metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, 0);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"\",version=\"\",route=\"/predict\",code=\"503\","
                                   "reason=\"not_ready\"}"),
                 1);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"digits\",version=\"1\",route=\"/predict\",code=\"200\","
                                   "reason=\"ok\"}"),
                 2);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"digits\",version=\"2\",route=\"/predict\",code=\"200\","
                                   "reason=\"ok\"}"),
                 1);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_sum{model=\"digits\",version=\"1\"}"), 3);
    metrics_destroy(metrics);
}

Test(metrics, versions_beyond_the_table_share_one_label) {
    struct metrics *metrics = metrics_create(1);
    struct metrics_shard *shard = metrics_shard(metrics, 0);
    for (uint64_t version = 1; version <= METRICS_MAX_MODELS + 8; version++) {
        model = metrics_model(metrics, "digits", version);
        metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, 0);
    }
    cr_assert_eq(value_of(metrics,
                          "weir_requests_total{model=\"digits\",version=\"128\",route=\"/predict\",code=\"200\","
                          "reason=\"ok\"}"),
                 1);
    cr_assert_eq(value_of(metrics, "weir_requests_total{model=\"other\",version=\"other\",route=\"/predict\","
                                   "code=\"200\",reason=\"ok\"}"),
                 8);
    int before = series_count(metrics);
    for (uint64_t version = 1; version <= 1000; version++) {
        model = metrics_model(metrics, "digits", version);
        metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, 0);
    }
    cr_assert_eq(series_count(metrics), before);
    metrics_destroy(metrics);
}

static double answered(struct metrics *metrics, uint64_t version) {
    char series[160];
    snprintf(series, sizeof series,
             "weir_requests_total{model=\"digits\",version=\"%llu\",route=\"/predict\",code=\"200\",reason=\"ok\"}",
             (unsigned long long)version);
    return value_of(metrics, series);
}

Test(metrics, a_version_that_is_gone_makes_room_when_there_is_no_other) {
    struct metrics *metrics = metrics_create(2);
    struct metrics_shard *shard = metrics_shard(metrics, 0);
    int models[METRICS_MAX_MODELS + 3];
    for (int version = 1; version <= METRICS_MAX_MODELS; version++) {
        models[version] = metrics_model(metrics, "digits", (uint64_t)version);
        metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, models[version], 1000);
        metrics_count_batch(metrics_shard(metrics, 1), models[version], 3, 1000);
    }
    metrics_retire(metrics, 0); /* no version */
    metrics_retire(metrics, models[3]);
    metrics_retire(metrics, models[2]);
    metrics_retire(metrics, models[5]);
    cr_assert_eq(answered(metrics, 3), 1, "nobody needs its place yet");
    cr_assert_eq(metrics_model(metrics, "digits", 5), models[5], "it is back");
    for (int version = METRICS_MAX_MODELS + 1; version <= METRICS_MAX_MODELS + 2; version++) {
        models[version] = metrics_model(metrics, "digits", (uint64_t)version);
        cr_assert_eq(models[version], models[version == METRICS_MAX_MODELS + 1 ? 3 : 2], "the one longest gone first");
        metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, models[version], 1000);
        cr_assert_eq(answered(metrics, (uint64_t)version), 1, "it begins with nothing");
    }
    cr_assert_eq(answered(metrics, 3), -1);
    cr_assert_eq(answered(metrics, 2), -1);
    cr_assert_eq(answered(metrics, 5), 1);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_sum{model=\"digits\",version=\"129\"}"), 0);
    cr_assert_eq(
        value_of(metrics, "weir_request_duration_seconds_count{model=\"digits\",version=\"129\",class=\"2xx\"}"), 1);
    cr_assert_neq(metrics_model(metrics, "digits", 131), models[5]);
    cr_assert_eq(metrics_model(metrics, "digits", 132), metrics_model(metrics, "digits", 131), "all are in use: other");
    metrics_destroy(metrics);
}

Test(metrics, the_last_few_that_are_gone_keep_their_series) {
    struct metrics *metrics = metrics_create(1);
    int first = 0;
    for (uint64_t version = 1; version <= METRICS_KEPT_GONE; version++) {
        int number = metrics_model(metrics, "digits", version);
        first = version == 1 ? number : first;
        cr_assert(version == 1 || number != first);
        metrics_retire(metrics, number);
    }
    cr_assert_eq(metrics_model(metrics, "digits", METRICS_KEPT_GONE + 1), first);
    cr_assert_neq(metrics_model(metrics, "digits", METRICS_KEPT_GONE + 2), first);
    metrics_destroy(metrics);
}

Test(metrics, batches_and_queue_delays_have_histograms) {
    struct metrics *metrics = metrics_create(2);
    model = metrics_model(metrics, "m", 1);
    metrics_count_batch(metrics_shard(metrics, 0), model, 1, 1500000);
    metrics_count_batch(metrics_shard(metrics, 1), model, 32, 500000);
    metrics_count_batch(metrics_shard(metrics, 1), model, 5000, 500000);
    metrics_count_queue_delay(metrics_shard(metrics, 1), model, 40000);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_bucket{model=\"m\",version=\"1\",le=\"1\"}"), 1);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_bucket{model=\"m\",version=\"1\",le=\"16\"}"), 1);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_bucket{model=\"m\",version=\"1\",le=\"32\"}"), 2);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_bucket{model=\"m\",version=\"1\",le=\"1024\"}"), 2);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_bucket{model=\"m\",version=\"1\",le=\"+Inf\"}"), 3);
    cr_assert_eq(value_of(metrics, "weir_batch_rows_sum{model=\"m\",version=\"1\"}"), 5033);
    cr_assert_float_eq(value_of(metrics, "weir_batch_compute_seconds_sum{model=\"m\",version=\"1\"}"), 0.0025, 1e-12);
    cr_assert_eq(value_of(metrics, "weir_queue_delay_seconds_bucket{model=\"m\",version=\"1\",le=\"2.5e-05\"}"), 0);
    cr_assert_eq(value_of(metrics, "weir_queue_delay_seconds_bucket{model=\"m\",version=\"1\",le=\"5e-05\"}"), 1);
    metrics_destroy(metrics);
}

Test(metrics, an_answer_counts_its_parsing_and_its_encoding) {
    struct metrics *metrics = metrics_create(1);
    int id = metrics_model(metrics, "m", 1);
    metrics_count_answer(metrics_shard(metrics, 0), id, 3, 30000, 2000000);
    metrics_count_answer(metrics_shard(metrics, 0), id, 4, 30000, 2000000);
    cr_assert_eq(value_of(metrics, "weir_parse_seconds_bucket{model=\"m\",version=\"1\",le=\"2.5e-05\"}"), 0);
    cr_assert_eq(value_of(metrics, "weir_parse_seconds_bucket{model=\"m\",version=\"1\",le=\"5e-05\"}"), 2);
    cr_assert_eq(value_of(metrics, "weir_encode_seconds_bucket{model=\"m\",version=\"1\",le=\"0.001\"}"), 0);
    cr_assert_eq(value_of(metrics, "weir_encode_seconds_bucket{model=\"m\",version=\"1\",le=\"0.0025\"}"), 2);
    cr_assert_eq(value_of(metrics, "weir_good_rows_total"), 7);
    metrics_destroy(metrics);
}

Test(metrics, connections_and_wasted_rows_add_up) {
    struct metrics *metrics = metrics_create(2);
    metrics_count_connection(metrics_shard(metrics, 0), false);
    metrics_count_connection(metrics_shard(metrics, 1), true);
    metrics_count_wasted(metrics_shard(metrics, 0), 5, 250000000);
    metrics_count_wasted(metrics_shard(metrics, 1), 7, 1000000000);
    cr_assert_eq(value_of(metrics, "weir_accepted_connections_total"), 2);
    cr_assert_eq(value_of(metrics, "weir_refused_connections_total"), 1);
    cr_assert_eq(value_of(metrics, "weir_wasted_rows_total"), 12);
    cr_assert_eq(value_of(metrics, "weir_wasted_compute_seconds_total"), 1.25);
    metrics_destroy(metrics);
}
