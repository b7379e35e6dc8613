/* The page of metrics. */
#include <inttypes.h>
#include <stdio.h>

#include "server/observe/exposition.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/metrics_shard.h"
#include "server/observe/process_stats.h"

/* `model="...",version="..."`, ended by NUL; in labels until the next call. */
static const char *model_labels(const struct metrics *metrics, int model, struct bytes *labels) {
    labels->size = 0;
    if (model == MODEL_NONE) {
        bytes_text(labels, "model=\"\",version=\"\"");
    } else if (model == MODEL_OTHER) {
        bytes_text(labels, "model=\"other\",version=\"other\"");
    } else {
        bytes_text(labels, "model=\"");
        exposition_label(labels, metrics->names[model - MODEL_FIRST]);
        bytes_printf(labels, "\",version=\"%" PRIu64 "\"", metrics->versions[model - MODEL_FIRST]);
    }
    bytes_append(labels, "", 1);
    return labels->failed ? "" : labels->data;
}

static bool model_exists(const struct metrics *metrics, int model) {
    return model == MODEL_NONE || model == MODEL_OTHER || model < MODEL_FIRST + metrics->model_count;
}

/* Made with the lock on the names. */
struct page {
    const struct metrics *metrics;
    struct bytes labels, more;
    struct bytes *out;
};

/* Was anything counted in this era of the model? */
static bool used(const struct page *page, int model, const _Atomic uint32_t *era) {
    return atomic_load_explicit(era, memory_order_acquire) ==
           atomic_load_explicit(&page->metrics->eras[model], memory_order_relaxed);
}

static void render_route_requests(struct page *page, int model, int route) {
    uint64_t totals[CODE_COUNT][REASON_COUNT] = {0};
    bool any = false;
    for (int s = 0; s < page->metrics->shard_count; s++) {
        const struct request_counts *counts = &page->metrics->shards[s]->requests[model][route];
        if (!used(page, model, &counts->era))
            continue;
        any = true;
        for (int code = 0; code < CODE_COUNT; code++)
            for (int reason = 0; reason < REASON_COUNT; reason++)
                totals[code][reason] += atomic_load_explicit(&counts->requests[code][reason], memory_order_relaxed);
    }
    if (!any)
        return;
    static const char *const codes[] = {
#define CODE_TEXT(code) #code,
        CODE_LIST(CODE_TEXT)
#undef CODE_TEXT
            "other",
    };
    const char *labels = model_labels(page->metrics, model, &page->labels);
    for (int code = 0; code < CODE_COUNT; code++)
        for (int reason = 0; reason < REASON_COUNT; reason++)
            if (totals[code][reason] > 0)
                bytes_printf(page->out, "weir_requests_total{%s,route=\"%s\",code=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
                             labels, route_text(route), codes[code], reason_text(reason), totals[code][reason]);
}

static void render_requests(struct page *page) {
    exposition_head(page->out, "weir_requests_total", "counter",
                    "Requests, each counted once; code 499: the client was gone and no answer was sent.");
    for (int model = 0; model < MODEL_COUNT; model++)
        for (int route = 0; model_exists(page->metrics, model) && route < ROUTE_COUNT; route++)
            render_route_requests(page, model, route);
}

/* The labels of a model with more behind them. */
static const char *with_more(struct page *page, int model, const char *more) {
    page->more.size = 0;
    bytes_printf(&page->more, "%s%s", model_labels(page->metrics, model, &page->labels), more);
    bytes_append(&page->more, "", 1);
    return page->more.failed ? "" : page->more.data;
}

/* One histogram of every model, also before its first batch. */
static void render_model_histogram(struct page *page, const char *name, const char *more, size_t offset,
                                   const double *bounds, int bound_count) {
    struct histogram_texts texts;
    histogram_write_texts(bounds, bound_count, &texts);
    for (int model = MODEL_FIRST; model < MODEL_COUNT; model++) {
        struct histogram_total total = {.bounds = bounds, .bound_count = bound_count};
        bool any = model != MODEL_OTHER;
        if (!model_exists(page->metrics, model))
            continue;
        for (int s = 0; s < page->metrics->shard_count; s++) {
            const struct model_counts *counts = &page->metrics->shards[s]->models[model];
            if (!used(page, model, &counts->era))
                continue;
            any = true;
            histogram_collect((const struct histogram *)((const char *)counts + offset), &total);
        }
        if (any)
            histogram_render(&total, &texts, name, with_more(page, model, more), page->out);
    }
}

