#include "server/observe/model_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/observe/exposition.h"

/* `NAME{model="...",version="...",MORE} VALUE`; version 0 and more NULL leave that label out. */
static void series(struct bytes *out, const char *name, const struct catalog_model_view *view, uint64_t version,
                   const char *more, double value) {
    bytes_printf(out, "%s{model=\"", name);
    exposition_label(out, view->name);
    bytes_text(out, "\"");
    if (version > 0)
        bytes_printf(out, ",version=\"%" PRIu64 "\"", version);
    if (more)
        bytes_printf(out, ",%s", more);
    bytes_printf(out, "} %.9g\n", value);
}

static void render_versions(const struct catalog_model_view *views, int count, struct bytes *out) {
    exposition_head(out, "weir_model_info", "gauge", "The version of the model that serves.");
    for (int i = 0; i < count; i++)
        if (views[i].stable > 0)
            series(out, "weir_model_info", &views[i], views[i].stable, NULL, 1);
    exposition_head(out, "weir_model_version_state", "gauge",
                    "1 for the state that a version is in, if it is loaded or should be.");
    for (int i = 0; i < count; i++) {
        int told = 0;
        for (size_t v = 0; v < views[i].version_count && told < MODEL_METRICS_VERSIONS; v++) {
            const struct catalog_version_view *version = &views[i].versions[v];
            if (version->state == CATALOG_STATE_FOUND)
                continue;
            char state[32];
            snprintf(state, sizeof state, "state=\"%s\"", catalog_state_text(version->state));
            series(out, "weir_model_version_state", &views[i], version->number, state, 1);
            told++;
        }
    }
    exposition_head(out, "weir_model_loads_total", "counter", "Versions that were loaded and proven.");
    for (int i = 0; i < count; i++)
        series(out, "weir_model_loads_total", &views[i], 0, NULL, (double)views[i].loads);
    exposition_head(out, "weir_model_load_failures_total", "counter",
                    "Versions that did not load, were incomplete or failed their samples.");
    for (int i = 0; i < count; i++)
        series(out, "weir_model_load_failures_total", &views[i], 0, NULL, (double)views[i].load_failures);
}

/* A figure of each role of the rollouts that are on. */
static void render_roles(const struct catalog_model_view *views, int count, const char *name, const char *help,
                         double (*figure)(const struct catalog_outcomes_view *), struct bytes *out) {
    static const char *const roles[] = {
        [CATALOG_STABLE] = "role=\"stable\"", [CATALOG_CANDIDATE] = "role=\"candidate\""};
    exposition_head(out, name, "gauge", help);
    for (int i = 0; i < count; i++)
        for (int role = CATALOG_STABLE; catalog_view_is_on(&views[i]) && role <= CATALOG_CANDIDATE; role++)
            series(out, name, &views[i], role == CATALOG_STABLE ? views[i].stable : views[i].candidate, roles[role],
                   figure(&views[i].outcomes[role]));
}

static double requests(const struct catalog_outcomes_view *seen) {
    return (double)seen->requests;
}

static double errors(const struct catalog_outcomes_view *seen) {
    return (double)seen->errors;
}

static double p99_seconds(const struct catalog_outcomes_view *seen) {
    return seen->p99_ms / 1e3;
}

static void render_rollouts(const struct catalog_model_view *views, int count, struct bytes *out) {
    exposition_head(out, "weir_rollout_weight_ratio", "gauge", "Share of the requests that the candidate answers.");
    for (int i = 0; i < count; i++)
        if (catalog_view_is_on(&views[i]))
            series(out, "weir_rollout_weight_ratio", &views[i], views[i].candidate, NULL, views[i].weight_ppm / 1e6);
    exposition_head(out, "weir_rollout_paused", "gauge", "1 while the steps of a rollout stand still.");
    for (int i = 0; i < count; i++)
        if (catalog_view_is_on(&views[i]))
            series(out, "weir_rollout_paused", &views[i], views[i].candidate, NULL,
                   strcmp(views[i].phase, "paused") == 0);
    render_roles(views, count, "weir_rollout_requests", "Requests that the rollout under way has seen.", requests, out);
    render_roles(views, count, "weir_rollout_errors", "Of these, errors that were the version's.", errors, out);
    render_roles(views, count, "weir_rollout_p99_seconds", "Their latency, from the queue to the result.", p99_seconds,
                 out);
    exposition_head(out, "weir_rollout_compared_requests", "gauge", "Requests that both versions have answered.");
    for (int i = 0; i < count; i++)
        if (catalog_view_is_on(&views[i]))
            series(out, "weir_rollout_compared_requests", &views[i], views[i].candidate, NULL,
                   (double)views[i].comparison.requests);
    exposition_head(out, "weir_rollout_drift_ratio", "gauge",
                    "Largest difference of their outputs, to the largest magnitude of the row.");
    for (int i = 0; i < count; i++)
        if (catalog_view_is_on(&views[i]) && views[i].comparison.requests > 0)
            series(out, "weir_rollout_drift_ratio", &views[i], views[i].candidate, NULL,
                   views[i].comparison.max_relative);
    exposition_head(out, "weir_rollout_agreement_ratio", "gauge", "Share of equal decisions (argmax, label).");
    for (int i = 0; i < count; i++)
        if (catalog_view_is_on(&views[i]) && views[i].comparison.requests > 0 && views[i].comparison.agreement >= 0)
            series(out, "weir_rollout_agreement_ratio", &views[i], views[i].candidate, NULL,
                   views[i].comparison.agreement);
}

void model_metrics_render(const struct catalog_model_view *views, int count, struct bytes *out) {
    render_versions(views, count, out);
    render_rollouts(views, count, out);
}
