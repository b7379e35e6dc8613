#include "engine/model/rollout.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/clock.h"

static struct rollout rollout;
static struct rollout_plan plan;
static struct rollout_evidence evidence;
static struct rollout_decision decision;
static struct weir_error err;
static int64_t now_ns;

static void setup(void) {
    rollout_init(&rollout);
    rollout_plan_init(&plan);
    plan.candidate = 2;
    cr_assert_eq(rollout_plan_read_steps("5% for 10s, 50% for 10s, 100%", &plan, &err), WEIR_OK);
}

TestSuite(rollout, .init = setup);

static void start(void) {
    cr_assert_eq(rollout_start(&rollout, &plan, 1, now_ns, &err), WEIR_OK, "%s", err.text);
}

/* Requests that take 3 ms, `each` of either version. */
static void see(uint64_t each) {
    enum { BUCKET = 400 };
    struct outcomes_counts *both[] = {&evidence.stable, &evidence.candidate};
    for (int i = 0; i < 2; i++) {
        both[i]->requests += each;
        both[i]->timed += each;
        both[i]->buckets[BUCKET] += each;
    }
}

static enum rollout_action tick(int64_t later_ns) {
    now_ns += later_ns;
    rollout_tick(&rollout, now_ns, &evidence, &decision);
    return decision.action;
}

static void expect_text(const char *words) {
    cr_assert(strstr(decision.text, words), "\"%s\", wanted: %s", decision.text, words);
}

Test(rollout, without_one_the_candidate_gets_nothing) {
    see(1000);
    cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    cr_assert_eq(rollout_weight_ppm(&rollout), 0);
    cr_assert_eq(rollout_shadow_ppm(&rollout), 0);
    cr_assert_eq(rollout_compare_ppm(&rollout), 0);
    cr_assert_not(rollout_is_on(&rollout));
    cr_assert_eq(rollout_pause(&rollout, 0, &err), WEIR_NOT_FOUND);
    cr_assert_eq(rollout_resume(&rollout, 0, &err), WEIR_NOT_FOUND);
    cr_assert_eq(rollout_promote(&rollout, &err), WEIR_NOT_FOUND);
    cr_assert_eq(rollout_roll_back(&rollout, "", &err), WEIR_NOT_FOUND);
}

Test(rollout, steps_follow_each_other_when_held_and_seen_enough) {
    start();
    cr_assert_eq(rollout_weight_ppm(&rollout), 50000);
    cr_assert_eq(rollout_compare_ppm(&rollout), 1000000);
    see(60);
    cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    expect_text("step 1 of 3 is held for another 9.0 s");
    cr_assert_eq(tick(9 * CLOCK_NS_PER_S), ROLLOUT_NEXT_STEP);
    expect_text("step 2 of 3 begins: 50%");
    cr_assert_eq(rollout_weight_ppm(&rollout), 500000);
    see(60);
    cr_assert_eq(tick(10 * CLOCK_NS_PER_S), ROLLOUT_NEXT_STEP);
    cr_assert_eq(rollout_weight_ppm(&rollout), 1000000);
    see(60);
    cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    expect_text("it waits to be promoted");
    cr_assert_eq(rollout_promote(&rollout, &err), WEIR_OK);
    cr_assert_eq(rollout.phase, ROLLOUT_PROMOTED);
    cr_assert_eq(rollout_promote(&rollout, &err), WEIR_OK, "asked twice");
    cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NOTHING);
}

