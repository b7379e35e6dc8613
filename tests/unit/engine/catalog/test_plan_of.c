#include "engine/catalog/plan_of.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct catalog_order order;
static struct rollout_plan plan;
static struct weir_error err;

static void setup(void) {
    order = (struct catalog_order){.version = 2};
    catalog_rollout_init(&order.rollout);
    snprintf(order.rollout.steps, sizeof order.rollout.steps, "5%% for 10m, 100%%");
}

TestSuite(plan_of, .init = setup);

Test(plan_of, what_is_not_said_takes_its_default) {
    struct rollout_plan fallback;
    rollout_plan_init(&fallback);
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan.candidate, 2);
    cr_assert_eq(plan.kind, ROLLOUT_CANARY);
    cr_assert_eq(plan.step_count, 2);
    cr_assert_eq(plan.checks.max_error_rate, fallback.checks.max_error_rate);
    cr_assert_eq(plan.compare_ppm, fallback.compare_ppm);
}

Test(plan_of, what_is_said_is_taken) {
    order.rollout.is_shadow = true;
    order.rollout.shadow_percent = 20;
    order.rollout.max_p99_ratio = -1;
    order.rollout.min_agreement = 0.5;
    snprintf(order.rollout.sticky_header, sizeof order.rollout.sticky_header, "X-User-Id");
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan.kind, ROLLOUT_SHADOW);
    cr_assert_eq(plan.shadow_ppm, 200000);
    cr_assert_eq(plan.checks.max_p99_ratio, ROLLOUT_OFF);
    cr_assert_eq(plan.checks.min_agreement, 0.5);
    cr_assert_str_eq(plan.sticky_header, "x-user-id");
}

Test(plan_of, nonsense_is_named) {
    order.rollout.shadow_percent = 120;
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "shadow_percent"), "%s", err.text);
    setup();
    snprintf(order.rollout.sticky_header, sizeof order.rollout.sticky_header, "not a header");
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "sticky_header"), "%s", err.text);
    setup();
    snprintf(order.rollout.sticky_header, sizeof order.rollout.sticky_header, "X.User~1"); /* odd, but a token */
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_str_eq(plan.sticky_header, "x.user~1");
    setup();
    snprintf(order.rollout.steps, sizeof order.rollout.steps, "five");
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_INVALID);
}

Test(plan_of, the_same_plan_is_recognised) {
    struct rollout_plan other;
    cr_assert_eq(plan_of(&order, &plan, &err), WEIR_OK);
    cr_assert_eq(plan_of(&order, &other, &err), WEIR_OK);
    cr_assert(plan_is_same(&plan, &other));
    order.rollout.max_drift = 0.1;
    cr_assert_eq(plan_of(&order, &other, &err), WEIR_OK);
    cr_assert_not(plan_is_same(&plan, &other));
}

Test(plan_of, a_candidate_must_take_and_give_the_same) {
    struct tensor_spec x = {.name = "x", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}};
    struct tensor_spec wide = x, whole = x, renamed = x;
    wide.shape.dims[1] = 5;
    whole.dtype = TENSOR_I64;
    renamed.name = "z";
    struct tensor_spec *others[] = {&wide, &whole, &renamed};
    struct signature stable = {.inputs = &x, .outputs = &x, .input_count = 1, .output_count = 1};
    cr_assert_eq(plan_fits(&stable, &stable, &err), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        struct signature candidate = stable;
        candidate.inputs = others[i];
        cr_assert_eq(plan_fits(&stable, &candidate, &err), WEIR_INVALID);
        cr_assert_not_null(strstr(err.text, "input 0"), "%s", err.text);
        candidate = stable;
        candidate.outputs = others[i];
        cr_assert_eq(plan_fits(&stable, &candidate, &err), WEIR_INVALID);
        cr_assert_not_null(strstr(err.text, "output 0"), "%s", err.text);
    }
    struct signature fewer = stable;
    fewer.output_count = 0;
    cr_assert_eq(plan_fits(&stable, &fewer, &err), WEIR_INVALID);
}
