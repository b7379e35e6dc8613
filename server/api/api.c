#include "server/api/api.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "server/http/loop.h"

/* Has a signal to stop come that the main thread has not read yet? Readiness is never a moment behind. */
static bool is_told_to_stop(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT));
}

static void add(struct api_obstacles *out, bool is_there, const char *text) {
    if (is_there && out->count < API_MAX_OBSTACLES)
        out->texts[out->count++] = text;
}

void api_obstacles(struct api *api, struct api_obstacles *out) {
    struct engine_status status;
    out->count = 0;
    engine_status(api->engine, &status);
    add(out, catalog_obstacle(api->catalog, out->model, sizeof out->model), out->model);
    add(out, atomic_load(&api->draining) || is_told_to_stop(), "draining");
    add(out, atomic_load(&api->device_lost), "device lost");
    add(out, status.stuck, "a batch is stuck on the device");
}

enum weir_status api_find_model(const struct api *api, const char *name, int *out, struct weir_error *err) {
    *out = *name ? catalog_find(api->catalog, name) : 0;
    return *out >= 0 ? WEIR_OK : weir_fail(err, WEIR_NOT_FOUND, "there is no model \"%s\"", name);
}

enum weir_status api_check_number(const char *text, struct weir_error *err) {
    if (text[strspn(text, "0123456789")])
        return weir_fail(err, WEIR_INVALID, "\"%.40s\" is not a version number", text);
    return WEIR_OK;
}

const char *api_headers(struct api *api, struct loop *loop, const struct version *version) {
    struct api_loop *mine = &api->loops[loop->index];
    struct version_info info = engine_describe(version);
    unsigned i = (unsigned)(info.serial % API_HEADERS_KEPT);
    if (mine->headers[i].serial == info.serial)
        return mine->headers[i].text;
    struct engine_status status;
    engine_status(api->engine, &status);
    mine->headers[i].serial = info.serial;
    snprintf(mine->headers[i].text, sizeof mine->headers[i].text,
             "X-Weir-Model: %s\r\nX-Weir-Version: %llu\r\nX-Weir-Device: %s\r\n", info.model_name,
             (unsigned long long)info.number, status.device);
    return mine->headers[i].text;
}

void api_end_of_turn(struct loop *loop, void *context) {
    struct api *api = context;
    struct api_loop *mine = &api->loops[loop->index];
    if (mine->submitted) {
        mine->submitted = false;
        engine_flush(api->engine);
    }
}