static void render_counters(struct page *page) {
    static const struct {
        const char *name, *help;
        size_t offset;
        double unit;
    } counters[] = {
        {"weir_accepted_connections_total", "Connections accepted, those that were refused then included.",
         offsetof(struct metrics_shard, connections), 1},
        {"weir_refused_connections_total", "Connections above max_connections: told so with 503, or closed.",
         offsetof(struct metrics_shard, refused_connections), 1},
        {"weir_good_rows_total", "Rows of predictions that were answered in time.",
         offsetof(struct metrics_shard, good_rows), 1},
        {"weir_wasted_rows_total", "Rows computed for nothing: the answer was late, or its client gone.",
         offsetof(struct metrics_shard, wasted_rows), 1},
        {"weir_wasted_compute_seconds_total", "Computing of these rows: their share of their batch's time.",
         offsetof(struct metrics_shard, wasted_ns), 1e-9},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        uint64_t sum = 0;
        for (int s = 0; s < page->metrics->shard_count; s++)
            sum += atomic_load_explicit(
                (const _Atomic uint64_t *)((const char *)page->metrics->shards[s] + counters[i].offset),
                memory_order_relaxed);
        exposition_single(page->out, counters[i].name, "counter", counters[i].help, (double)sum * counters[i].unit);
    }
    exposition_single(page->out, "weir_log_lines_dropped_total", "counter",
                      "Log lines lost because the sink was full or broken.", (double)log_dropped());
}

static void render_gauges(const struct metrics_gauges *gauges, struct bytes *out) {
    exposition_single(out, "weir_ready", "gauge", "1 while the readiness route answers 200.", gauges->ready);
    exposition_single(out, "weir_config_last_reload_successful", "gauge", "0 after a reload that was refused.",
                      !gauges->reload_refused);
    exposition_single(out, "weir_config_last_reload_success_timestamp_seconds", "gauge",
                      "Unix time of the start, or of the last reload that applied.", gauges->configured_seconds);
    exposition_single(out, "weir_device_fallback", "gauge", "1 if the CPU stands in for a GPU (device: auto).",
                      gauges->device_fell_back);
    exposition_single(out, "weir_in_flight_requests", "gauge", "Requests that hold a slot of max_concurrency.",
                      (double)gauges->in_flight_requests);
    exposition_single(out, "weir_max_concurrency", "gauge", "Slots there are (max_concurrency).",
                      (double)gauges->max_concurrency);
    exposition_single(out, "weir_queued_requests", "gauge", "Requests waiting for a batch.",
                      (double)gauges->queued_requests);
    exposition_single(out, "weir_queued_rows", "gauge", "Rows waiting for a batch.", (double)gauges->queued_rows);
    exposition_single(out, "weir_batch_size_limit", "gauge", "Most rows of one batch (batch_size).",
                      (double)gauges->batch_size);
    exposition_single(out, "weir_batch_cost_base_seconds", "gauge",
                      "What a batch is expected to take, whatever its rows.", gauges->cost_base_seconds);
    exposition_single(out, "weir_batch_cost_row_seconds", "gauge", "What each row of a batch is expected to add.",
                      gauges->cost_row_seconds);
    exposition_single(out, "weir_batch_cost_deviation_seconds", "gauge",
                      "By how much that is wrong, on average, of late.", gauges->cost_deviation_seconds);
    exposition_single(out, "weir_body_bytes_in_flight", "gauge", "Bytes of request bodies held.",
                      (double)gauges->body_bytes);
    exposition_single(out, "weir_connections", "gauge", "Connections open.", (double)gauges->connections);
}

static void render_info(const struct metrics_gauges *gauges, struct bytes *out) {
    exposition_head(out, "weir_device_info", "gauge", "The device that runs the model, and why this one.");
    bytes_text(out, "weir_device_info{device=\"");
    exposition_label(out, gauges->device);
    bytes_text(out, "\",reason=\"");
    exposition_label(out, gauges->device_reason);
    bytes_text(out, "\",description=\"");
    exposition_label(out, gauges->device_description);
    bytes_text(out, "\"} 1\n");
    exposition_head(out, "weir_build_info", "gauge", "The version of this program.");
    bytes_text(out, "weir_build_info{version=\"" WEIR_VERSION "\"} 1\n");
}

