#include "engine/model/rollout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/model/rollout_judge.h"
#include "engine/utf8.h"

/* A compute ratio must be too high for a few ticks: the cost models begin with the warm-up. */
enum { SLOW_TICKS = 3, SLOW_REQUESTS = 20, STABLE_OF_A_WINDOW = 30, MOST_OF_A_WINDOW = 2000 };
enum { WHOLE_PPM = 1000000 };

void rollout_init(struct rollout *rollout) {
    memset(rollout, 0, sizeof *rollout);
    rollout_plan_init(&rollout->plan);
}

static void begin(struct rollout *rollout, const struct rollout_plan *plan, int64_t now_ns) {
    struct rollout_plan copy = *plan; /* it may be the rollout's own */
    memset(rollout, 0, sizeof *rollout);
    rollout->phase = ROLLOUT_RUNNING;
    rollout->plan = copy;
    rollout->step_began_ns = now_ns;
    rollout->is_early = true;
}

enum weir_status rollout_start(struct rollout *rollout, const struct rollout_plan *plan, uint64_t stable,
                               int64_t now_ns, struct weir_error *err) {
    if (rollout_is_on(rollout))
        return weir_fail(err, WEIR_BUSY, "a rollout of version %" PRIu64 " is %s", rollout->plan.candidate,
                         rollout_phase_text(rollout->phase));
    enum weir_status status = rollout_plan_check(plan, stable, err);
    if (status == WEIR_OK)
        begin(rollout, plan, now_ns);
    return status;
}

enum weir_status rollout_restore(struct rollout *rollout, const struct rollout_plan *plan, uint64_t stable,
                                 enum rollout_phase phase, int step, int64_t now_ns) {
    int steps = plan->step_count > 0 ? plan->step_count : 1;
    if ((phase != ROLLOUT_RUNNING && phase != ROLLOUT_PAUSED) || step < 0 || step >= steps)
        return WEIR_INVALID;
    enum weir_status status = rollout_plan_check(plan, stable, NULL);
    if (status != WEIR_OK)
        return status;
    begin(rollout, plan, now_ns);
    rollout->phase = phase;
    rollout->step = step;
    rollout->paused_ns = now_ns;
    return WEIR_OK;
}

static enum weir_status none_is_on(const struct rollout *rollout, struct weir_error *err) {
    return weir_fail(err, WEIR_NOT_FOUND, "no rollout is on: the last one is %s", rollout_phase_text(rollout->phase));
}

enum weir_status rollout_pause(struct rollout *rollout, int64_t now_ns, struct weir_error *err) {
    if (!rollout_is_on(rollout))
        return none_is_on(rollout, err);
    if (rollout->phase == ROLLOUT_RUNNING) {
        rollout->phase = ROLLOUT_PAUSED;
        rollout->paused_ns = now_ns;
    }
    return WEIR_OK;
}

enum weir_status rollout_resume(struct rollout *rollout, int64_t now_ns, struct weir_error *err) {
    if (!rollout_is_on(rollout))
        return none_is_on(rollout, err);
    if (rollout->phase == ROLLOUT_PAUSED) {
        rollout->phase = ROLLOUT_RUNNING;
        rollout->step_began_ns += now_ns - rollout->paused_ns;
    }
    return WEIR_OK;
}

enum weir_status rollout_promote(struct rollout *rollout, struct weir_error *err) {
    if (!rollout_is_on(rollout) && rollout->phase != ROLLOUT_PROMOTED)
        return none_is_on(rollout, err);
    rollout->phase = ROLLOUT_PROMOTED;
    return WEIR_OK;
}

enum weir_status rollout_roll_back(struct rollout *rollout, const char *reason, struct weir_error *err) {
    if (rollout->phase == ROLLOUT_ROLLED_BACK)
        return WEIR_OK;
    if (!rollout_is_on(rollout))
        return none_is_on(rollout, err);
    rollout->phase = ROLLOUT_ROLLED_BACK;
    rollout_copy_text(rollout->reason, reason);
    return WEIR_OK;
}

