/* What is kept on the disk, and which version serves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/catalog/parts.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/model/model_choice.h"

struct rollout_state *state_of(struct catalog *catalog, const struct catalog_model *model) {
    return rollout_file_model(&catalog->file, model->name);
}

enum weir_status state_keep(struct catalog *catalog, struct catalog_model *model, struct weir_error *err) {
    struct rollout_state *state = state_of(catalog, model);
    if (!state)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the state of %s", model->name);
    state->phase = rollout_is_on(model->rollout) ? model->rollout->phase : ROLLOUT_NONE;
    state->step = model->rollout->step;
    state->plan = model->rollout->plan;
    return catalog->state_dir ? rollout_file_write(catalog->state_dir, &catalog->file, err) : WEIR_OK;
}

void state_identity(const struct entry *entry, char text[ROLLOUT_FILE_IDENTITY + 1]) {
    const struct snapshot *snapshot = entry->version ? &entry->loaded : &entry->seen;
    snprintf(text, ROLLOUT_FILE_IDENTITY + 1, "%016" PRIx64 "%016" PRIx64, snapshot->hash[0], snapshot->hash[1]);
}

bool state_is_rejected(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry) {
    char identity[ROLLOUT_FILE_IDENTITY + 1];
    const struct rollout_state *state = state_of(catalog, model);
    state_identity(entry, identity);
    return state && rollout_file_find_rejected(state, entry->number, identity);
}

/* Notes for views what the file says. Called with the lock too. */
static void note_for_views(struct catalog *catalog, struct catalog_model *model) {
    const struct rollout_state *state = state_of(catalog, model);
    for (size_t i = 0; i < model->entry_count; i++)
        model->entries[i]->is_rejected =
            state && state->rejected_count > 0 && state_is_rejected(catalog, model, model->entries[i]);
    if (state && state->last_phase != ROLLOUT_NONE)
        snprintf(model->last, sizeof model->last, "version %" PRIu64 " %s%s%s", state->last_candidate,
                 state->last_phase == ROLLOUT_PROMOTED ? "was promoted" : "was rolled back",
                 state->last_reason[0] ? ": " : "", state->last_reason);
}

bool state_has_note(struct catalog *catalog, const struct catalog_model *model, uint64_t number) {
    const struct rollout_state *state = state_of(catalog, model);
    for (size_t i = 0; state && i < state->rejected_count; i++)
        if (state->rejected[i].number == number)
            return true;
    return false;
}

void state_apply(struct catalog *catalog, struct catalog_model *model) {
    struct route *route = &model->route;
    bool is_on = rollout_is_on(model->rollout) && model->candidate && model->candidate->version;
    pthread_mutex_lock(&catalog->lock);
    struct version *before = route->stable;
    note_for_views(catalog, model);
    route->stable = model->stable ? model->stable->version : NULL;
    route->candidate = is_on ? model->candidate->version : NULL;
    route->weight_ppm = is_on ? rollout_weight_ppm(model->rollout) : 0;
    route->shadow_ppm = is_on ? rollout_shadow_ppm(model->rollout) : 0;
    route->compare_ppm = is_on ? rollout_compare_ppm(model->rollout) : 0;
    snprintf(route->sticky_header, sizeof route->sticky_header, "%s", is_on ? model->rollout->plan.sticky_header : "");
    if (!is_on)
        route->rollout = 0;
    else if (route->rollout == 0)
        route->rollout = ++catalog->rollout_serials;
    struct version *serving = route->stable && route->stable != before ? engine_hold(route->stable) : NULL;
    pthread_mutex_unlock(&catalog->lock);
    if (serving && catalog->options.listener.serving)
        catalog->options.listener.serving(catalog->options.listener.context, serving);
    engine_release(serving);
}

