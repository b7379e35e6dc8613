/* The document of /health, which the status page shows too. */
#include "server/api/health_view.h"

#include <math.h>
#include <string.h>

#include "engine/engine.h"
#include "server/api/model_view.h"
#include "server/http/listener.h"

void health_view_status(struct bytes *body, const struct api_obstacles *obstacles) {
    bytes_printf(body, "\"status\":\"%s\",\"reasons\":[", obstacles->count == 0 ? "ready" : "not_ready");
    for (int i = 0; i < obstacles->count; i++) {
        bytes_text(body, i > 0 ? "," : "");
        bytes_json_string(body, obstacles->texts[i], strlen(obstacles->texts[i]));
    }
    bytes_text(body, "]");
}

static void put_tensors(struct bytes *body, const char *name, const struct tensor_spec *specs, int count) {
    bytes_printf(body, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        char shape[160];
        bytes_text(body, i > 0 ? ",{" : "{");
        bytes_json_member(body, "name", specs[i].name);
        bytes_printf(body, ",\"dtype\":\"%s\",\"shape\":%s}", tensor_dtype_text(specs[i].dtype),
                     tensor_shape_text(&specs[i].shape, shape, sizeof shape));
    }
    bytes_text(body, "]");
}

/* What each device says of the version: its memory plan, and whether rows' bits depend on their batch. */
static void put_reports(struct bytes *body, const struct version *version, int device_count) {
    if (!engine_report(version, 0)[0])
        return;
    bytes_text(body, ",\"on_devices\":[");
    for (int i = 0; i < device_count; i++) {
        const char *report = engine_report(version, i);
        bytes_text(body, i > 0 ? "," : "");
        bytes_json_string(body, report, strlen(report));
    }
    bytes_text(body, "]");
}

void health_view_version(struct bytes *body, const struct version *version, int device_count) {
    if (!version) {
        bytes_text(body, "null");
        return;
    }
    struct version_info info = engine_describe(version);
    bytes_text(body, "{");
    bytes_json_member(body, "name", info.model_name);
    bytes_printf(body, ",\"version\":%llu,\"batch_rows\":%u,\"load_ms\":%.3f", (unsigned long long)info.number,
                 info.batch_rows, (double)info.load_ns / 1e6);
    put_tensors(body, "inputs", info.signature->inputs, info.signature->input_count);
    put_tensors(body, "outputs", info.signature->outputs, info.signature->output_count);
    put_reports(body, version, device_count);
    bytes_text(body, "}");
}

static void put_number(struct bytes *body, const char *name, double value) {
    if (!isnan(value))
        bytes_printf(body, ",\"%s\":%.15g", name, value);
}

/* What is not known is left out. */
static void put_gpu(struct bytes *body, const struct telemetry_reading *gpu) {
    bytes_text(body, "{");
    bytes_json_member(body, "bus_id", gpu->bus_id);
    bytes_printf(body, ",\"lost\":%s", gpu->lost ? "true" : "false");
    if (gpu->unavailable[0]) {
        bytes_text(body, ",");
        bytes_json_member(body, "unavailable", gpu->unavailable);
    }
    if (gpu->name[0]) {
        bytes_text(body, ",");
        bytes_json_member(body, "name", gpu->name);
    }
    if (gpu->driver[0]) {
        bytes_text(body, ",");
        bytes_json_member(body, "driver", gpu->driver);
    }
    put_number(body, "utilization", gpu->values[TELEMETRY_UTILIZATION]);
    put_number(body, "memory_used_bytes", gpu->values[TELEMETRY_MEMORY_USED]);
    put_number(body, "memory_total_bytes", gpu->values[TELEMETRY_MEMORY_TOTAL]);
    put_number(body, "temperature_celsius", gpu->values[TELEMETRY_TEMPERATURE]);
    put_number(body, "power_watts", gpu->values[TELEMETRY_POWER]);
    bytes_text(body, "}");
}

static void put_states(struct bytes *body, const struct engine *engine, int device_count) {
    bytes_text(body, ",\"states\":[");
    for (int i = 0; i < device_count; i++)
        bytes_printf(body, "%s\"%s\"", i > 0 ? "," : "", engine_device_state_text(engine_device_state(engine, i)));
    bytes_text(body, "]");
}

static void put_gpus(struct bytes *body, struct engine *engine) {
    struct telemetry_reading gpu;
    for (int i = 0; engine_telemetry(engine, i, &gpu); i++) {
        bytes_text(body, i > 0 ? "," : ",\"gpus\":[");
        put_gpu(body, &gpu);
        if (!engine_telemetry(engine, i + 1, &gpu))
            bytes_text(body, "]");
    }
}

/* Every model in short: what serves, and what could not be loaded. */
static void put_models(struct bytes *body, struct catalog *catalog) {
    struct catalog_model_view view;
    struct weir_error ignored;
    bool any = false;
    bytes_text(body, ",\"models\":[");
    for (int i = 0; i < catalog_model_count(catalog); i++) {
        if (catalog_view(catalog, i, &view, &ignored) != WEIR_OK)
            continue;
        bytes_text(body, any ? "," : "");
        any = true;
        model_view_write_short(body, &view);
        catalog_view_release(&view);
    }
    bytes_text(body, "]");
}

void health_view_write(struct bytes *body, struct api *api, const struct api_obstacles *obstacles, int64_t now_ns) {
    struct engine_status status;
    engine_status(api->engine, &status);
    bytes_text(body, "{");
    health_view_status(body, obstacles);
    struct version *version = catalog_stable(api->catalog, 0);
    bytes_text(body, ",\"model\":");
    health_view_version(body, version, status.device_count);
    engine_release(version);
    put_models(body, api->catalog);
    bytes_text(body, ",\"device\":{");
    bytes_json_member(body, "name", status.device);
    bytes_printf(body, ",\"count\":%d,", status.device_count);
    bytes_json_member(body, "reason", status.device_reason);
    bytes_printf(body, ",\"fallback\":%s,", status.device_fell_back ? "true" : "false");
    bytes_json_member(body, "description", status.device_description);
    put_states(body, api->engine, status.device_count);
    put_gpus(body, api->engine);
    bytes_printf(body, "},\"in_flight\":%u,\"max_concurrency\":%u,\"queued_requests\":%u,\"queued_rows\":%u",
                 atomic_load(&api->admission.slots), atomic_load(&api->admission.max_slots), status.queued_jobs,
                 status.queued_rows);
    bytes_printf(body, ",\"last_reload\":\"%s\"", atomic_load(&api->reload_refused) ? "refused" : "ok");
    bytes_printf(body, ",\"connections\":%u,\"uptime_s\":%.3f,\"server\":\"weir %s\"}",
                 atomic_load(&api->connections->open), (double)(now_ns - api->started_ns) / 1e9, WEIR_VERSION);
}
