/* GET /metrics. */
#include <stdlib.h>

#include "engine/engine.h"
#include "server/api/api.h"
#include "server/api/media.h"
#include "server/http/listener.h"
#include "server/http/reply.h"
#include "server/observe/access_log.h"
#include "server/observe/exposition.h"
#include "server/observe/gpu_metrics.h"
#include "server/observe/metrics.h"
#include "server/observe/model_metrics.h"
#include "server/observe/traces.h"

static void put_states(const struct engine *engine, int count, struct bytes *body) {
    exposition_head(body, "weir_device_state", "gauge",
                    "1 for the state that the device is in; degraded: its last batch failed.");
    for (int i = 0; i < count; i++)
        for (enum backend_state state = BACKEND_OK; state < BACKEND_STATES; state++)
            bytes_printf(body, "weir_device_state{device=\"%d\",state=\"%s\"} %d\n", i, engine_device_state_text(state),
                         engine_device_state(engine, i) == state);
}

static void put_gpus(struct api *api, int count, struct bytes *body) {
    struct telemetry_reading gpus[TELEMETRY_MOST_GPUS];
    int known = 0;
    while (known < count && known < TELEMETRY_MOST_GPUS && engine_telemetry(api->engine, known, &gpus[known]))
        known++;
    gpu_metrics_render(gpus, known, body);
    if (api->triton_names)
        gpu_metrics_render_triton(gpus, known, body);
}

static void put_models(struct api *api, struct bytes *body) {
    int count = catalog_model_count(api->catalog), known = 0;
    struct catalog_model_view *views = calloc((size_t)count, sizeof *views);
    struct weir_error ignored;
    while (views && known < count && catalog_view(api->catalog, known, &views[known], &ignored) == WEIR_OK)
        known++;
    body->failed |= known < count;
    model_metrics_render(views, known, body);
    for (int i = 0; i < known; i++)
        catalog_view_release(&views[i]);
    free(views);
}

static void put_access_log(struct api *api, struct bytes *body) {
    struct access_log_counts counts = {.lines = 0};
    if (api->access_log)
        counts = access_log_counts(api->access_log);
    exposition_single(body, "weir_access_log_lines_total", "counter", "Lines of the access log that were written.",
                      (double)counts.lines);
    exposition_single(body, "weir_access_log_dropped_total", "counter",
                      "Lines of the access log that were lost: its file did not take them, or not fast enough.",
                      (double)counts.dropped);
}

static void put_traces(struct api *api, struct bytes *body) {
    struct traces_counts counts = {.exported = 0};
    if (api->traces)
        counts = traces_counts(api->traces);
    exposition_single(body, "weir_traces_exported_total", "counter", "Traced requests that the collector took.",
                      (double)counts.exported);
    exposition_single(body, "weir_traces_dropped_total", "counter",
                      "Traced requests for which there was no room: the collector does not keep up.",
                      (double)counts.dropped);
    exposition_single(body, "weir_traces_failed_total", "counter",
                      "Traced requests that the collector refused, or did not take after retries.",
                      (double)counts.failed);
    exposition_single(body, "weir_traces_rejected_spans_total", "counter",
                      "Spans that the collector refused of traces that it took.", (double)counts.rejected_spans);
}

static void head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct api_obstacles obstacles;
    struct engine_status status;
    bool is_open = media_wants_openmetrics(request);
    engine_status(api->engine, &status);
    struct version *version = catalog_stable(api->catalog, 0);
    api_obstacles(api, &obstacles);
    struct metrics_gauges gauges = {
        .device = status.device,
        .device_reason = status.device_reason,
        .device_description = status.device_description,
        .ready = obstacles.count == 0,
        .in_flight_requests = atomic_load(&api->admission.slots),
        .queued_requests = status.queued_jobs,
        .queued_rows = status.queued_rows,
        .body_bytes = atomic_load(&api->admission.bytes),
        .connections = atomic_load(&api->connections->open),
        .max_concurrency = atomic_load(&api->admission.max_slots),
        .batch_size = api->batch_size,
        .reload_refused = atomic_load(&api->reload_refused),
        .device_fell_back = status.device_fell_back,
        .start_time_seconds = api->started_unix_s,
        .configured_seconds = atomic_load(&api->configured_unix_s),
    };
    if (version) {
        struct engine_costs costs = engine_costs(api->engine, version);
        gauges.cost_base_seconds = costs.base_ns / 1e9;
        gauges.cost_row_seconds = costs.row_ns / 1e9;
        gauges.cost_deviation_seconds = costs.deviation_ns / 1e9;
    }
    struct bytes *body = reply_begin(exchange);
    metrics_render(api->metrics, &gauges, body);
    engine_release(version);
    put_access_log(api, body);
    put_traces(api, body);
    put_models(api, body);
    put_states(api->engine, status.device_count, body);
    put_gpus(api, status.device_count, body);
    if (is_open) {
        struct bytes open = {.data = NULL};
        exposition_openmetrics(body, &open);
        reply_body(exchange, 200, "application/openmetrics-text; version=1.0.0; charset=utf-8", &open);
        bytes_release(&open);
    } else {
        reply_body(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", body);
    }
}

const struct handler api_metrics_handler = {
    .route = ROUTE_METRICS, .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS", .head = head};
