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

int api_obstacles(struct api *api, const char **texts, int room) {
    int count = 0;
    struct version *version = engine_acquire(api->engine);
    if (!version && count < room)
        texts[count++] = atomic_load(&api->not_ready);
    engine_release(version);
    if ((atomic_load(&api->draining) || is_told_to_stop()) && count < room)
        texts[count++] = "draining";
    if (atomic_load(&api->device_lost) && count < room)
        texts[count++] = "device lost";
    struct engine_status status;
    engine_status(api->engine, &status);
    if (status.stuck && count < room)
        texts[count++] = "a batch is stuck on the device";
    return count;
}

const char *api_headers(struct api *api, struct loop *loop, const struct version *version) {
    struct api_loop *mine = &api->loops[loop->index];
    if (mine->headers_version != version) {
        struct version_info info = engine_describe(version);
        struct engine_status status;
        engine_status(api->engine, &status);
        snprintf(mine->headers, sizeof mine->headers,
                 "X-Weir-Model: %s\r\nX-Weir-Version: %llu\r\nX-Weir-Device: %s\r\n", info.model_name,
                 (unsigned long long)info.number, status.device);
        mine->headers_version = version;
    }
    return mine->headers;
}

void api_end_of_turn(struct loop *loop, void *context) {
    struct api *api = context;
    struct api_loop *mine = &api->loops[loop->index];
    if (mine->submitted) {
        mine->submitted = false;
        engine_flush(api->engine);
    }
}