Test(rollout, no_traffic_is_no_success) {
    start();
    see(49);
    cr_assert_eq(tick(3600 * CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    expect_text("step 1 of 3 waits for requests: 49 of 50");
    see(1);
    cr_assert_eq(tick(1), ROLLOUT_NEXT_STEP);
    cr_assert_eq(tick(3600 * CLOCK_NS_PER_S), ROLLOUT_NOTHING, "requests of the step before do not count");
    expect_text("0 of 50");
}

Test(rollout, promotion_is_advice_and_only_when_asked_for) {
    plan.auto_promote = true;
    cr_assert_eq(rollout_plan_read_steps("100%", &plan, &err), WEIR_OK);
    start();
    see(50);
    cr_assert_eq(tick(1), ROLLOUT_PROMOTE);
    cr_assert_eq(rollout.phase, ROLLOUT_RUNNING);
    cr_assert_eq(tick(1), ROLLOUT_PROMOTE, "it comes again until it is done");
    cr_assert_eq(rollout_promote(&rollout, &err), WEIR_OK);
    cr_assert_eq(tick(1), ROLLOUT_NOTHING);
}

Test(rollout, a_rollback_takes_the_traffic_away_at_once) {
    plan.shadow_ppm = 100000;
    start();
    cr_assert_eq(rollout_shadow_ppm(&rollout), 100000);
    see(100);
    evidence.candidate.errors += 50;
    cr_assert_eq(tick(1), ROLLOUT_ROLL_BACK);
    expect_text("errors: 50 of 100 requests, rate 0.5000, limit 0.0200, stable's 0.0000");
    cr_assert_str_eq(rollout.reason, decision.text);
    cr_assert_eq(rollout.phase, ROLLOUT_ROLLED_BACK);
    cr_assert_eq(rollout_weight_ppm(&rollout) + rollout_shadow_ppm(&rollout) + rollout_compare_ppm(&rollout), 0);
    cr_assert_eq(tick(1), ROLLOUT_NOTHING, "it is told once");
}

Test(rollout, an_operator_rolls_back_with_a_reason) {
    start();
    cr_assert_eq(rollout_roll_back(&rollout, "asked for by an operator", &err), WEIR_OK);
    cr_assert_str_eq(rollout.reason, "asked for by an operator");
    cr_assert_eq(rollout_weight_ppm(&rollout), 0);
    cr_assert_eq(rollout_roll_back(&rollout, "again", &err), WEIR_OK, "asked twice");
    cr_assert_str_eq(rollout.reason, "asked for by an operator");
    cr_assert_eq(rollout_promote(&rollout, &err), WEIR_NOT_FOUND);
}

Test(rollout, a_candidate_that_turns_bad_is_not_excused_by_its_past) {
    cr_assert_eq(rollout_plan_read_steps("50% for 1d", &plan, &err), WEIR_OK);
    start();
    for (int i = 0; i < 1000; i++) {
        see(50);
        cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NOTHING, "%s", decision.text);
    }
    int requests = 0;
    while (requests < 1000 && rollout_is_on(&rollout)) {
        see(20);
        evidence.candidate.errors++; /* of 20 requests */
        requests += 20;
        tick(CLOCK_NS_PER_S / 4);
    }
    cr_assert_leq(requests, 200, "after %d requests", requests);
}

Test(rollout, a_pause_keeps_the_weight_and_stops_the_steps) {
    start();
    see(60);
    tick(4 * CLOCK_NS_PER_S);
    cr_assert_eq(rollout_pause(&rollout, now_ns, &err), WEIR_OK);
    cr_assert_eq(rollout_pause(&rollout, now_ns + 1, &err), WEIR_OK, "asked twice");
    cr_assert_eq(tick(100 * CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    expect_text("step 1 of 3 is paused");
    cr_assert_eq(rollout_weight_ppm(&rollout), 50000);
    cr_assert_eq(rollout_resume(&rollout, now_ns, &err), WEIR_OK);
    cr_assert_eq(rollout_resume(&rollout, now_ns + 1, &err), WEIR_OK, "asked twice");
    cr_assert_eq(tick(5 * CLOCK_NS_PER_S), ROLLOUT_NOTHING, "the time spent paused does not count");
    cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NEXT_STEP);
}

Test(rollout, a_paused_candidate_is_still_judged) {
    start();
    cr_assert_eq(rollout_pause(&rollout, now_ns, &err), WEIR_OK);
    see(100);
    evidence.candidate.errors += 50;
    cr_assert_eq(tick(1), ROLLOUT_ROLL_BACK);
}

Test(rollout, a_shadow_answers_nobody) {
    plan.kind = ROLLOUT_SHADOW;
    plan.shadow_ppm = 200000;
    plan.step_count = 1;
    start();
    cr_assert_eq(rollout_weight_ppm(&rollout), 0);
    cr_assert_eq(rollout_shadow_ppm(&rollout), 200000);
    cr_assert_eq(rollout_compare_ppm(&rollout), 0);
    see(1000);
    cr_assert_eq(tick(20 * CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    expect_text("0 of 50"); /* it is what was compared that counts */
    evidence.comparison.requests = 50;
    cr_assert_eq(tick(1), ROLLOUT_NOTHING);
    expect_text("waits to be promoted");
}

Test(rollout, a_shadow_without_steps_lasts_until_it_is_ended) {
    plan.kind = ROLLOUT_SHADOW;
    plan.shadow_ppm = 200000;
    plan.step_count = 0;
    plan.auto_promote = true;
    start();
    see(1000);
    evidence.comparison.requests = 1000;
    cr_assert_eq(tick(3600 * CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    expect_text("until it is ended");
}

Test(rollout, only_one_is_on_at_a_time) {
    start();
    cr_assert_eq(rollout_start(&rollout, &plan, 1, now_ns, &err), WEIR_BUSY);
    cr_assert(strstr(err.text, "version 2 is running"), "%s", err.text);
    cr_assert_eq(rollout_roll_back(&rollout, "", &err), WEIR_OK);
    start();
    cr_assert_str_eq(rollout.reason, "");
}

Test(rollout, a_bad_plan_is_not_started) {
    cr_assert_eq(rollout_start(&rollout, &plan, 2, now_ns, &err), WEIR_INVALID);
    cr_assert(strstr(err.text, "stable already"), "%s", err.text);
    cr_assert_eq(rollout.phase, ROLLOUT_NONE);
}

Test(rollout, after_a_restart_the_step_begins_anew) {
    now_ns = 77 * CLOCK_NS_PER_S;
    cr_assert_eq(rollout_restore(&rollout, &plan, 1, ROLLOUT_PAUSED, 1, now_ns), WEIR_OK);
    cr_assert_eq(rollout_weight_ppm(&rollout), 500000);
    cr_assert_eq(rollout.phase, ROLLOUT_PAUSED);
    cr_assert_eq(rollout_restore(&rollout, &plan, 1, ROLLOUT_RUNNING, 1, now_ns), WEIR_OK);
    see(60);
    cr_assert_eq(tick(9 * CLOCK_NS_PER_S), ROLLOUT_NOTHING);
    cr_assert_eq(tick(CLOCK_NS_PER_S), ROLLOUT_NEXT_STEP);
    cr_assert_eq(rollout.step, 2);
}

Test(rollout, what_cannot_be_gone_on_with_is_refused) {
    cr_assert_eq(rollout_restore(&rollout, &plan, 1, ROLLOUT_RUNNING, 3, 0), WEIR_INVALID);
    cr_assert_eq(rollout_restore(&rollout, &plan, 1, ROLLOUT_RUNNING, -1, 0), WEIR_INVALID);
    cr_assert_eq(rollout_restore(&rollout, &plan, 2, ROLLOUT_RUNNING, 0, 0), WEIR_INVALID);
    cr_assert_eq(rollout_restore(&rollout, &plan, 1, ROLLOUT_PROMOTED, 0, 0), WEIR_INVALID);
    cr_assert_eq(rollout.phase, ROLLOUT_NONE);
}

Test(rollout, phases_have_names) {
    cr_assert_str_eq(rollout_phase_text(ROLLOUT_RUNNING), "running");
    cr_assert_str_eq(rollout_phase_text(ROLLOUT_ROLLED_BACK), "rolled_back");
    cr_assert_str_eq(rollout_phase_text(ROLLOUT_PHASE_COUNT), "unknown");
}

Test(rollout, a_reason_is_cut_at_a_whole_character) {
    char text[ROLLOUT_TEXT], whole[601] = "";
    rollout_copy_text(text, "plain \xff\n\xc3\xbc");
    cr_assert_str_eq(text, "plain ??\xc3\xbc");
    for (int i = 0; i < 200; i++)
        strcat(whole, "\xe2\x82\xac");
    rollout_copy_text(text, whole);
    cr_assert_eq(strlen(text), 255);
    rollout_copy_text(text, whole + 3 * 114 - 1); /* a stray byte first */
    cr_assert_eq(strlen(text), 1 + 3 * 84);
}
