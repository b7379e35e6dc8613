#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/engine.h"
#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"

static struct catalog_case test;
static const struct catalog_ask anyone = {.model = 0};

/* Versions 1 and 2 of the same model; 1 serves. */
static void setup(void) {
    catalog_case_begin(&test);
    test.hold_new = true;
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
}

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(changes, .init = setup, .fini = teardown);

static enum weir_status order(enum catalog_action action, uint64_t version) {
    return catalog_case_order(&test, action, version);
}

static enum weir_status start(uint64_t version, const char *steps) {
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "%s", steps);
    return order(CATALOG_START, version);
}

static struct catalog_model_view view(void) {
    struct catalog_model_view now;
    catalog_case_view(&test, &now);
    return now;
}

Test(changes, a_version_is_loaded_promoted_and_unloaded) {
    model_files_version("2", 2, "N");
    cr_assert_eq(order(CATALOG_LOAD, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(order(CATALOG_LOAD, 2), WEIR_OK, "asked twice");
    cr_assert_eq(order(CATALOG_UNLOAD, 1), WEIR_CONFLICT, "it serves");
    cr_assert_eq(order(CATALOG_PROMOTE, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 2);
    cr_assert_eq(order(CATALOG_PROMOTE, 2), WEIR_OK, "asked twice");
    cr_assert_str_eq(test.order.text, "serves already");
    cr_assert_eq(order(CATALOG_UNLOAD, 1), WEIR_OK);
    cr_assert_eq(order(CATALOG_UNLOAD, 1), WEIR_OK, "asked twice");
    catalog_case_wait_state(&test, 1, "found");
    cr_assert_eq(order(CATALOG_PROMOTE, 1), WEIR_OK, "it is loaded again");
    cr_assert_eq(catalog_case_stable(&test), 1);
}

Test(changes, what_is_not_there_is_named) {
    cr_assert_eq(order(CATALOG_LOAD, 7), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(test.order.error.text, "version 7 of demo"), "%s", test.order.error.text);
    cr_assert_eq(order(CATALOG_UNLOAD, 7), WEIR_NOT_FOUND);
    cr_assert_eq(order(CATALOG_VERIFY, 7), WEIR_NOT_FOUND);
    cr_assert_eq(order(CATALOG_PROMOTE, 0), WEIR_CONFLICT);
    cr_assert_eq(order(CATALOG_PAUSE, 0), WEIR_CONFLICT);
    cr_assert_eq(order(CATALOG_RESUME, 0), WEIR_CONFLICT);
    cr_assert_eq(order(CATALOG_ROLL_BACK, 0), WEIR_CONFLICT);
}

/* Version 3 fails, and the newest other serves; new versions take over by themselves. */
static void let_fail(void) {
    catalog_case_close(&test);
    test.hold_new = false;
    model_files_broken("3", "nonsense");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    catalog_case_wait_state(&test, 3, "failed");
}

Test(changes, a_version_that_failed_when_another_was_promoted_is_new_once_it_is_mended) {
    let_fail();
    cr_assert_eq(order(CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    model_files_version("3", 3, "N");
    catalog_case_wait_stable(&test, 3);
    cr_assert_eq(order(CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("4", 4, "N");
    catalog_case_wait_stable(&test, 4);
}

Test(changes, a_version_that_failed_beside_a_rollout_is_new_once_it_is_mended) {
    model_files_version("2", 2, "N");
    let_fail();
    cr_assert_eq(order(CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(order(CATALOG_ROLL_BACK, 0), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("3", 3, "N");
    catalog_case_wait_stable(&test, 3);
}

Test(changes, a_version_whose_samples_fail_is_never_promoted) {
    model_files_samples("2", 3);
    model_files_version("2", 2, "N");
    cr_assert_eq(order(CATALOG_PROMOTE, 2), WEIR_INVALID);
    cr_assert_not_null(strstr(test.order.error.text, "got 5, expected 6"), "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_samples("1", 1);
    while (order(CATALOG_VERIFY, 1) != WEIR_OK || !strstr(test.order.text, "1 samples agree"))
        pause_briefly(); /* its files have changed: it is loaded again */
}

Test(changes, a_canary_gets_its_share_and_is_promoted) {
    float y;
    uint64_t count[3] = {0};
    model_files_version("2", 2, "N");
    cr_assert_eq(start(2, "25%"), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(start(2, "25%"), WEIR_OK, "asked twice");
    cr_assert_eq(start(2, "50%"), WEIR_CONFLICT, "another one");
    for (int i = 0; i < 400; i++) {
        uint64_t number = catalog_case_request(&test, &anyone, &y);
        cr_assert_float_eq(y, 3 + (float)number, 1e-6, "each version gives its own answer");
        count[number]++;
    }
    cr_assert(count[2] >= 98 && count[2] <= 102, "%lu", (unsigned long)count[2]);
    cr_assert_eq(view().candidate, 2);
    cr_assert_eq(order(CATALOG_PROMOTE, 0), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 2);
    cr_assert_eq(view().candidate, 0);
    cr_assert_str_eq(view().last, "version 2 was promoted");
}

Test(changes, nothing_reaches_a_candidate_that_was_taken_back) {
    float y;
    model_files_version("2", 2, "N");
    cr_assert_eq(start(2, "100%"), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_request(&test, &anyone, &y), 2);
    snprintf(test.order.reason, sizeof test.order.reason, "it smells");
    cr_assert_eq(order(CATALOG_ROLL_BACK, 0), WEIR_OK);
    cr_assert_str_eq(test.order.text, "rolled back: it smells");
    for (int i = 0; i < 50; i++)
        cr_assert_eq(catalog_case_request(&test, &anyone, &y), 1);
    cr_assert_eq(order(CATALOG_ROLL_BACK, 0), WEIR_OK, "asked twice");
    cr_assert_str_eq(view().last, "version 2 was rolled back: it smells");
    catalog_case_wait_state(&test, 2, "found");
    cr_assert(view().versions[0].rejected);
}

Test(changes, a_shadow_without_steps_is_told_to_have_no_end) {
    model_files_version("2", 2, "N");
    test.order.rollout.is_shadow = true;
    test.order.rollout.shadow_percent = 20;
    cr_assert_eq(order(CATALOG_START, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_str_eq(test.order.text, "shadow of version 2 beside 1: until it is ended");
}

static void promoted(struct catalog_order *done) {
    atomic_store((atomic_bool *)done->owner, true);
}

Test(changes, a_rollback_goes_before_a_promotion_that_still_proves) {
    model_files_samples("2", 2);
    model_files_version("2", 2, "N");
    for (int i = 0; i < 40; i++) {
        atomic_bool is_done = false;
        struct catalog_order promotion = {.action = CATALOG_PROMOTE, .done = promoted, .owner = &is_done};
        cr_assert_eq(start(2, "100%"), WEIR_OK, "%s", test.order.error.text);
        cr_assert_eq(catalog_submit(test.catalog, &promotion, &test.why), WEIR_OK, "%s", test.why.text);
        bool is_back = order(CATALOG_ROLL_BACK, 0) == WEIR_OK;
        while (!atomic_load(&is_done))
            pause_briefly();
        cr_assert_neq(is_back, promotion.status == WEIR_OK, "one of them was first");
        cr_assert_eq(catalog_case_stable(&test), is_back ? 1 : 2);
        if (!is_back)
            cr_assert_eq(order(CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    }
}

static void roll_back_meanwhile(struct catalog_case *case_of) {
    char text[512];
    cr_assert_eq(catalog_case_roll_back(case_of, text), WEIR_OK, "%s", text);
    cr_assert_str_eq(text, "the rollout that is about to begin is called off");
}

Test(changes, a_rollback_that_comes_while_the_candidate_is_loaded_calls_the_rollout_off) {
    model_files_version("2", 2, "N");
    catalog_case_wait_state(&test, 2, "ready"); /* held back by new_versions */
    cr_assert_eq(order(CATALOG_UNLOAD, 2), WEIR_OK);
    test.on_loaded = roll_back_meanwhile;
    cr_assert_eq(start(2, "50%"), WEIR_CONFLICT, "%s", test.order.text);
    cr_assert_not_null(strstr(test.order.error.text, "a rollback came before"), "%s", test.order.error.text);
    cr_assert_eq(view().candidate, 0);
    test.on_loaded = NULL;
    cr_assert_eq(start(2, "50%"), WEIR_OK, "and again: %s", test.order.error.text);
}

Test(changes, a_shadow_that_is_ended_has_done_nothing_wrong) {
    model_files_version("2", 2, "N");
    test.order.rollout.is_shadow = true;
    test.order.rollout.shadow_percent = 100;
    cr_assert_eq(order(CATALOG_START, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(order(CATALOG_ROLL_BACK, 0), WEIR_OK);
    cr_assert_eq(view().candidate, 0);
    cr_assert_not(view().versions[0].rejected);
}

Test(changes, a_paused_rollout_keeps_its_weight) {
    float y;
    model_files_version("2", 2, "N");
    cr_assert_eq(start(2, "100%"), WEIR_OK);
    cr_assert_eq(order(CATALOG_PAUSE, 0), WEIR_OK);
    cr_assert_eq(order(CATALOG_PAUSE, 0), WEIR_OK, "asked twice");
    cr_assert_str_eq(view().phase, "paused");
    cr_assert_eq(catalog_case_request(&test, &anyone, &y), 2);
    cr_assert_eq(order(CATALOG_RESUME, 0), WEIR_OK);
    cr_assert_str_eq(view().phase, "running");
}

Test(changes, a_candidate_of_another_signature_is_refused) {
    model_files_free("2");
    cr_assert_eq(start(2, "5%"), WEIR_INVALID);
    cr_assert_not_null(strstr(test.order.error.text, "cannot answer the same requests"), "%s", test.order.error.text);
    cr_assert_eq(view().candidate, 0);
}

Test(changes, a_bad_plan_is_refused_with_its_fault) {
    model_files_version("2", 2, "N");
    cr_assert_eq(start(2, "five percent"), WEIR_INVALID);
    cr_assert_eq(start(1, "5%"), WEIR_INVALID, "it is stable");
    cr_assert_eq(start(2, ""), WEIR_INVALID, "a canary without steps");
}

Test(changes, a_bad_canary_is_taken_back_by_itself) {
    float y;
    uint64_t bad = 0, number;
    model_files_non_finite("2");
    cr_assert_eq(start(2, "50%"), WEIR_OK, "%s", test.order.error.text);
    int64_t began_ns = clock_now_ns();
    while (view().candidate != 0) {
        number = catalog_case_request(&test, &anyone, &y);
        bad += number == 2;
        cr_assert(number == 2 || y == 4, "stable is never wrong");
    }
    cr_assert(bad <= 200 || clock_now_ns() - began_ns < 5 * CLOCK_NS_PER_S);
    while (!strstr(view().last, "version 2")) /* which is written after the route has changed */
        pause_briefly();
    cr_assert_not_null(strstr(view().last, "version 2 was rolled back: "), "%s", view().last);
    cr_assert_eq(catalog_case_stable(&test), 1);
}

Test(changes, a_good_canary_goes_its_steps_and_is_promoted_if_that_was_asked) {
    float y;
    model_files_version("2", 1, "N"); /* the same answers */
    test.order.rollout.auto_promote = true;
    cr_assert_eq(start(2, "50% with 60 requests, 100% with 60 requests"), WEIR_OK, "%s", test.order.error.text);
    while (catalog_case_stable(&test) != 2) {
        cr_assert_str_neq(view().phase, "rolled_back");
        catalog_case_request(&test, &anyone, &y);
        cr_assert_eq(y, 4);
    }
    while (view().candidate != 0)
        pause_briefly();
}

Test(changes, a_promotion_that_the_device_could_not_prove_is_put_off) {
    model_files_samples("2", 2);
    model_files_version("2", 2, "N");
    test.order.rollout.auto_promote = true;
    cr_assert_eq(start(2, "100% for 300ms with 0 requests"), WEIR_OK, "%s", test.order.error.text);
    engine_drain(test.engine); /* takes no more samples */
    const char *told;
    while (!strstr(told = catalog_case_changed(&test), "rollout promote 2: ") && !strstr(told, "rollout rollback 2: "))
        pause_briefly();
    cr_assert_not_null(strstr(told, "the promotion is put off: "), "%s", told);
    cr_assert_not_null(strstr(view().waits_for, "the promotion is put off: "), "%s", view().waits_for);
    cr_assert_str_eq(view().phase, "running");
    cr_assert_not(view().versions[0].rejected);
}

Test(changes, a_candidate_whose_files_change_is_taken_back) {
    float y;
    model_files_version("2", 2, "N");
    cr_assert_eq(start(2, "50%"), WEIR_OK, "%s", test.order.error.text);
    model_files_free("2"); /* takes other inputs */
    while (view().candidate != 0)
        catalog_case_request(&test, &anyone, &y);
    cr_assert_str_eq(view().last, "version 2 was rolled back: its files changed while it was rolled out");
    catalog_case_wait_state(&test, 2, "ready"); /* what is there now is a new version */
    while (view().versions[0].rejected)
        pause_briefly();
}

Test(changes, a_rollout_begins_with_the_samples) {
    model_files_version("2", 2, "N");
    cr_assert_eq(order(CATALOG_LOAD, 2), WEIR_OK, "%s", test.order.error.text);
    for (int is_shadow = 0; is_shadow < 2; is_shadow++) {
        model_files_samples("2", 5); /* wrong: version 2 gives other answers */
        test.order.rollout.is_shadow = is_shadow == 1;
        cr_assert_eq(start(2, "50%"), WEIR_INVALID, "%s", test.order.text);
        cr_assert_eq(view().candidate, 0);
    }
}

Test(changes, stable_stays_what_it_is_while_a_rollout_is_on) {
    model_files_version("2", 1, "N");
    cr_assert_eq(start(2, "50%"), WEIR_OK, "%s", test.order.error.text);
    uint64_t serial = catalog_case_serial(&test);
    model_files_free("1");
    model_files_version("3", 3, "N");
    catalog_case_wait_state(&test, 3, "ready"); /* so it has looked, and found the change at rest */
    cr_assert_eq(catalog_case_serial(&test), serial);
    cr_assert_eq(order(CATALOG_ROLL_BACK, 0), WEIR_OK);
    while (catalog_case_serial(&test) == serial)
        pause_briefly(); /* now it may */
}

Test(changes, an_order_for_another_rollout_than_that_under_way_is_refused) {
    model_files_version("2", 2, "N");
    cr_assert_eq(start(2, "50%"), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(order(CATALOG_ROLL_BACK, 7), WEIR_CONFLICT);
    cr_assert_eq(order(CATALOG_PAUSE, 7), WEIR_CONFLICT);
    cr_assert_eq(view().candidate, 2);
}

Test(changes, a_verification_reads_samples_that_came_later) {
    model_files_samples("1", 5); /* wrong: version 1 gives other answers */
    cr_assert_eq(order(CATALOG_VERIFY, 1), WEIR_INVALID, "%s", test.order.text);
    cr_assert_not_null(strstr(test.order.error.text, "expected 8"), "%s", test.order.error.text);
}
