/* The service's models: opens the catalog as the configuration says, and tells in the log what it does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/catalog.h"
#include "engine/catalog_admin.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "server/exit_code.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/statistics.h"
#include "server/service_state.h"

static void passed_over(void *context, const char *model, const char *remark) {
    char quoted[400];
    (void)context;
    log_event(LOG_WARN, "entry_ignored", "model=%s remark=%s", model, log_quote(remark, quoted, sizeof quoted));
}

/* From its first sample on, a version counts under its own name. */
static int loaded(void *context, const struct version *version) {
    struct service *service = context;
    struct version_info info = engine_describe(version);
    unsigned long long number = info.number;
    char quoted[700];
    log_event(LOG_INFO, "model_loaded", "model=%s version=%llu ms=%.1f", info.model_name, number,
              (double)info.load_ns / 1e6);
    if (info.fixed_batch > 0)
        log_event(LOG_INFO, "model_fixed_batch", "model=%s version=%llu batch=%u", info.model_name, number,
                  info.fixed_batch);
    if (info.notice[0])
        log_event(LOG_INFO, "model_notice", "model=%s version=%llu notice=%s", info.model_name, number,
                  log_quote(info.notice, quoted, sizeof quoted));
    if (info.batching[0])
        log_event(LOG_INFO, "model_batch_of_one", "model=%s version=%llu reason=%s", info.model_name, number,
                  log_quote(info.batching, quoted, sizeof quoted));
    struct engine_status engine;
    engine_status(service->engine, &engine);
    for (int i = 0; i < engine.device_count; i++)
        if (engine_report(version, i)[0])
            log_event(LOG_INFO, "model_on_device", "model=%s version=%llu device=%d report=%s", info.model_name, number,
                      i, log_quote(engine_report(version, i), quoted, sizeof quoted));
    int tag = metrics_model(service->metrics, info.model_name, info.number);
    statistics_open(service->api.statistics, tag);
    return tag;
}

static void unloaded(void *context, const struct version *version) {
    struct service *service = context;
    int tag = engine_describe(version).tag;
    statistics_close(service->api.statistics, tag);
    metrics_retire(service->metrics, tag);
}

static void load_failed(void *context, const char *model, uint64_t number, const struct weir_error *why) {
    char quoted[700];
    (void)context;
    bool is_incomplete = why->status == WEIR_NOT_READY;
    log_event(is_incomplete ? LOG_WARN : LOG_ERROR, is_incomplete ? "model_incomplete" : "model_load_failed",
              "model=%s version=%" PRIu64 " error=%s", model, number, log_quote(why->text, quoted, sizeof quoted));
}

static void serving(void *context, const struct version *version) {
    struct version_info info = engine_describe(version);
    (void)context;
    log_event(LOG_INFO, "model_serving", "model=%s version=%" PRIu64, info.model_name, info.number);
}

static void changed(void *context, const struct catalog_change *change) {
    char actor[200], text[700];
    (void)context;
    bool is_good = change->status == WEIR_OK;
    log_event(is_good ? LOG_INFO : LOG_WARN, "audit",
              "actor=%s action=%s model=%s version=%" PRIu64 " outcome=\"%s\" text=%s",
              log_quote(change->actor, actor, sizeof actor), change->action, change->model, change->version,
              weir_status_text(change->status), log_quote(change->text ? change->text : "", text, sizeof text));
}

/* A device, or its memory, is to blame for some failures; the model for the others. */
static int exit_code_of_load(enum weir_status status) {
    return status == WEIR_DEVICE || status == WEIR_DEVICE_LOST || status == WEIR_NO_MEMORY ? EXIT_CODE_DEVICE
                                                                                           : EXIT_CODE_MODEL;
}

static void opened(void *context, enum weir_status status, const struct weir_error *why) {
    struct service *service = context;
    char text[API_OBSTACLE_BYTES], quoted[700];
    uint64_t one = 1;
    if (status != WEIR_OK) {
        service->load_error = *why;
        service->load_code = exit_code_of_load(status);
    } else if (catalog_obstacle(service->catalog, text, sizeof text)) {
        log_event(LOG_WARN, "not_ready", "reason=%s", log_quote(text, quoted, sizeof quoted));
    } else {
        struct version *version = catalog_stable(service->catalog, 0);
        struct version_info info = engine_describe(version);
        log_event(LOG_INFO, "ready", "model=%s version=%" PRIu64 " start_ms=%.1f", info.model_name, info.number,
                  (double)(clock_now_ns() - service->api.started_ns) / 1e6);
        engine_release(version);
    }
    ssize_t ignored = write(service->load_fd, &one, sizeof one);
    (void)ignored;
}

/* systemd names the directory that it made for the service; the first, if there are several. */
static char *find_state_dir(const struct config *config) {
    const char *given = getenv("STATE_DIRECTORY");
    if (config->state_dir)
        return strdup(config->state_dir);
    return given && *given ? strndup(given, strcspn(given, ":")) : NULL;
}

enum weir_status service_open_models(struct service *service, struct weir_error *err) {
    const struct config *config = service->config;
    size_t count = config->models.count > 0 ? config->models.count : 1;
    struct catalog_model_options *models = calloc(count, sizeof *models);
    char *state_dir = find_state_dir(config);
    if (!models) {
        free(state_dir);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the models");
    }
    models[0] = (struct catalog_model_options){
        .path = config->model_path, .name = config->model_name, .version_policy = config->version_policy};
    for (size_t i = 0; i < config->models.count; i++) {
        const struct config_model *model = &config->models.items[i];
        models[i] = (struct catalog_model_options){.path = model->path,
                                                   .name = model->name,
                                                   .version_policy = model->version_policy ? model->version_policy
                                                                                           : config->version_policy};
    }
    struct catalog_options options = {
        .engine = service->engine,
        .models = models,
        .model_count = (int)count,
        .state_dir = state_dir,
        .scan_ns = config->scan_ms * CLOCK_NS_PER_MS,
        .hold_new = config->new_versions == CONFIG_NEW_VERSIONS_HOLD,
        .listener = {.context = service,
                     .passed_over = passed_over,
                     .loaded = loaded,
                     .unloaded = unloaded,
                     .failed = load_failed,
                     .serving = serving,
                     .changed = changed,
                     .opened = opened},
    };
    enum weir_status status = catalog_open(&options, &service->catalog, err);
    if (!state_dir && config->admin_listen)
        log_event(LOG_WARN, "state_not_kept", "reason=\"state_dir is not set: a restart forgets rollouts\"");
    free(models);
    free(state_dir);
    service->api.catalog = service->catalog;
    return status;
}
