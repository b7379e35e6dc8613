#include "engine/model/rollout_plan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/clock.h"

static struct rollout_plan plan;
static struct weir_error err;

static void setup(void) {
    rollout_plan_init(&plan);
    plan.candidate = 2;
}

TestSuite(rollout_plan, .init = setup);

static void read_steps(const char *text) {
    cr_assert_eq(rollout_plan_read_steps(text, &plan, &err), WEIR_OK, "%s", err.text);
}

static void expect_bad_steps(const char *text, const char *words) {
    cr_assert_eq(rollout_plan_read_steps(text, &plan, &err), WEIR_INVALID, "\"%s\"", text);
    cr_assert(strstr(err.text, words), "\"%s\": %s", text, err.text);
    cr_assert_eq(plan.step_count, 0, "an error leaves the plan alone");
}

static void expect_bad_plan(const char *words) {
    cr_assert_eq(rollout_plan_check(&plan, 1, &err), WEIR_INVALID, "wanted: %s", words);
    cr_assert(strstr(err.text, words), "%s", err.text);
}

Test(rollout_plan, steps_are_shares_and_times) {
    read_steps("5% for 10m, 25% for 10m, 100%");
    cr_assert_eq(plan.step_count, 3);
    cr_assert_eq(plan.steps[0].weight_ppm, 50000);
    cr_assert_eq(plan.steps[0].hold_ns, 600 * CLOCK_NS_PER_S);
    cr_assert_eq(plan.steps[0].min_requests, 50);
    cr_assert_eq(plan.steps[1].weight_ppm, 250000);
    cr_assert_eq(plan.steps[2].weight_ppm, 1000000);
    cr_assert_eq(plan.steps[2].hold_ns, 0);
    cr_assert_eq(rollout_plan_check(&plan, 1, &err), WEIR_OK, "%s", err.text);
}

Test(rollout_plan, all_units_and_decimals_are_read) {
    read_steps("0.5%for 90s,1.25 % for 2h with 1000 requests , 3% for 500ms,4% for 1.5d,5% with 0 requests");
    cr_assert_eq(plan.step_count, 5);
    cr_assert_eq(plan.steps[0].weight_ppm, 5000);
    cr_assert_eq(plan.steps[0].hold_ns, 90 * CLOCK_NS_PER_S);
    cr_assert_eq(plan.steps[1].weight_ppm, 12500);
    cr_assert_eq(plan.steps[1].hold_ns, 7200 * CLOCK_NS_PER_S);
    cr_assert_eq(plan.steps[1].min_requests, 1000);
    cr_assert_eq(plan.steps[2].hold_ns, CLOCK_NS_PER_S / 2);
    cr_assert_eq(plan.steps[3].hold_ns, 129600 * CLOCK_NS_PER_S);
    cr_assert_eq(plan.steps[4].min_requests, 0);
}

Test(rollout_plan, the_text_of_steps_is_read_back_as_the_same) {
    static const char *const TEXTS[] = {"5% for 10m, 25% for 10m, 100%",
                                        "0.1% for 90s, 0.5% for 2h with 7 requests, 33.3333% for 1d, 100%",
                                        "1% for 1500ms"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        char text[256];
        read_steps(TEXTS[i]);
        cr_assert_str_eq(rollout_plan_steps_text(&plan, text, sizeof text), TEXTS[i]);
    }
    char small[8];
    cr_assert_str_eq(rollout_plan_steps_text(&plan, small, sizeof small), "1% for ", "cut where there is no room");
}

Test(rollout_plan, a_bad_step_is_named) {
    expect_bad_steps("", "step 1");
    expect_bad_steps("5", "expecting %");
    expect_bad_steps("%", "expecting a share");
    expect_bad_steps("-5%", "expecting a share");
    expect_bad_steps("1e1%", "expecting %");
    expect_bad_steps("101%", "at most 100%");
    expect_bad_steps("99999999999999999999%", "expecting a share");
    expect_bad_steps("0.00001%", "expecting a share");
    expect_bad_steps("5% for", "expecting a time");
    expect_bad_steps("5% for 10", "expecting ms, s, m, h or d");
    expect_bad_steps("5% for 10minutes", "expecting ms, s, m, h or d");
    expect_bad_steps("5% for 400d", "at most 365d");
    expect_bad_steps("5% for 10m, ", "step 2");
    expect_bad_steps("5% for 10m 25%", "expecting a comma");
    expect_bad_steps("5% for 10m, 25% with 1.5 requests", "a number of requests");
    expect_bad_steps("5% with 5", "the word requests");
    expect_bad_steps("1%,2%,3%,4%,5%,6%,7%,8%,9%,10%,11%,12%,13%,14%,15%,16%,17%", "at most 16");
}

Test(rollout_plan, the_candidate_is_not_stable) {
    read_steps("5%");
    plan.candidate = 1;
    expect_bad_plan("version 1 is stable already");
}

Test(rollout_plan, shares_grow_unless_they_may_shrink) {
    read_steps("5%, 5%");
    expect_bad_plan("it must grow from 5%");
    read_steps("50%, 5%, 100%");
    expect_bad_plan("step 2 is 5%");
    plan.may_shrink = true;
    cr_assert_eq(rollout_plan_check(&plan, 1, &err), WEIR_OK);
}

Test(rollout_plan, a_canary_has_steps_within_bounds) {
    expect_bad_plan("at least one step");
    read_steps("0.05%");
    expect_bad_plan("not between 0.1% and 100%");
    read_steps("5%");
    plan.steps[0].hold_ns = -1;
    expect_bad_plan("step 1 is held");
    plan.step_count = 17;
    expect_bad_plan("at most 16");
}

Test(rollout_plan, a_shadow_needs_a_share_to_copy_and_no_steps) {
    plan.kind = ROLLOUT_SHADOW;
    expect_bad_plan("needs a share");
    plan.shadow_ppm = 200000;
    cr_assert_eq(rollout_plan_check(&plan, 1, &err), WEIR_OK, "%s", err.text);
    plan.shadow_ppm = 2000000;
    expect_bad_plan("more than 100%");
}

Test(rollout_plan, limits_are_off_or_make_sense) {
    read_steps("5%");
    plan.checks = (struct rollout_checks){-1, -1, -1, -1, -1, -1};
    cr_assert_eq(rollout_plan_check(&plan, 1, &err), WEIR_OK, "%s", err.text);
    plan.checks.max_p99_ratio = 0.5;
    expect_bad_plan("max_p99_ratio");
    plan.checks.max_p99_ratio = NAN;
    expect_bad_plan("max_p99_ratio");
    plan.checks.max_p99_ratio = 2;
    plan.checks.min_agreement = 90;
    expect_bad_plan("min_agreement");
}

Test(rollout_plan, the_sticky_header_is_a_name_in_lower_case) {
    read_steps("5%");
    strcpy(plan.sticky_header, "x-user-id");
    cr_assert_eq(rollout_plan_check(&plan, 1, &err), WEIR_OK);
    strcpy(plan.sticky_header, "X-User");
    expect_bad_plan("sticky header");
    strcpy(plan.sticky_header, "x user");
    expect_bad_plan("sticky header");
}
