#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/metrics.h"
#include "tests/fakes/promtool.h"

static int model;

static const struct metrics_gauges gauges = {
    .device = "cpu",
    .device_reason = "no \"cuda\" here\\\n",
    .device_description = "a \xFF caf\xC3\xA9",
    .ready = true,
    .in_flight_requests = 4,
    .queued_requests = 3,
    .queued_rows = 9,
    .body_bytes = 12345,
    .connections = 6,
    .max_concurrency = 64,
    .batch_size = 32,
    .start_time_seconds = 1767323045.25,
};

/* Some of everything. */
static struct metrics *make(void) {
    struct metrics *metrics = metrics_create(3);
    model = metrics_model(metrics, "di\"gits", 3);
    for (int i = 0; i < 100; i++) {
        struct metrics_shard *shard = metrics_shard(metrics, i % 2);
        metrics_count_connection(shard, false);
        metrics_count_request(shard, ROUTE_PREDICT, i % 9 ? 200 : 503, i % 9 ? REASON_OK : REASON_FULL, model,
                              i * 70000);
        metrics_count_request(shard, i % 2 ? ROUTE_HEALTH : ROUTE_METRICS, 200, REASON_OK, 0, i * 1000);
        metrics_count_queue_delay(metrics_shard(metrics, 2), model, i * 10000);
        metrics_count_batch(metrics_shard(metrics, 2), model, (uint32_t)i % 32 + 1, i * 20000);
    }
    return metrics;
}

static char *render(struct metrics *metrics, const struct metrics_gauges *values) {
    struct bytes page = {0};
    metrics_render(metrics, values, &page);
    bytes_append(&page, "", 1);
    cr_assert_not(page.failed);
    return page.data;
}

static void assert_line(const char *page, const char *line) {
    char wanted[300];
    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    cr_assert_not_null(strstr(page, wanted), "%s", line);
}

Test(metrics_render, prints_every_gauge) {
    struct metrics *metrics = make();
    char *page = render(metrics, &gauges);
    assert_line(page, "weir_ready 1");
    assert_line(page, "weir_in_flight_requests 4");
    assert_line(page, "weir_max_concurrency 64");
    assert_line(page, "weir_queued_requests 3");
    assert_line(page, "weir_queued_rows 9");
    assert_line(page, "weir_batch_size_limit 32");
    assert_line(page, "weir_body_bytes_in_flight 12345");
    assert_line(page, "weir_connections 6");
    assert_line(page, "process_start_time_seconds 1767323045.25");
    const char *const measured[] = {"\nprocess_resident_memory_bytes ", "\nprocess_open_fds ", "\nprocess_max_fds ",
                                    "\nprocess_cpu_seconds_total ", "\nweir_log_lines_dropped_total "};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        cr_assert_not_null(strstr(page, measured[i]), "%s", measured[i]);
    free(page);
    metrics_destroy(metrics);
}

Test(metrics_render, label_values_are_escaped) {
    struct metrics *metrics = make();
    char *page = render(metrics, &gauges);
    assert_line(page, "weir_device_info{device=\"cpu\",reason=\"no \\\"cuda\\\" here\\\\\\n\",description=\"a ? "
                      "caf\xC3\xA9\"} 1");
    assert_line(page, "weir_batch_rows_count{model=\"di\\\"gits\",version=\"3\"} 100");
    free(page);
    metrics_destroy(metrics);
}

Test(metrics_render, prints_a_page_before_anything_happened) {
    struct metrics *metrics = metrics_create(1);
    char *page = render(metrics, &(struct metrics_gauges){0});
    cr_assert_null(strstr(page, "\nweir_requests_total{"));
    assert_line(page, "weir_ready 0");
    free(page);
    model = metrics_model(metrics, "digits", 1);
    page = render(metrics, &gauges);
    assert_line(page, "weir_batch_rows_count{model=\"digits\",version=\"1\"} 0");
    free(page);
    metrics_destroy(metrics);
}

/* Each family: HELP, TYPE, then all its series, and no family twice. */
Test(metrics_render, families_are_whole_and_described) {
    struct metrics *metrics = make();
    char *page = render(metrics, &gauges);
    char family[100] = "", seen[4000] = "";
    int families = 0;
    for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n")) {
        char name[110];
        if (strncmp(line, "# HELP ", 7) == 0) {
            cr_assert_eq(sscanf(line + 7, "%99s", family), 1);
            snprintf(name, sizeof name, " %s ", family);
            cr_assert_null(strstr(seen, name), "%s", family);
            strcat(seen, name);
            families++;
            char type[200];
            line = strtok(NULL, "\n");
            snprintf(type, sizeof type, "# TYPE %s ", family);
            cr_assert_eq(strncmp(line, type, strlen(type)), 0, "%s", line);
        } else {
            cr_assert_eq(strncmp(line, family, strlen(family)), 0, "%s", line);
        }
    }
    cr_assert(families >= 20);
    free(page);
    metrics_destroy(metrics);
}

Test(metrics_render, promtool_finds_nothing_to_say) {
    if (!promtool_is_there())
        cr_skip("promtool is missing");
    struct metrics *metrics = make();
    char *page = render(metrics, &gauges);
    cr_assert(promtool_agrees(page));
    free(page);
    metrics_destroy(metrics);
}
