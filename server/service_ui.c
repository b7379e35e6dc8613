/* The status page's part of the service: its clock, and what it is told of the configuration. */
#include <event2/event.h>
#include <string.h>

#include "config/config_secret.h"
#include "server/api/ui.h"
#include "server/service_state.h"

static void write_key(const struct config *config, const struct config_key *key, struct bytes *out) {
    char value[4200], shown[4200], origin[4200];
    config_schema_value(key, config, value, sizeof value);
    bytes_text(out, "{");
    bytes_json_member(out, "key", key->name);
    bytes_text(out, ",");
    bytes_json_member(out, "value", config_secret_hide(key, value, shown, sizeof shown));
    bytes_text(out, ",");
    bytes_json_member(out, "unit", key->unit);
    bytes_text(out, ",");
    bytes_json_member(out, "origin", config_origin_text(config, key, origin, sizeof origin));
    bytes_text(out, ",");
    bytes_json_member(out, "sentence", key->sentence);
    bytes_printf(out, ",\"default\":%s,\"reloads\":%s}",
                 config->origins[config_schema_id(key)].kind == CONFIG_ORIGIN_DEFAULT ? "true" : "false",
                 key->reloadable ? "true" : "false");
}

/* Models of `models:` look like keys. */
static void write_models(const struct config *config, struct bytes *out) {
    for (size_t i = 0; i < config->models.count; i++) {
        const struct config_model *model = &config->models.items[i];
        char text[4200];
        bytes_text(out, ",{");
        snprintf(text, sizeof text, "models.%s", model->name);
        bytes_json_member(out, "key", text);
        bytes_text(out, ",");
        snprintf(text, sizeof text, "%s%s%s", model->path, model->version_policy ? ", versions " : "",
                 model->version_policy ? model->version_policy : "");
        bytes_json_member(out, "value", text);
        bytes_text(out, ",\"unit\":\"\",");
        snprintf(text, sizeof text, "%s:%d", config->file, model->line);
        bytes_json_member(out, "origin", text);
        bytes_text(out, ",");
        bytes_json_member(out, "sentence", "A model: its path, and the versions of it to load.");
        bytes_text(out, ",\"default\":false,\"reloads\":false}");
    }
}

void service_tell_config(struct service *service, const struct config *config) {
    struct bytes out = {.size = 0};
    if (!service->api.ui)
        return;
    bytes_text(&out, "{");
    bytes_json_member(&out, "file", config->file ? config->file : "");
    bytes_text(&out, ",\"keys\":[");
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        bytes_text(&out, i > 0 ? "," : "");
        write_key(config, config_schema_key((enum config_key_id)i), &out);
    }
    write_models(config, &out);
    bytes_text(&out, "]}");
    if (!out.failed)
        ui_set_config(service->api.ui, &out);
    bytes_release(&out);
}

static void tick(evutil_socket_t fd, short what, void *context) {
    struct service *service = context;
    (void)fd;
    (void)what;
    ui_tick(service->api.ui);
}

enum weir_status service_start_ui(struct service *service, struct weir_error *err) {
    struct timeval period = {.tv_sec = UI_PERIOD_MS / 1000, .tv_usec = UI_PERIOD_MS % 1000 * 1000};
    if (!service->api.ui)
        return WEIR_OK;
    service->ui_timer = event_new(service->base, -1, EV_PERSIST, tick, service);
    if (!service->ui_timer || event_add(service->ui_timer, &period) != 0)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the status page");
    ui_tick(service->api.ui);
    return WEIR_OK;
}
