/* What operators order, and what rollouts decide. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/catalog/content.h"
#include "engine/catalog/parts.h"
#include "engine/catalog/plan_of.h"
#include "engine/catalog/timing.h"
#include "engine/clock.h"
#include "engine/engine.h"

enum { PROMOTE_AGAIN_S = 10 };

/* Remembers the state, to go back to if the new one cannot be kept. */
static void remember(struct catalog *catalog, const struct catalog_model *model) {
    catalog->before.state = *state_of(catalog, model);
    catalog->before.rollout = *model->rollout;
}

/* Keeps the state; if that fails, nothing has changed. */
static enum weir_status keep_or_undo(struct catalog *catalog, struct catalog_model *model, struct weir_error *err) {
    enum weir_status status = state_keep(catalog, model, err);
    if (status == WEIR_OK)
        return status;
    *state_of(catalog, model) = catalog->before.state;
    pthread_mutex_lock(&catalog->lock);
    *model->rollout = catalog->before.rollout;
    pthread_mutex_unlock(&catalog->lock);
    return status;
}

/* The newest version that a choice leaves behind. One that has failed and was never left behind is new to everybody
 * once it is mended. */
static uint64_t newest_seen(const struct rollout_state *state, const struct catalog_model *model) {
    for (size_t i = 0; i < model->entry_count; i++) {
        const struct entry *entry = model->entries[i];
        bool has_failed = entry->state == CATALOG_STATE_FAILED || entry->state == CATALOG_STATE_INCOMPLETE;
        if (!has_failed || entry->number <= state->newest_seen)
            return entry->number;
    }
    return 0;
}

/* Finds the version, looking once more if it is not known yet, and loads it if it is not loaded. */
static enum weir_status need(struct catalog *catalog, struct catalog_model *model, uint64_t number, struct entry **out,
                             struct weir_error *err) {
    struct weir_error ignored;
    struct entry *entry = scan_find(model, number);
    if (!entry && scan_model(catalog, model, &ignored) == WEIR_OK)
        entry = scan_find(model, number);
    if (!entry)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no version %" PRIu64 " of %s", number, model->name);
    entry->is_unwanted = false;
    *out = entry;
    if (entry->version)
        return WEIR_OK;
    struct snapshot now;
    enum weir_status status = snapshot_take(entry->path, !model->is_loose, &now, err);
    if (status != WEIR_OK)
        return status;
    pthread_mutex_lock(&catalog->changing);
    entry->seen = now;
    pthread_mutex_unlock(&catalog->changing);
    return loading_run(catalog, model, entry, err);
}

static enum weir_status unload(struct catalog *catalog, struct catalog_model *model, struct catalog_order *order) {
    struct entry *entry = scan_find(model, order->version);
    if (!entry)
        return weir_fail(&order->error, WEIR_NOT_FOUND, "there is no version %" PRIu64 " of %s", order->version,
                         model->name);
    if (entry == model->stable || entry == model->candidate)
        return weir_fail(&order->error, WEIR_CONFLICT, "version %" PRIu64 " of %s gets requests: promote another first",
                         order->version, model->name);
    snprintf(order->text, sizeof order->text, entry->version ? "unloaded" : "was not loaded");
    order->is_unchanged = !entry->version && entry->is_unwanted;
    entry->is_wanted = false;
    entry->is_unwanted = true;
    scan_unload(catalog, entry);
    return WEIR_OK;
}

static enum weir_status unchanged(struct catalog_order *order, const char *text) {
    order->is_unchanged = true;
    snprintf(order->text, sizeof order->text, "%s", text);
    return WEIR_OK;
}

/* What was proven, in words. */
static void tell_proof(const struct entry *entry, const char *done, char *text, size_t size) {
    if (entry->samples)
        snprintf(text, size, "%s; %u samples agree in %u batches", done, entry->report.samples, entry->report.runs);
    else
        snprintf(text, size, "%s; no samples lie beside it", done);
}

