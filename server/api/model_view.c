#include "server/api/model_view.h"

#include <inttypes.h>
#include <math.h>

/* A number, or null where it is none. */
static void number_member(struct bytes *out, const char *name, double value) {
    if (isfinite(value))
        bytes_printf(out, ",\"%s\":%.6g", name, value);
    else
        bytes_printf(out, ",\"%s\":null", name);
}

static void version_member(struct bytes *out, const char *name, uint64_t number) {
    if (number > 0)
        bytes_printf(out, ",\"%s\":%" PRIu64, name, number);
    else
        bytes_printf(out, ",\"%s\":null", name);
}

static void write_version(struct bytes *out, const struct catalog_version_view *version) {
    bytes_printf(out, "{\"version\":%" PRIu64 ",", version->number);
    bytes_json_member(out, "state", catalog_state_text(version->state));
    bytes_text(out, ",");
    bytes_json_member(out, "reason", version->reason);
    bytes_printf(out, ",\"on_disk\":%s,\"rejected\":%s", version->on_disk ? "true" : "false",
                 version->rejected ? "true" : "false");
    number_member(out, "load_ms", version->load_ms);
    if (version->samples > 0) {
        bytes_printf(out, ",\"samples\":{\"count\":%u,\"runs\":%u", version->samples, version->sample_runs);
        number_member(out, "worst_error", version->sample_worst);
        number_member(out, "allowed", version->sample_allowed);
        bytes_text(out, "}");
    } else {
        bytes_text(out, ",\"samples\":null");
    }
    bytes_text(out, "}");
}

static void write_outcomes(struct bytes *out, const char *name, const struct catalog_outcomes_view *seen) {
    bytes_printf(
        out, ",\"%s\":{\"requests\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"non_finite\":%" PRIu64 ",\"late\":%" PRIu64,
        name, seen->requests, seen->errors, seen->non_finite, seen->late);
    number_member(out, "p50_ms", seen->p50_ms);
    number_member(out, "p99_ms", seen->p99_ms);
    bytes_text(out, "}");
}

static void write_comparison(struct bytes *out, const struct catalog_model_view *view) {
    bytes_printf(out,
                 ",\"comparison\":{\"requests\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"unequal\":%" PRIu64
                 ",\"misfits\":%" PRIu64 ",\"new_non_finite\":%" PRIu64,
                 view->comparison.requests, view->comparison.rows, view->comparison.unequal, view->comparison.misfits,
                 view->comparison.new_non_finite);
    number_member(out, "max_error", view->comparison.max_error);
    number_member(out, "mean_error", view->comparison.mean_error);
    number_member(out, "max_relative_error", view->comparison.max_relative);
    number_member(out, "agreement", view->comparison.agreement < 0 ? NAN : view->comparison.agreement);
    number_member(out, "compute_ratio", view->comparison.compute_ratio > 0 ? view->comparison.compute_ratio : NAN);
    bytes_text(out, "}");
}

static void write_rollout(struct bytes *out, const struct catalog_model_view *view) {
    bytes_text(out, ",\"rollout\":");
    if (!catalog_view_is_on(view)) {
        bytes_text(out, "null");
        return;
    }
    bytes_text(out, "{");
    bytes_json_member(out, "phase", view->phase);
    bytes_text(out, ",");
    bytes_json_member(out, "kind", view->kind);
    bytes_printf(out, ",\"candidate\":%" PRIu64 ",\"step\":%d,\"step_count\":%d", view->candidate, view->step + 1,
                 view->step_count);
    number_member(out, "weight_percent", view->weight_ppm / 1e4);
    number_member(out, "shadow_percent", view->shadow_ppm / 1e4);
    bytes_text(out, ",");
    bytes_json_member(out, "steps", view->steps);
    bytes_text(out, ",");
    bytes_json_member(out, "sticky_header", view->sticky_header);
    bytes_text(out, ",");
    bytes_json_member(out, "waits_for", view->waits_for);
    write_outcomes(out, "seen_stable", &view->outcomes[CATALOG_STABLE]);
    write_outcomes(out, "seen_candidate", &view->outcomes[CATALOG_CANDIDATE]);
    write_comparison(out, view);
    bytes_text(out, "}");
}

void model_view_write(struct bytes *out, const struct catalog_model_view *view, bool is_default) {
    bytes_text(out, "{");
    bytes_json_member(out, "name", view->name);
    bytes_printf(out, ",\"default\":%s,", is_default ? "true" : "false");
    bytes_json_member(out, "path", view->path);
    bytes_text(out, ",");
    bytes_json_member(out, "problem", view->problem);
    version_member(out, "stable", view->stable);
    version_member(out, "candidate", view->candidate);
    write_rollout(out, view);
    bytes_text(out, ",");
    bytes_json_member(out, "last_rollout", view->last);
    bytes_printf(out, ",\"loads\":%" PRIu64 ",\"load_failures\":%" PRIu64 ",\"versions\":[", view->loads,
                 view->load_failures);
    for (size_t i = 0; i < view->version_count; i++) {
        bytes_text(out, i > 0 ? "," : "");
        write_version(out, &view->versions[i]);
    }
    bytes_text(out, "]}");
}

void model_view_write_short(struct bytes *out, const struct catalog_model_view *view) {
    bool any = false;
    bytes_text(out, "{");
    bytes_json_member(out, "name", view->name);
    version_member(out, "stable", view->stable);
    version_member(out, "candidate", view->candidate);
    if (catalog_view_is_on(view)) {
        bytes_text(out, ",");
        bytes_json_member(out, "rollout", view->phase);
        number_member(out, "weight_percent", view->weight_ppm / 1e4);
    }
    if (view->last[0]) {
        bytes_text(out, ",");
        bytes_json_member(out, "last_rollout", view->last);
    }
    if (view->problem[0]) {
        bytes_text(out, ",");
        bytes_json_member(out, "problem", view->problem);
    }
    for (size_t i = 0; i < view->version_count; i++) {
        const struct catalog_version_view *version = &view->versions[i];
        if (!version->reason[0])
            continue;
        bytes_printf(out, "%s{\"version\":%" PRIu64 ",", any ? "," : ",\"faults\":[", version->number);
        bytes_json_member(out, "state", catalog_state_text(version->state));
        bytes_text(out, ",");
        bytes_json_member(out, "reason", version->reason);
        bytes_text(out, "}");
        any = true;
    }
    bytes_text(out, any ? "]}" : "}");
}