static void render_process(const struct metrics_gauges *gauges, struct bytes *out) {
    struct process_stats stats = process_stats_read();
    exposition_single(out, "process_start_time_seconds", "gauge", "Start of the process, in seconds of Unix time.",
                      gauges->start_time_seconds);
    if (stats.cpu_seconds >= 0)
        exposition_single(out, "process_cpu_seconds_total", "counter", "User and system CPU time of the process.",
                          stats.cpu_seconds);
    if (stats.resident_bytes >= 0)
        exposition_single(out, "process_resident_memory_bytes", "gauge", "Resident memory of the process.",
                          stats.resident_bytes);
    if (stats.virtual_bytes >= 0)
        exposition_single(out, "process_virtual_memory_bytes", "gauge", "Address space of the process.",
                          stats.virtual_bytes);
    if (stats.threads >= 0)
        exposition_single(out, "weir_threads", "gauge", "Threads of the process.", stats.threads);
    if (stats.open_fds >= 0)
        exposition_single(out, "process_open_fds", "gauge", "Open file descriptors.", stats.open_fds);
    if (stats.max_fds >= 0)
        exposition_single(out, "process_max_fds", "gauge", "Most file descriptors the process may open.",
                          stats.max_fds);
}

void metrics_render(struct metrics *metrics, const struct metrics_gauges *gauges, struct bytes *out) {
    struct page page = {.metrics = metrics, .out = out};
    pthread_mutex_lock(&metrics->naming);
    render_requests(&page);
    exposition_head(
        out, "weir_request_duration_seconds", "histogram",
        "Time from the first byte of a prediction to the last byte of its answer, by the class of its code.");
    static const char *const classes[CLASS_COUNT] = {",class=\"2xx\"", NULL, ",class=\"4xx\"", ",class=\"5xx\""};
    for (int group = 0; group < CLASS_COUNT; group++)
        if (classes[group]) /* no prediction is redirected */
            render_model_histogram(&page, "weir_request_duration_seconds", classes[group],
                                   offsetof(struct model_counts, duration) + (size_t)group * sizeof(struct histogram),
                                   metrics_duration_bounds, DURATION_BOUNDS);
    exposition_head(out, "weir_parse_seconds", "histogram",
                    "Time from the first byte of an answered prediction until it is in the queue.");
    render_model_histogram(&page, "weir_parse_seconds", "", offsetof(struct model_counts, parse), metrics_delay_bounds,
                           DELAY_BOUNDS);
    exposition_head(out, "weir_encode_seconds", "histogram",
                    "Time from the results of an answered prediction until they are written as its answer.");
    render_model_histogram(&page, "weir_encode_seconds", "", offsetof(struct model_counts, encode),
                           metrics_delay_bounds, DELAY_BOUNDS);
    exposition_head(out, "weir_queue_delay_seconds", "histogram", "Time from submission to the first batch.");
    render_model_histogram(&page, "weir_queue_delay_seconds", "", offsetof(struct model_counts, queue_delay),
                           metrics_delay_bounds, DELAY_BOUNDS);
    exposition_head(out, "weir_batch_rows", "histogram",
                    "Rows of each batch that ran, also those of samples and of a shadow's copies.");
    render_model_histogram(&page, "weir_batch_rows", "", offsetof(struct model_counts, batch_rows), metrics_rows_bounds,
                           ROWS_BOUNDS);
    exposition_head(out, "weir_batch_compute_seconds", "histogram", "Time of each batch on the device.");
    render_model_histogram(&page, "weir_batch_compute_seconds", "", offsetof(struct model_counts, batch_compute),
                           metrics_delay_bounds, DELAY_BOUNDS);
    exposition_head(out, "weir_admission_estimate_error_seconds", "histogram",
                    "By how much requests were done earlier or later than admission expected.");
    render_model_histogram(&page, "weir_admission_estimate_error_seconds", ",direction=\"early\"",
                           offsetof(struct model_counts, early), metrics_delay_bounds, DELAY_BOUNDS);
    render_model_histogram(&page, "weir_admission_estimate_error_seconds", ",direction=\"late\"",
                           offsetof(struct model_counts, late), metrics_delay_bounds, DELAY_BOUNDS);
    pthread_mutex_unlock(&metrics->naming);
    render_counters(&page);
    render_gauges(gauges, out);
    render_info(gauges, out);
    render_process(gauges, out);
    out->failed = out->failed || page.labels.failed || page.more.failed;
    bytes_release(&page.labels);
    bytes_release(&page.more);
}