static void window_since(const struct rollout_evidence *now, const struct rollout_window *then,
                         struct rollout_window *out) {
    outcomes_since(&now->stable, &then->stable, &out->stable);
    outcomes_since(&now->candidate, &then->candidate, &out->candidate);
}

static void mark(struct rollout_window *window, const struct rollout_evidence *now) {
    window->stable = now->stable;
    window->candidate = now->candidate;
}

/* Looks at the requests of late, so that a candidate that turns bad is not excused by its past, and at all of the step,
 * which shows what is only slightly over. */
static bool fails(struct rollout *rollout, const struct rollout_evidence *evidence, struct rollout_window *window,
                  char *reason) {
    struct rollout_look look = {.plan = &rollout->plan, .recent = window, .all = evidence};
    window_since(evidence, &rollout->start, window);
    look.is_slow = rollout->slow_ticks >= SLOW_TICKS && window->candidate.requests >= SLOW_REQUESTS;
    look.is_early = rollout->is_early;
    if (rollout_judge_fails(&look, reason, ROLLOUT_TEXT))
        return true;
    if (rollout->is_early)
        return false;
    window_since(evidence, &rollout->base, window);
    return rollout_judge_fails(&look, reason, ROLLOUT_TEXT);
}

/* A window is at least one stretch of ROLLOUT_P99_REQUESTS long and less than two. At a high weight stable has few
 * requests; then a stretch grows somewhat, but not without bound. */
static void move_windows(struct rollout *rollout, const struct rollout_evidence *evidence,
                         struct rollout_window *window) {
    window_since(evidence, &rollout->middle, window);
    uint64_t requests = window->candidate.requests;
    if (requests < ROLLOUT_P99_REQUESTS ||
        (window->stable.requests < STABLE_OF_A_WINDOW && requests < MOST_OF_A_WINDOW))
        return;
    rollout->base = rollout->middle;
    mark(&rollout->middle, evidence);
    rollout->is_early = rollout->is_early && rollout->base.candidate.requests == rollout->start.candidate.requests;
}

/* What the step still waits for; "" if it is over. */
static void tell_wait(const struct rollout *rollout, int64_t now_ns, const struct rollout_evidence *evidence,
                      struct rollout_window *window, char text[ROLLOUT_TEXT]) {
    const struct rollout_plan *plan = &rollout->plan;
    const struct rollout_step *step = &plan->steps[rollout->step];
    struct rollout_look look = {.plan = plan, .recent = window, .all = evidence};
    char reason[ROLLOUT_TEXT - 40];
    text[0] = '\0';
    if (plan->step_count == 0) {
        snprintf(text, ROLLOUT_TEXT, "the shadow has no steps: it lasts until it is ended");
        return;
    }
    window_since(evidence, &rollout->start, window);
    uint64_t seen = plan->kind == ROLLOUT_SHADOW ? evidence->comparison.requests - rollout->compared_before
                                                 : window->candidate.requests;
    int64_t left_ns = step->hold_ns - (now_ns - rollout->step_began_ns);
    if (rollout->phase == ROLLOUT_PAUSED)
        snprintf(text, ROLLOUT_TEXT, "step %d of %d is paused", rollout->step + 1, plan->step_count);
    else if (left_ns > 0)
        snprintf(text, ROLLOUT_TEXT, "step %d of %d is held for another %.1f s", rollout->step + 1, plan->step_count,
                 (double)left_ns / 1e9);
    else if (seen < step->min_requests)
        snprintf(text, ROLLOUT_TEXT, "step %d of %d waits for requests: %" PRIu64 " of %" PRIu32, rollout->step + 1,
                 plan->step_count, seen, step->min_requests);
    else if (!rollout_judge_passes(&look, reason, sizeof reason))
        snprintf(text, ROLLOUT_TEXT, "step %d of %d waits: %s", rollout->step + 1, plan->step_count, reason);
}

static void take_next_step(struct rollout *rollout, int64_t now_ns, const struct rollout_evidence *evidence) {
    rollout->step++;
    rollout->step_began_ns = now_ns;
    rollout->compared_before = evidence->comparison.requests;
    rollout->slow_ticks = 0;
    rollout->is_early = true;
    mark(&rollout->start, evidence);
    rollout->base = rollout->middle = rollout->start;
}