static enum weir_status verify(struct catalog *catalog, struct catalog_model *model, struct catalog_order *order) {
    struct entry *entry = scan_find(model, order->version);
    if (!entry || !entry->version)
        return weir_fail(&order->error, WEIR_NOT_FOUND, "version %" PRIu64 " of %s is not loaded", order->version,
                         model->name);
    enum weir_status status = loading_prove(catalog, model, entry, &order->error);
    if (status == WEIR_OK)
        tell_proof(entry, "verified", order->text, sizeof order->text);
    return status;
}

/* Makes a loaded and proven version stable. Called with `changing`. */
static enum weir_status make_stable(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                                    struct weir_error *err) {
    struct rollout_state *state = state_of(catalog, model);
    enum weir_status status = WEIR_OK;
    if (!state)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the state of %s", model->name);
    const struct rollout_plan *rollout = state_rollout(catalog, model);
    if (rollout && entry->number != rollout->candidate)
        return weir_fail(err, WEIR_CONFLICT, "a rollout of version %" PRIu64 " of %s is under way: end it first",
                         rollout->candidate, model->name);
    remember(catalog, model);
    pthread_mutex_lock(&catalog->lock);
    if (rollout_is_on(model->rollout))
        status = rollout_promote(model->rollout, err);
    pthread_mutex_unlock(&catalog->lock);
    if (status != WEIR_OK)
        return status;
    if (rollout)
        rollout_file_end(state, ROLLOUT_PROMOTED, "", clock_unix_s());
    state->stable = entry->number;
    state->newest_seen = newest_seen(state, model);
    rollout_file_forgive(state, entry->number);
    status = keep_or_undo(catalog, model, err);
    if (status != WEIR_OK)
        return status;
    pthread_mutex_lock(&catalog->lock);
    model->stable = entry;
    model->candidate = NULL;
    entry->is_wanted = false;
    state_commit(catalog, model);
    return WEIR_OK;
}

static enum weir_status promote(struct catalog *catalog, struct catalog_model *model, struct catalog_order *order) {
    struct entry *entry;
    pthread_mutex_lock(&catalog->changing);
    const struct rollout_state *state = state_of(catalog, model);
    const struct rollout_plan *rollout = state_rollout(catalog, model);
    if (order->version == 0 && rollout)
        order->version = rollout->candidate;
    bool was_on = rollout != NULL;
    bool is_done = order->version != 0 && model->stable && model->stable->number == order->version && !was_on &&
                   state && state->stable == order->version && !model->is_unkept;
    pthread_mutex_unlock(&catalog->changing);
    if (order->version == 0)
        return weir_fail(&order->error, WEIR_CONFLICT, "no rollout of %s is under way: name a version", model->name);
    if (is_done)
        return unchanged(order, "serves already");
    enum weir_status status = need(catalog, model, order->version, &entry, &order->error);
    if (status == WEIR_OK)
        status = loading_prove(catalog, model, entry, &order->error);
    if (status != WEIR_OK)
        return status;
    pthread_mutex_lock(&catalog->changing);
    if (was_on && !state_rollout(catalog, model))
        status = weir_fail(&order->error, WEIR_CONFLICT, "the rollout of %s has ended meanwhile", model->name);
    else
        status = make_stable(catalog, model, entry, &order->error);
    pthread_mutex_unlock(&catalog->changing);
    if (status == WEIR_OK)
        tell_proof(entry, "promoted", order->text, sizeof order->text);
    return status;
}

