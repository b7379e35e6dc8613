/* Pictures of models for operators. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/catalog/parts.h"
#include "engine/engine.h"

const char *catalog_state_text(enum catalog_state state) {
    static const char *const texts[] = {
#define STATE_TEXT(name, text) text,
        CATALOG_STATE_LIST(STATE_TEXT)
#undef STATE_TEXT
    };
    return texts[state];
}

bool catalog_view_is_on(const struct catalog_model_view *view) {
    return view->candidate > 0;
}

static enum catalog_state state_of_entry(const struct catalog_model *model, const struct entry *entry) {
    if (entry == model->stable && entry->version)
        return CATALOG_STATE_SERVING;
    if (entry == model->candidate)
        return model->rollout->plan.kind == ROLLOUT_SHADOW ? CATALOG_STATE_SHADOW : CATALOG_STATE_CANARY;
    return entry->state;
}

static void view_entry(const struct catalog_model *model, const struct entry *entry, struct catalog_version_view *out) {
    *out = (struct catalog_version_view){
        .number = entry->number,
        .state = state_of_entry(model, entry),
        .on_disk = entry->on_disk,
        .rejected = entry->is_rejected,
        .load_ms = entry->version ? (double)engine_describe(entry->version).load_ns / 1e6 : 0,
        .samples = entry->report.samples,
        .sample_runs = entry->report.runs,
        .sample_worst = entry->report.worst_error,
        .sample_allowed = entry->report.worst_allowed,
    };
    snprintf(out->reason, sizeof out->reason, "%s", entry->reason);
}

static void view_outcomes(const struct outcomes *outcomes, struct catalog_outcomes_view *out) {
    struct outcomes_counts counts;
    outcomes_copy(outcomes, &counts);
    *out = (struct catalog_outcomes_view){.requests = counts.requests,
                                          .errors = counts.errors,
                                          .non_finite = counts.non_finite,
                                          .late = counts.late,
                                          .p50_ms = (double)outcomes_quantile(&counts, 0.5) / 1e6,
                                          .p99_ms = (double)outcomes_quantile(&counts, 0.99) / 1e6};
}

static void view_comparison(struct catalog *catalog, const struct catalog_model *model,
                            struct catalog_model_view *out) {
    struct comparison_summary summary;
    pthread_mutex_lock(&catalog->comparing);
    comparison_summarize(model->comparison, &summary);
    pthread_mutex_unlock(&catalog->comparing);
    out->comparison.requests = summary.requests;
    out->comparison.rows = summary.rows;
    out->comparison.misfits = summary.misfits;
    out->comparison.unequal = summary.all.unequal;
    out->comparison.new_non_finite = summary.all.new_non_finite;
    out->comparison.max_error = summary.all.max_error;
    out->comparison.mean_error = summary.mean_error;
    out->comparison.max_relative = summary.all.max_relative;
    out->comparison.agreement = summary.agreement;
}

/* What a batch of one row takes, candidate's to stable's, as the cost models say and the rollout judges. */
static double compute_ratio(const struct catalog *catalog, const struct catalog_model *model) {
    const struct entry *stable = model->stable, *candidate = model->candidate;
    if (!stable || !stable->version || !candidate || !candidate->version)
        return 0;
    struct engine_costs before = engine_costs(catalog->options.engine, stable->version);
    struct engine_costs after = engine_costs(catalog->options.engine, candidate->version);
    double before_ns = before.base_ns + before.row_ns;
    return before_ns > 0 ? (after.base_ns + after.row_ns) / before_ns : 0;
}

static void view_rollout(const struct catalog_model *model, struct catalog_model_view *out) {
    const struct rollout *rollout = model->rollout;
    bool is_on = model->candidate != NULL;
    out->phase = rollout_phase_text(is_on ? rollout->phase : ROLLOUT_NONE);
    out->kind = is_on ? rollout_kind_text(rollout->plan.kind) : "";
    out->step = is_on ? rollout->step : 0;
    out->step_count = is_on ? rollout->plan.step_count : 0;
    out->weight_ppm = model->route.weight_ppm;
    out->shadow_ppm = model->route.shadow_ppm;
    if (is_on) {
        rollout_plan_steps_text(&rollout->plan, out->steps, sizeof out->steps);
        snprintf(out->sticky_header, sizeof out->sticky_header, "%s", rollout->plan.sticky_header);
        snprintf(out->waits_for, sizeof out->waits_for, "%s", model->decision.text);
    }
    snprintf(out->last, sizeof out->last, "%s", model->last);
}

enum weir_status catalog_view(struct catalog *catalog, int index, struct catalog_model_view *out,
                              struct weir_error *err) {
    struct catalog_model *model = &catalog->models[index];
    struct catalog_model_view view = {.phase = ""};
    pthread_mutex_lock(&catalog->lock);
    view.versions = calloc(model->entry_count + 1, sizeof *view.versions);
    if (view.versions) {
        for (size_t i = 0; i < model->entry_count; i++)
            view_entry(model, model->entries[i], &view.versions[i]);
        view.version_count = model->entry_count;
        view_rollout(model, &view);
        view.comparison.compute_ratio = compute_ratio(catalog, model);
        view.stable = model->stable && model->stable->version ? model->stable->number : 0;
        view.candidate = model->candidate ? model->candidate->number : 0;
        snprintf(view.name, sizeof view.name, "%s", model->name);
        snprintf(view.path, sizeof view.path, "%s", model->path);
        snprintf(view.problem, sizeof view.problem, "%s",
                 model->is_unkept ? "the state could not be kept in state_dir, which is tried again" : model->problem);
        view.loads = model->loads;
        view.load_failures = model->load_failures;
    }
    pthread_mutex_unlock(&catalog->lock);
    if (!view.versions)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the list of versions");
    view_outcomes(&model->outcomes[CATALOG_STABLE], &view.outcomes[CATALOG_STABLE]);
    view_outcomes(&model->outcomes[CATALOG_CANDIDATE], &view.outcomes[CATALOG_CANDIDATE]);
    view_comparison(catalog, model, &view);
    *out = view;
    return WEIR_OK;
}

void catalog_view_release(struct catalog_model_view *view) {
    free(view->versions);
    view->versions = NULL;
}