static void count_slow(struct rollout *rollout, const struct rollout_evidence *evidence) {
    if (!rollout_judge_is_slow(&rollout->plan, evidence))
        rollout->slow_ticks = 0;
    else if (evidence->candidate.requests != rollout->requests_at_tick)
        rollout->slow_ticks++;
    rollout->requests_at_tick = evidence->candidate.requests;
}

void rollout_tick(struct rollout *rollout, int64_t now_ns, const struct rollout_evidence *evidence,
                  struct rollout_decision *out) {
    const struct rollout_plan *plan = &rollout->plan;
    struct rollout_window window;
    *out = (struct rollout_decision){.action = ROLLOUT_NOTHING};
    if (!rollout_is_on(rollout))
        return;
    count_slow(rollout, evidence);
    if (fails(rollout, evidence, &window, out->text)) {
        out->action = ROLLOUT_ROLL_BACK;
        rollout->phase = ROLLOUT_ROLLED_BACK;
        memcpy(rollout->reason, out->text, sizeof rollout->reason);
        return;
    }
    tell_wait(rollout, now_ns, evidence, &window, out->text);
    bool is_over = out->text[0] == '\0', is_last = rollout->step + 1 >= plan->step_count;
    if (!is_over) {
        move_windows(rollout, evidence, &window);
    } else if (!is_last) {
        take_next_step(rollout, now_ns, evidence);
        out->action = ROLLOUT_NEXT_STEP;
        snprintf(out->text, ROLLOUT_TEXT, "step %d of %d begins: %.7g%%", rollout->step + 1, plan->step_count,
                 plan->steps[rollout->step].weight_ppm / 1e4);
    } else {
        move_windows(rollout, evidence, &window);
        out->action = plan->auto_promote ? ROLLOUT_PROMOTE : ROLLOUT_NOTHING;
        snprintf(out->text, ROLLOUT_TEXT, "the last of %d steps is over: %s", plan->step_count,
                 plan->auto_promote ? "all checks passed" : "it waits to be promoted");
    }
}

void rollout_copy_text(char out[ROLLOUT_TEXT], const char *text) {
    size_t left = strlen(text), used = 0, length;
    for (; left > 0; text += length, left -= length) {
        length = utf8_length(text, left);
        bool is_plain = length > 0 && (unsigned char)*text >= ' ' && *text != 0x7f;
        length = length > 0 ? length : 1;
        if (used + (is_plain ? length : 1) >= ROLLOUT_TEXT)
            break;
        if (is_plain)
            memcpy(out + used, text, length);
        else
            out[used] = '?';
        used += is_plain ? length : 1;
    }
    out[used] = '\0';
}

bool rollout_is_on(const struct rollout *rollout) {
    return rollout->phase == ROLLOUT_RUNNING || rollout->phase == ROLLOUT_PAUSED;
}

const char *rollout_phase_text(enum rollout_phase phase) {
    static const char *const TEXTS[] = {
#define ROLLOUT_PHASE_TEXT(name, text) [ROLLOUT_##name] = text,
        ROLLOUT_PHASE_LIST(ROLLOUT_PHASE_TEXT)
#undef ROLLOUT_PHASE_TEXT
    };
    return (unsigned)phase < ROLLOUT_PHASE_COUNT ? TEXTS[phase] : "unknown";
}

uint32_t rollout_weight_ppm(const struct rollout *rollout) {
    if (rollout->phase == ROLLOUT_PROMOTED)
        return WHOLE_PPM;
    if (!rollout_is_on(rollout) || rollout->plan.kind == ROLLOUT_SHADOW)
        return 0;
    return rollout->plan.steps[rollout->step].weight_ppm;
}

uint32_t rollout_shadow_ppm(const struct rollout *rollout) {
    return rollout_is_on(rollout) ? rollout->plan.shadow_ppm : 0;
}

uint32_t rollout_compare_ppm(const struct rollout *rollout) {
    return rollout_is_on(rollout) && rollout->plan.kind == ROLLOUT_CANARY ? rollout->plan.compare_ppm : 0;
}