/* Called with `changing`. */
static enum weir_status begin_rollout(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                                      const struct rollout_plan *plan, struct weir_error *err) {
    struct rollout_state *state = state_of(catalog, model);
    if (!state)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the state of %s", model->name);
    remember(catalog, model);
    outcomes_reset(&model->outcomes[0]);
    outcomes_reset(&model->outcomes[1]);
    pthread_mutex_lock(&catalog->comparing);
    *model->comparison = (struct comparison){.requests = 0};
    pthread_mutex_unlock(&catalog->comparing);
    pthread_mutex_lock(&catalog->lock);
    model->decision = (struct rollout_decision){.action = ROLLOUT_NOTHING};
    model->promote_ns = 0;
    enum weir_status status = rollout_start(model->rollout, plan, model->stable->number, clock_now_ns(), err);
    pthread_mutex_unlock(&catalog->lock);
    if (status != WEIR_OK)
        return status;
    state->stable = model->stable->number;
    state->newest_seen = newest_seen(state, model);
    rollout_file_forgive(state, entry->number);
    state_identity(entry, state->identity);
    status = keep_or_undo(catalog, model, err);
    if (status != WEIR_OK)
        return status;
    pthread_mutex_lock(&catalog->lock);
    model->candidate = entry;
    entry->is_wanted = false;
    state_commit(catalog, model);
    return WEIR_OK;
}

/* Does the state allow this rollout? *is_same: it is under way already. */
static enum weir_status may_start(struct catalog *catalog, struct catalog_model *model, const struct rollout_plan *plan,
                                  bool *is_same, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    pthread_mutex_lock(&catalog->changing);
    const struct rollout_plan *rollout = state_rollout(catalog, model);
    *is_same = rollout && plan_is_same(plan, rollout);
    if (!model->stable)
        status = weir_fail(err, WEIR_CONFLICT, "no version of %s serves yet", model->name);
    else if (rollout && !*is_same)
        status = weir_fail(err, WEIR_CONFLICT, "a rollout of version %" PRIu64 " of %s is under way",
                           rollout->candidate, model->name);
    model->is_starting = status == WEIR_OK && !*is_same;
    pthread_mutex_unlock(&catalog->changing);
    return status;
}

static enum weir_status start(struct catalog *catalog, struct catalog_model *model, struct catalog_order *order) {
    struct rollout_plan plan;
    struct entry *entry;
    bool is_same = false;
    enum weir_status status = plan_of(order, &plan, &order->error);
    if (status == WEIR_OK)
        status = may_start(catalog, model, &plan, &is_same, &order->error);
    if (status != WEIR_OK)
        return status;
    if (is_same)
        return unchanged(order, "this rollout is under way already");
    status = rollout_plan_check(&plan, model->stable->number, &order->error);
    if (status == WEIR_OK)
        status = need(catalog, model, order->version, &entry, &order->error);
    if (status == WEIR_OK)
        status = plan_fits(engine_describe(model->stable->version).signature, engine_describe(entry->version).signature,
                           &order->error);
    if (status == WEIR_OK)
        status = loading_prove(catalog, model, entry, &order->error);
    if (status == WEIR_OK && entry->on_disk)
        content_read(catalog, model, entry); /* should the rollout reject it */
    double ratio = status == WEIR_OK ? timing_of(catalog, model, entry, &plan) : 0;
    pthread_mutex_lock(&catalog->changing);
    model->timed_ratio = ratio;
    if (status == WEIR_OK && !model->is_starting)
        status = weir_fail(&order->error, WEIR_CONFLICT, "a rollback came before the rollout of %s began", model->name);
    model->is_starting = false;
    if (status == WEIR_OK)
        status = begin_rollout(catalog, model, entry, &plan, &order->error);
    pthread_mutex_unlock(&catalog->changing);
    if (status == WEIR_OK)
        plan_tell(&plan, model->stable->number, order->text, sizeof order->text);
    return status;
}

static void tell_decision(struct catalog *catalog, const struct catalog_model *model, const char *action,
                          enum weir_status status, const char *text) {
    catalog_tell(catalog, &(struct catalog_change){.actor = "rollout",
                                                   .action = action,
                                                   .model = model->name,
                                                   .version = model->rollout->plan.candidate,
                                                   .status = status,
                                                   .text = text});
}

