#include "server/api/ui_state.h"

#include "engine/clock.h"
#include "engine/engine.h"
#include "server/api/health_view.h"
#include "server/api/model_view.h"
#include "server/api/ui.h"
#include "server/observe/history.h"

void ui_state_begin(struct bytes *out, const char *event) {
    bytes_printf(out, "event: %s\ndata: ", event);
}

void ui_state_end(struct bytes *out) {
    bytes_text(out, "\n\n");
}

void ui_state_hello(struct bytes *out, struct api *api) {
    ui_state_begin(out, "hello");
    bytes_printf(out, "{\"version\":\"%s\",\"started_ms\":%.0f,\"points\":%d,\"period_ms\":%d,\"batch_size\":%u",
                 WEIR_VERSION, api->started_unix_s * 1e3, HISTORY_POINTS, UI_PERIOD_MS, api->batch_size);
    bytes_text(out, ",\"bounds\":[");
    for (int i = 0; i < HISTORY_BUCKETS - 1; i++)
        bytes_printf(out, "%s%u", i > 0 ? "," : "", history_bound(i));
    bytes_text(out, "]}");
    ui_state_end(out);
}

void ui_state_health(struct bytes *out, struct api *api) {
    struct api_obstacles obstacles;
    api_obstacles(api, &obstacles);
    ui_state_begin(out, "health");
    health_view_write(out, api, &obstacles, clock_now_ns());
    ui_state_end(out);
}

void ui_state_models(struct bytes *out, struct api *api) {
    struct catalog_model_view view;
    struct engine_status status;
    struct weir_error ignored;
    bool any = false;
    engine_status(api->engine, &status);
    ui_state_begin(out, "models");
    bytes_text(out, "[");
    for (int i = 0; i < catalog_model_count(api->catalog); i++) {
        if (catalog_view(api->catalog, i, &view, &ignored) != WEIR_OK)
            continue;
        struct version *version = catalog_stable(api->catalog, i);
        bytes_text(out, any ? ",{\"view\":" : "{\"view\":");
        any = true;
        model_view_write(out, &view, i == 0);
        bytes_text(out, ",\"serving\":");
        health_view_version(out, version, status.device_count);
        bytes_text(out, "}");
        engine_release(version);
        catalog_view_release(&view);
    }
    bytes_text(out, "]");
    ui_state_end(out);
}
