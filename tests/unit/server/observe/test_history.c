#include "server/observe/history.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/observe/metrics.h"

static struct bytes page;

static void release(void) {
    bytes_release(&page);
}

TestSuite(history, .fini = release);

/* What is written of the points after number `after`. */
static const char *written(struct history *history, uint64_t after, uint64_t *last) {
    page.size = 0;
    *last = history_write(history, after, &page);
    bytes_append(&page, "", 1);
    return page.data;
}

static int count(const char *text, const char *what) {
    int found = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        found++;
    return found;
}

static void add(struct history *history, int from, int to) {
    const struct metrics_totals nothing = {.duration.bound_count = 0};
    struct history_point point;
    for (int i = from; i < to; i++) {
        history_measure(&nothing, 1000000000, &point);
        point.unix_ms = 1000000 + i;
        history_add(history, &point);
    }
}

Test(history, an_empty_one_is_written_as_empty_columns) {
    struct history *history = history_create();
    uint64_t last;
    const char *text = written(history, 0, &last);
    cr_assert_eq(last, 0);
    cr_assert_not_null(strstr(text, "{\"seq\":0,\"t\":[],\"interval_ms\":[],\"ok\":[]"), "%s", text);
    cr_assert_not_null(strstr(text, "\"batch_rows\":[]}"));
    history_destroy(history);
}

Test(history, points_are_written_as_columns_and_what_is_not_known_as_null) {
    struct history *history = history_create();
    uint64_t last;
    add(history, 1, 3);
    const char *text = written(history, 0, &last);
    cr_assert_eq(last, 2);
    cr_assert_not_null(strstr(text, "\"t\":[1000001,1000002],\"interval_ms\":[1000,1000],\"ok\":[0,0]"), "%s", text);
    cr_assert_not_null(strstr(text, "\"p99_us\":[null,null]"));
    cr_assert_not_null(strstr(text, "\"gpu_permille\":[null,null]"));
    cr_assert_not_null(strstr(text, "\"batch_rows\":[[0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0,0]]}"));
    history_destroy(history);
}

Test(history, only_what_came_after_a_number_is_written) {
    struct history *history = history_create();
    uint64_t last;
    add(history, 1, 6);
    cr_assert_not_null(strstr(written(history, 4, &last), "{\"seq\":5,\"t\":[1000005],"));
    cr_assert_not_null(strstr(written(history, 5, &last), "{\"seq\":5,\"t\":[],"));
    cr_assert_not_null(strstr(written(history, 99, &last), "{\"seq\":5,\"t\":[],"));
    history_destroy(history);
}

Test(history, the_oldest_make_room_for_new_ones) {
    struct history *history = history_create();
    uint64_t last;
    add(history, 0, HISTORY_POINTS + 7);
    const char *text = written(history, 0, &last);
    cr_assert_eq(last, HISTORY_POINTS + 7);
    cr_assert_not_null(strstr(text, "\"t\":[1000007,1000008,"), "%.60s", text);
    cr_assert_eq(count(text, "[0,0,0,0,0,0,0,0,0,0,0,0]"), HISTORY_POINTS);
    history_destroy(history);
}

Test(history, a_point_has_what_was_counted) {
    struct metrics *metrics = metrics_create(1);
    struct metrics_shard *shard = metrics_shard(metrics, 0);
    int model = metrics_model(metrics, "a", 1);
    for (int i = 0; i < 10; i++)
        metrics_count_request(shard, ROUTE_PREDICT, 200, REASON_OK, model, 2000000);
    metrics_count_request(shard, ROUTE_PREDICT, 503, REASON_FULL, model, 1000);
    metrics_count_queue_delay(shard, model, 300000);
    metrics_count_batch(shard, model, 1, 1000000);
    metrics_count_batch(shard, model, 3, 1000000);
    metrics_count_batch(shard, model, 5000, 1000000);
    metrics_count_answer(shard, model, 70, 1000, 1000);
    metrics_count_wasted(shard, 2, 1000);
    struct metrics_totals totals;
    struct history_point point;
    metrics_totals_read(metrics, &totals);
    history_measure(&totals, 500000000, &point);
    cr_assert_eq(point.interval_ms, 500);
    cr_assert_eq(point.ok, 10);
    cr_assert_eq(point.refused, 1);
    cr_assert_eq(point.rows, 72, "what was computed for no prediction is not among them");
    cr_assert_eq(point.wasted, 2);
    cr_assert_eq(point.batches, 3);
    cr_assert_eq(point.batch_rows[0], 1);
    cr_assert_eq(point.batch_rows[2], 1);
    cr_assert_eq(point.batch_rows[HISTORY_BUCKETS - 1], 1);
    cr_assert(point.p50_us >= 1000 && point.p50_us <= 2500, "%u", point.p50_us);
    cr_assert(point.queue_p99_us >= 250 && point.queue_p99_us <= 500, "%u", point.queue_p99_us);
    cr_assert_eq(point.capacity, HISTORY_UNKNOWN);
    metrics_destroy(metrics);
}

Test(history, a_figure_is_rounded_and_what_is_none_is_unknown) {
    cr_assert_eq(history_figure(0.4), 0);
    cr_assert_eq(history_figure(1.5), 2);
    cr_assert_eq(history_figure(1e30), HISTORY_UNKNOWN - 1);
    cr_assert_eq(history_figure(NAN), HISTORY_UNKNOWN);
    cr_assert_eq(history_figure(INFINITY), HISTORY_UNKNOWN);
    cr_assert_eq(history_figure(-1), HISTORY_UNKNOWN);
}

Test(history, the_last_bucket_has_no_bound) {
    cr_assert_eq(history_bound(0), 1);
    cr_assert_gt(history_bound(HISTORY_BUCKETS - 2), history_bound(HISTORY_BUCKETS - 3));
    cr_assert_eq(history_bound(HISTORY_BUCKETS - 1), 0);
}