/* Takes the candidate's requests away at once; then keeps that. is_rejected: its files are not to serve by themselves
 * any more. text and errors: of state_note. Called with `changing`. */
static enum weir_status roll_back(struct catalog *catalog, struct catalog_model *model, bool is_rejected,
                                  const char *reason, char text[STATE_TEXT]) {
    struct weir_error err;
    struct rollout_state *state = state_of(catalog, model);
    char identity[ROLLOUT_FILE_IDENTITY + 1];
    pthread_mutex_lock(&catalog->lock);
    if (rollout_is_on(model->rollout) && rollout_roll_back(model->rollout, reason, &err) != WEIR_OK)
        reason = err.text;
    if (state && model->candidate && is_rejected) {
        state_identity(model->candidate, identity);
        rollout_file_reject(state, model->candidate->number, identity, reason);
    }
    if (state)
        rollout_file_end(state, ROLLOUT_ROLLED_BACK, reason, clock_unix_s());
    model->candidate = NULL;
    state_commit(catalog, model);
    return state_note(catalog, model, reason, text);
}

static void roll_back_and_tell(struct catalog *catalog, struct catalog_model *model, bool is_rejected,
                               const char *reason) {
    char text[STATE_TEXT];
    enum weir_status status = roll_back(catalog, model, is_rejected, reason, text);
    tell_decision(catalog, model, "rollback", status, text);
}

void changes_candidate_changed(struct catalog *catalog, struct catalog_model *model) {
    roll_back_and_tell(catalog, model, true, "its files changed while it was rolled out");
}

/* What has happened and is not on the disk is tried again: a restart would undo it. Called with `changing`. */
static void keep_again(struct catalog *catalog, struct catalog_model *model) {
    struct weir_error err;
    if (model->is_unkept && state_keep(catalog, model, &err) == WEIR_OK)
        tell_decision(catalog, model, "keep", WEIR_OK, "the state is kept now");
}

/* PAUSE, RESUME and ROLL_BACK. Called with `changing`. */
static enum weir_status quick(struct catalog *catalog, struct catalog_model *model, struct catalog_order *order) {
    struct rollout_state *state = state_of(catalog, model);
    enum weir_status status;
    bool is_back = order->action == CATALOG_ROLL_BACK;
    if (is_back && model->is_starting) {
        model->is_starting = false;
        snprintf(order->text, sizeof order->text, "the rollout that is about to begin is called off");
        return WEIR_OK;
    }
    char text[STATE_TEXT];
    if (is_back && !rollout_is_on(model->rollout) && state_rollout(catalog, model)) {
        order->version = state->plan.candidate;
        status = state_give_up(catalog, model, "an operator took it back before it went on", text);
        snprintf(order->text, sizeof order->text, "the rollout that would go on is called off");
        return status == WEIR_OK ? status : weir_fail(&order->error, status, "called off: %s", text);
    }
    if (is_back && !rollout_is_on(model->rollout) && state && state->last_phase == ROLLOUT_ROLLED_BACK) {
        order->version = state->last_candidate;
        keep_again(catalog, model);
        if (model->is_unkept)
            return weir_fail(&order->error, WEIR_IO, "is rolled back, but could not be kept yet: it is tried again");
        return unchanged(order, "is rolled back already");
    }
    if (!rollout_is_on(model->rollout) || !state)
        return weir_fail(&order->error, WEIR_CONFLICT, "no rollout of %s is under way%s", model->name,
                         state_rollout(catalog, model) ? " yet: it waits for its versions" : "");
    if (order->version != 0 && order->version != model->rollout->plan.candidate)
        return weir_fail(&order->error, WEIR_CONFLICT, "the rollout under way is of version %" PRIu64 " of %s",
                         model->rollout->plan.candidate, model->name);
    order->version = model->rollout->plan.candidate;
    if (is_back) {
        bool is_shadow = model->rollout->plan.kind == ROLLOUT_SHADOW; /* whose end says nothing against the version */
        const char *reason = order->reason[0] ? order->reason : "an operator took it back";
        status = roll_back(catalog, model, !is_shadow, reason, text);
        snprintf(order->text, sizeof order->text, "rolled back: %.490s", text);
        return status == WEIR_OK ? status : weir_fail(&order->error, status, "%s", order->text);
    }
    remember(catalog, model);
    pthread_mutex_lock(&catalog->lock);
    status = order->action == CATALOG_PAUSE ? rollout_pause(model->rollout, clock_now_ns(), &order->error)
                                            : rollout_resume(model->rollout, clock_now_ns(), &order->error);
    order->is_unchanged = model->rollout->phase == catalog->before.rollout.phase;
    pthread_mutex_unlock(&catalog->lock);
    if (status == WEIR_OK)
        status = keep_or_undo(catalog, model, &order->error);
    state_apply(catalog, model);
    snprintf(order->text, sizeof order->text, order->action == CATALOG_PAUSE ? "paused" : "goes on");
    return status;
}

