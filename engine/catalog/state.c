/* What is kept on the disk, and which version serves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/catalog/parts.h"
#include "engine/catalog/plan_of.h"
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
    if (rollout_is_on(model->rollout)) {
        state->phase = model->rollout->phase;
        state->step = model->rollout->step;
        state->plan = model->rollout->plan;
    }
    enum weir_status status =
        catalog->state_dir ? rollout_file_write(catalog->state_dir, &catalog->file, err) : WEIR_OK;
    if (status == WEIR_OK)
        model->is_unkept = false;
    return status;
}

enum weir_status state_note(struct catalog *catalog, struct catalog_model *model, const char *what,
                            char text[STATE_TEXT]) {
    struct weir_error err;
    enum weir_status status = state_keep(catalog, model, &err);
    model->is_unkept = status != WEIR_OK;
    snprintf(text, STATE_TEXT, "%s", what);
    if (status != WEIR_OK)
        snprintf(text, STATE_TEXT, "%.180s; but the state could not be kept, which is tried again: %.230s", what,
                 err.text);
    return status;
}

const struct rollout_plan *state_rollout(struct catalog *catalog, const struct catalog_model *model) {
    const struct rollout_state *state = state_of(catalog, model);
    return state && state->phase != ROLLOUT_NONE ? &state->plan : NULL;
}

enum weir_status state_give_up(struct catalog *catalog, struct catalog_model *model, const char *reason,
                               char text[STATE_TEXT]) {
    rollout_file_end(state_of(catalog, model), ROLLOUT_ROLLED_BACK, reason, clock_unix_s());
    enum weir_status status = state_note(catalog, model, reason, text);
    state_apply(catalog, model);
    return status;
}

void state_identity(const struct entry *entry, char text[ROLLOUT_FILE_IDENTITY + 1]) {
    const struct snapshot *snapshot = entry->version ? &entry->loaded : &entry->seen;
    int end =
        snprintf(text, ROLLOUT_FILE_IDENTITY + 1, "%016" PRIx64 "%016" PRIx64, snapshot->hash[0], snapshot->hash[1]);
    if (entry->held.files > 0 && snapshot_equal(&entry->held, snapshot))
        snprintf(text + end, ROLLOUT_FILE_IDENTITY + 1 - (size_t)end, "%016" PRIx64 "%016" PRIx64, entry->content[0],
                 entry->content[1]);
}

bool state_is_rejected(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry) {
    char identity[ROLLOUT_FILE_IDENTITY + 1];
    if (!state_has_note(catalog, model, entry->number))
        return false;
    state_identity(entry, identity);
    return rollout_file_find_rejected(state_of(catalog, model), entry->number, identity);
}

/* Notes for views what the file says. Called with the lock too. */
static void note_for_views(struct catalog *catalog, struct catalog_model *model) {
    const struct rollout_state *state = state_of(catalog, model);
    for (size_t i = 0; i < model->entry_count; i++)
        model->entries[i]->is_rejected = state_is_rejected(catalog, model, model->entries[i]);
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

bool state_is_mended(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry) {
    bool is_known = entry->version || entry->seen.files > 0;
    return is_known && state_has_note(catalog, model, entry->number) && !state_is_rejected(catalog, model, entry);
}

void state_commit(struct catalog *catalog, struct catalog_model *model) {
    struct route *route = &model->route;
    bool is_on = rollout_is_on(model->rollout) && model->candidate && model->candidate->version;
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

void state_apply(struct catalog *catalog, struct catalog_model *model) {
    pthread_mutex_lock(&catalog->lock);
    state_commit(catalog, model);
}

/* Gives the rollout that waits up, and tells it. */
static void lose(struct catalog *catalog, struct catalog_model *model, const char *reason) {
    char text[STATE_TEXT];
    uint64_t candidate = state_rollout(catalog, model)->candidate;
    enum weir_status status = state_give_up(catalog, model, reason, text);
    catalog_tell(catalog, &(struct catalog_change){.actor = "restart",
                                                   .model = model->name,
                                                   .action = "rollback",
                                                   .version = candidate,
                                                   .status = status == WEIR_OK ? WEIR_NOT_READY : status,
                                                   .text = text});
}

/* Notes that the entry is stable now, if that is to outlast this process. *loses: a rollout beside another one, which
 * must be given up. text and errors: of state_note. */
static enum weir_status note_stable(struct catalog *catalog, struct catalog_model *model, const struct entry *entry,
                                    const char *what, char text[STATE_TEXT], bool *loses) {
    struct rollout_state *state = state_of(catalog, model);
    *loses = false;
    snprintf(text, STATE_TEXT, "%s", what);
    if (!state || (state->stable == 0 && !catalog->options.hold_new))
        return WEIR_OK;
    if (entry->number > state->newest_seen)
        state->newest_seen = entry->number;
    rollout_file_forgive(state, entry->number);
    if (state->stable == entry->number)
        return WEIR_OK;
    state->stable = entry->number;
    *loses = state_rollout(catalog, model) != NULL;
    return *loses ? WEIR_OK : state_note(catalog, model, what, text); /* giving it up notes this too */
}

/* Takes a version over that nobody has chosen: the newest, or what is left. What a start brings is no change. */
static void take_over(struct catalog *catalog, struct catalog_model *model, struct entry *entry) {
    const struct rollout_state *state = state_of(catalog, model);
    char text[STATE_TEXT], what[100] = "none served before";
    bool loses;
    uint64_t before = model->stable ? model->stable->number : state ? state->stable : 0;
    if (model->stable)
        snprintf(what, sizeof what, "takes over from version %" PRIu64, before);
    else if (before != 0)
        snprintf(what, sizeof what, "version %" PRIu64 ", which was stable, is not ready after a restart", before);
    pthread_mutex_lock(&catalog->lock);
    model->stable = entry;
    state_commit(catalog, model);
    enum weir_status status = note_stable(catalog, model, entry, what, text, &loses);
    if (status != WEIR_OK || (before != entry->number && (before != 0 || catalog->looked)))
        catalog_tell(catalog, &(struct catalog_change){.actor = "scan",
                                                       .model = model->name,
                                                       .action = "takeover",
                                                       .version = entry->number,
                                                       .status = status,
                                                       .text = text});
    if (loses)
        lose(catalog, model, what);
}

/* May it still be loaded without anybody's help? */
static bool may_come(const struct entry *entry) {
    return entry->state == CATALOG_STATE_FOUND || entry->state == CATALOG_STATE_LOADING ||
           (entry->was_tried && entry->retry_ns < INT64_MAX);
}

/* Goes on with the rollout that waits. Errors: NOT_READY (its candidate), INVALID. */
static enum weir_status resume(struct catalog *catalog, struct catalog_model *model, struct entry *candidate,
                               struct weir_error *err) {
    const struct rollout_state *state = state_of(catalog, model);
    const struct rollout_plan *plan = &state->plan;
    if (!candidate || !candidate->version)
        return weir_fail(err, WEIR_NOT_READY, "version %" PRIu64 " is not ready after a restart", plan->candidate);
    enum weir_status status = rollout_plan_check(plan, model->stable->number, err);
    if (status == WEIR_OK)
        status = plan_fits(engine_describe(model->stable->version).signature,
                           engine_describe(candidate->version).signature, err);
    if (status != WEIR_OK)
        return status;
    pthread_mutex_lock(&catalog->lock);
    status = rollout_restore(model->rollout, plan, model->stable->number, state->phase, state->step, clock_now_ns());
    if (status == WEIR_OK)
        model->candidate = candidate;
    state_commit(catalog, model);
    return status == WEIR_OK ? status : weir_fail(err, status, "the rollout has no step %d", state->step + 1);
}

/* A rollout that was on when the process ended waits until its two versions are there, and goes on; if they cannot
 * come, it is lost. */
static void restore(struct catalog *catalog, struct catalog_model *model) {
    const struct rollout_plan *plan = state_rollout(catalog, model);
    struct weir_error err;
    if (!plan || rollout_is_on(model->rollout) || !model->stable)
        return;
    struct entry *candidate = scan_find(model, plan->candidate);
    if (candidate && !candidate->version && may_come(candidate))
        return;
    if (resume(catalog, model, candidate, &err) != WEIR_OK) {
        struct rollout_state *state = state_of(catalog, model);
        char identity[ROLLOUT_FILE_IDENTITY + 1];
        if (candidate && candidate->seen.files > 0)
            state_identity(candidate, identity);
        else
            snprintf(identity, sizeof identity, "%s", state->identity); /* its files are gone, and may come back */
        rollout_file_reject(state, plan->candidate, identity, err.text);
        lose(catalog, model, err.text);
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "goes on with step %d", model->rollout->step + 1);
    catalog_tell(catalog, &(struct catalog_change){.actor = "restart",
                                                   .model = model->name,
                                                   .action = "resume",
                                                   .version = plan->candidate,
                                                   .status = WEIR_OK,
                                                   .text = text});
}

void state_choose(struct catalog *catalog, struct catalog_model *model) {
    struct rollout_state *state = state_of(catalog, model);
    struct model_choice *ready = calloc(model->entry_count + 1, sizeof *ready);
    size_t count = 0;
    for (size_t i = 0; ready && i < model->entry_count; i++)
        if (model->entries[i]->version)
            ready[count++] = (struct model_choice){.number = model->entries[i]->number,
                                                   .is_rejected = state_is_rejected(catalog, model, model->entries[i]),
                                                   .is_mended = state_is_mended(catalog, model, model->entries[i])};
    uint64_t chosen = state ? state->stable : 0, newest_seen = state ? state->newest_seen : 0;
    if (chosen == 0 && model->stable && catalog->options.hold_new)
        chosen = model->stable->number;
    if ((state_rollout(catalog, model) || catalog->options.hold_new) && chosen != 0)
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
