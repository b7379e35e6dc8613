#include "engine/catalog/plan_of.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const action_texts[] = {
#define ACTION_TEXT(name, text) text,
    CATALOG_ACTION_LIST(ACTION_TEXT)
#undef ACTION_TEXT
};

const char *catalog_action_text(enum catalog_action action) {
    return action_texts[action];
}

void catalog_rollout_init(struct catalog_rollout *rollout) {
#define UNSAID(check) .check = NAN,
    *rollout = (struct catalog_rollout){.shadow_percent = NAN, .compare_percent = NAN, ROLLOUT_CHECK_LIST(UNSAID)};
#undef UNSAID
}

static enum weir_status read_percent(const char *name, double percent, uint32_t *ppm, struct weir_error *err) {
    if (isnan(percent))
        return WEIR_OK;
    if (!(percent >= 0 && percent <= 100))
        return weir_fail(err, WEIR_INVALID, "%s: %g is not a percentage from 0 to 100", name, percent);
    *ppm = (uint32_t)lround(percent * 1e4);
    return WEIR_OK;
}

static void take(double wanted, double *check) {
    if (!isnan(wanted))
        *check = wanted < 0 ? ROLLOUT_OFF : wanted;
}

enum weir_status plan_of(const struct catalog_order *order, struct rollout_plan *out, struct weir_error *err) {
    const struct catalog_rollout *wanted = &order->rollout;
    struct rollout_plan plan;
    rollout_plan_init(&plan);
    plan.candidate = order->version;
    plan.kind = wanted->is_shadow ? ROLLOUT_SHADOW : ROLLOUT_CANARY;
    plan.may_shrink = wanted->may_shrink;
    plan.auto_promote = wanted->auto_promote;
    enum weir_status status = wanted->steps[0] ? rollout_plan_read_steps(wanted->steps, &plan, err) : WEIR_OK;
    if (status == WEIR_OK)
        status = read_percent("shadow_percent", wanted->shadow_percent, &plan.shadow_ppm, err);
    if (status == WEIR_OK)
        status = read_percent("compare_percent", wanted->compare_percent, &plan.compare_ppm, err);
    if (status == WEIR_OK)
        status = rollout_plan_read_header(wanted->sticky_header, &plan, err);
    if (status != WEIR_OK)
        return status;
#define TAKE(check) take(wanted->check, &plan.checks.check);
    ROLLOUT_CHECK_LIST(TAKE)
#undef TAKE
    *out = plan;
    return WEIR_OK;
}

static bool same_checks(const struct rollout_checks *a, const struct rollout_checks *b) {
#define SAME(check) &&a->check == b->check
    return true ROLLOUT_CHECK_LIST(SAME);
#undef SAME
}

bool plan_is_same(const struct rollout_plan *a, const struct rollout_plan *b) {
    char one[1024], other[1024];
    return a->candidate == b->candidate && a->kind == b->kind && a->shadow_ppm == b->shadow_ppm &&
           a->compare_ppm == b->compare_ppm && a->may_shrink == b->may_shrink && a->auto_promote == b->auto_promote &&
           strcmp(a->sticky_header, b->sticky_header) == 0 && same_checks(&a->checks, &b->checks) &&
           strcmp(rollout_plan_steps_text(a, one, sizeof one), rollout_plan_steps_text(b, other, sizeof other)) == 0;
}

void plan_tell(const struct rollout_plan *plan, uint64_t stable, char *text, size_t size) {
    char steps[300];
    snprintf(text, size, "%s of version %" PRIu64 " beside %" PRIu64 ": %s", rollout_kind_text(plan->kind),
             plan->candidate, stable,
             plan->step_count > 0 ? rollout_plan_steps_text(plan, steps, sizeof steps) : "until it is ended");
}

static enum weir_status compare_specs(const char *what, const struct tensor_spec *stable, int stable_count,
                                      const struct tensor_spec *candidate, int candidate_count,
                                      struct weir_error *err) {
    if (stable_count != candidate_count)
        return weir_fail(err, WEIR_INVALID, "the candidate has %d %ss, stable has %d", candidate_count, what,
                         stable_count);
    for (int i = 0; i < stable_count; i++) {
        char is[160], was[160];
        tensor_shape_text(&candidate[i].shape, is, sizeof is);
        tensor_shape_text(&stable[i].shape, was, sizeof was);
        if (strcmp(stable[i].name, candidate[i].name) != 0 || stable[i].dtype != candidate[i].dtype ||
            strcmp(is, was) != 0)
            return weir_fail(err, WEIR_INVALID,
                             "the candidate's %s %d is \"%s\" %s %s, stable's is \"%s\" %s %s: it cannot answer the "
                             "same requests",
                             what, i, candidate[i].name, tensor_dtype_text(candidate[i].dtype), is, stable[i].name,
                             tensor_dtype_text(stable[i].dtype), was);
    }
    return WEIR_OK;
}

enum weir_status plan_fits(const struct signature *stable, const struct signature *candidate, struct weir_error *err) {
    enum weir_status status =
        compare_specs("input", stable->inputs, stable->input_count, candidate->inputs, candidate->input_count, err);
    return status == WEIR_OK ? compare_specs("output", stable->outputs, stable->output_count, candidate->outputs,
                                             candidate->output_count, err)
                             : status;
}