static enum weir_status run(struct catalog *catalog, struct catalog_model *model, struct catalog_order *order) {
    struct entry *entry;
    enum weir_status status;
    switch (order->action) {
    case CATALOG_LOAD:
        entry = scan_find(model, order->version);
        order->is_unchanged = entry && entry->version && entry->is_wanted;
        status = need(catalog, model, order->version, &entry, &order->error);
        if (status == WEIR_OK) {
            entry->is_wanted = true;
            tell_proof(entry, "loaded", order->text, sizeof order->text);
        }
        return status;
    case CATALOG_VERIFY:
        return verify(catalog, model, order);
    case CATALOG_PROMOTE:
        return promote(catalog, model, order);
    case CATALOG_START:
        return start(catalog, model, order);
    default:
        pthread_mutex_lock(&catalog->changing);
        status = order->action == CATALOG_UNLOAD ? unload(catalog, model, order) : quick(catalog, model, order);
        pthread_mutex_unlock(&catalog->changing);
        return status;
    }
}

void changes_run(struct catalog *catalog, struct catalog_order *order) {
    struct catalog_model *model = &catalog->models[order->model];
    char text[sizeof order->text + 20];
    order->text[0] = order->error.text[0] = 0;
    order->is_unchanged = false;
    order->error.status = WEIR_OK;
    order->status = run(catalog, model, order);
    snprintf(text, sizeof text, "%s%s", order->is_unchanged ? "nothing changed: " : "", order->text);
    pthread_mutex_lock(&catalog->changing);
    catalog_tell(catalog, &(struct catalog_change){.actor = order->actor,
                                                   .action = catalog_action_text(order->action),
                                                   .model = model->name,
                                                   .version = order->version,
                                                   .status = order->status,
                                                   .text = order->status == WEIR_OK ? text : order->error.text});
    pthread_mutex_unlock(&catalog->changing);
}

/* What the rollout is judged by. Called with `changing`. */
static void gather(struct catalog *catalog, struct catalog_model *model, struct rollout_evidence *out) {
    *out = (struct rollout_evidence){.stable_compute_ns = 0};
    outcomes_copy(&model->outcomes[CATALOG_STABLE], &out->stable);
    outcomes_copy(&model->outcomes[CATALOG_CANDIDATE], &out->candidate);
    pthread_mutex_lock(&catalog->comparing);
    comparison_summarize(model->comparison, &out->comparison);
    pthread_mutex_unlock(&catalog->comparing);
    struct engine_costs stable = engine_costs(catalog->options.engine, model->stable->version);
    struct engine_costs candidate = engine_costs(catalog->options.engine, model->candidate->version);
    out->stable_compute_ns = (int64_t)(stable.base_ns + stable.row_ns);
    out->candidate_compute_ns = (int64_t)(candidate.base_ns + candidate.row_ns);
    out->paired_ratio = model->timed_ratio == TIMING_NEVER ? 0
                        : model->timed_ratio > 0           ? model->timed_ratio
                                                           : 1; /* not blamed before it is timed */
}