/* Takes a version over that nobody has chosen: the newest, or what is left. */
static void take_over(struct catalog *catalog, struct catalog_model *model, struct entry *entry) {
    struct rollout_state *state = state_of(catalog, model);
    struct weir_error err;
    bool is_kept = state && (state->stable != 0 || catalog->options.hold_new);
    pthread_mutex_lock(&catalog->lock);
    model->stable = entry;
    pthread_mutex_unlock(&catalog->lock);
    if (!is_kept)
        return;
    if (entry->number > state->newest_seen)
        state->newest_seen = entry->number;
    if (state->stable != entry->number) {
        state->stable = entry->number;
        if (state_keep(catalog, model, &err) != WEIR_OK)
            catalog_tell(catalog, &(struct catalog_change){.actor = "scan",
                                                           .action = "keep",
                                                           .model = model->name,
                                                           .version = entry->number,
                                                           .status = err.status,
                                                           .text = err.text});
    }
}

/* A rollout that was on when the process ended goes on, once its candidate is there; without it, it has failed. */
static void restore(struct catalog *catalog, struct catalog_model *model) {
    struct rollout_state *state = state_of(catalog, model);
    char text[ROLLOUT_TEXT];
    struct weir_error err = {.status = WEIR_OK};
    if (!state || (state->phase != ROLLOUT_RUNNING && state->phase != ROLLOUT_PAUSED) ||
        rollout_is_on(model->rollout) || !model->stable)
        return;
    struct entry *candidate = scan_find(model, state->plan.candidate);
    bool is_ready = candidate && candidate->version && candidate != model->stable;
    if (!is_ready && candidate && candidate->state == CATALOG_STATE_FOUND)
        return; /* its files have not settled yet */
    pthread_mutex_lock(&catalog->lock);
    if (is_ready && rollout_restore(model->rollout, &state->plan, model->stable->number, state->phase, state->step,
                                    clock_now_ns()) == WEIR_OK) {
        model->candidate = candidate;
        snprintf(text, sizeof text, "goes on with step %d", state->step + 1);
    } else {
        snprintf(text, sizeof text, "version %" PRIu64 " is not ready after a restart", state->plan.candidate);
        err.status = WEIR_NOT_READY;
        state->phase = ROLLOUT_NONE;
        state->last_phase = ROLLOUT_ROLLED_BACK;
        state->last_candidate = state->plan.candidate;
        snprintf(state->last_reason, sizeof state->last_reason, "%s", text);
    }
    pthread_mutex_unlock(&catalog->lock);
    enum weir_status restored = err.status;
    if (restored != WEIR_OK && state_keep(catalog, model, &err) != WEIR_OK)
        snprintf(text, sizeof text, "%.200s", err.text);
    catalog_tell(catalog, &(struct catalog_change){.actor = "restart",
                                                   .action = restored == WEIR_OK ? "resume" : "rollback",
                                                   .model = model->name,
                                                   .version = state->plan.candidate,
                                                   .status = restored,
                                                   .text = text});
}

void state_choose(struct catalog *catalog, struct catalog_model *model) {
    struct rollout_state *state = state_of(catalog, model);
    struct model_choice *ready = calloc(model->entry_count + 1, sizeof *ready);
    size_t count = 0;
    for (size_t i = 0; ready && i < model->entry_count; i++)
        if (model->entries[i]->version)
            ready[count++] = (struct model_choice){.number = model->entries[i]->number,
                                                   .is_rejected = state_is_rejected(catalog, model, model->entries[i])};
    uint64_t chosen = state ? state->stable : 0, newest_seen = state ? state->newest_seen : 0;
    if (chosen == 0 && model->stable && catalog->options.hold_new)
        chosen = model->stable->number;
    bool is_on = rollout_is_on(model->rollout) || (state && state->phase != ROLLOUT_NONE);
    if ((is_on || catalog->options.hold_new) && chosen != 0)
        newest_seen = UINT64_MAX;
    /* What was chosen goes before others while it may still come. */
    const struct entry *awaited = chosen != 0 && !model->stable ? scan_find(model, chosen) : NULL;
    if (awaited && !awaited->version && awaited->state == CATALOG_STATE_FOUND)
        count = 0;
    uint64_t number = ready ? model_choice_stable(ready, count, chosen, newest_seen) : 0;
    free(ready);
    struct entry *entry = number > 0 ? scan_find(model, number) : NULL;
    if (entry && entry != model->stable)
        take_over(catalog, model, entry);
    restore(catalog, model);
    state_apply(catalog, model);
}