static void tick(struct catalog *catalog, struct catalog_model *model) {
    struct rollout_decision decision;
    char text[STATE_TEXT];
    gather(catalog, model, &catalog->evidence);
    struct rollout *moved = catalog->spare; /* so that requests need not wait while it is judged */
    *moved = *model->rollout;
    rollout_tick(moved, clock_now_ns(), &catalog->evidence, &decision);
    pthread_mutex_lock(&catalog->lock);
    catalog->spare = model->rollout;
    model->rollout = moved;
    if (decision.action == ROLLOUT_PROMOTE && clock_now_ns() < model->promote_ns) {
        decision.action = ROLLOUT_NOTHING;
        snprintf(decision.text, sizeof decision.text, "%s", model->decision.text);
    }
    model->decision = decision;
    pthread_mutex_unlock(&catalog->lock);
    if (decision.action == ROLLOUT_NEXT_STEP) {
        enum weir_status status = state_note(catalog, model, decision.text, text);
        state_apply(catalog, model); /* last: a restart must not go back to less */
        tell_decision(catalog, model, "step", status, text);
    } else if (decision.action == ROLLOUT_ROLL_BACK) {
        roll_back_and_tell(catalog, model, true, decision.text);
        catalog_look(catalog, 0);
    } else if (decision.action == ROLLOUT_PROMOTE) {
        pthread_mutex_lock(&catalog->lock);
        catalog->promoting = true;
        pthread_cond_signal(&catalog->loader_wakes);
        pthread_mutex_unlock(&catalog->lock);
    }
}

bool changes_tick(struct catalog *catalog) {
    bool any = false;
    pthread_mutex_lock(&catalog->changing);
    for (int i = 0; i < catalog->model_count; i++) {
        struct catalog_model *model = &catalog->models[i];
        keep_again(catalog, model);
        if (rollout_is_on(model->rollout) && model->candidate && model->candidate->version && model->stable)
            tick(catalog, model);
        any |= rollout_is_on(model->rollout);
    }
    pthread_mutex_unlock(&catalog->changing);
    return any;
}

/* What is to blame may pass: the rollout goes on as it is, and the promotion is tried again after a while. */
static void put_off(struct catalog *catalog, struct catalog_model *model, const char *why) {
    pthread_mutex_lock(&catalog->lock);
    model->promote_ns = clock_now_ns() + PROMOTE_AGAIN_S * CLOCK_NS_PER_S;
    model->decision.action = ROLLOUT_NOTHING;
    snprintf(model->decision.text, sizeof model->decision.text, "the promotion is put off: %.200s", why);
    pthread_mutex_unlock(&catalog->lock);
}

void changes_promote_advised(struct catalog *catalog) {
    for (int i = 0; i < catalog->model_count; i++) {
        struct catalog_model *model = &catalog->models[i];
        pthread_mutex_lock(&catalog->lock);
        bool is_advised = rollout_is_on(model->rollout) && model->decision.action == ROLLOUT_PROMOTE;
        pthread_mutex_unlock(&catalog->lock);
        if (!is_advised)
            continue;
        struct catalog_order order = {.action = CATALOG_PROMOTE, .model = i};
        enum weir_status status = promote(catalog, model, &order);
        pthread_mutex_lock(&catalog->changing);
        if (status == WEIR_OK) {
            tell_decision(catalog, model, "promote", WEIR_OK, order.text);
        } else if (rollout_is_on(model->rollout) && !loading_may_pass(status)) {
            roll_back_and_tell(catalog, model, true, order.error.text);
        } else if (rollout_is_on(model->rollout)) {
            put_off(catalog, model, order.error.text);
            tell_decision(catalog, model, "promote", status, model->decision.text);
        }
        pthread_mutex_unlock(&catalog->changing);
    }
}
