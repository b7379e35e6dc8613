#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/clock.h"
#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"
#include "tests/fakes/temp_dir.h"

static struct catalog_case test;
static char state_dir[] = "/tmp/weir-state-XXXXXX";
static const struct catalog_ask anyone = {.model = 0};

static void setup(void) {
    catalog_case_begin(&test);
    cr_assert_not_null(mkdtemp(state_dir));
    test.state_dir = state_dir;
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
}

static void teardown(void) {
    char command[64];
    catalog_case_end(&test);
    snprintf(command, sizeof command, "rm -rf %s", state_dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(state, .init = setup, .fini = teardown);

static void restart(void) {
    catalog_case_close(&test);
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
}

static struct catalog_model_view view(void) {
    struct catalog_model_view now;
    catalog_case_view(&test, &now);
    return now;
}

/* A file where the directory of version 2's samples should be: it does not load, and the disk is to blame. */
static void spoil_samples(bool spoilt) {
    char path[300];
    snprintf(path, sizeof path, "%s", model_files_version("2", 2, "N"));
    snprintf(strrchr(path, '/'), 20, "/samples");
    FILE *file = spoilt ? fopen(path, "w") : NULL;
    cr_assert_eq(spoilt, file != NULL);
    cr_assert_eq(file ? fclose(file) : remove(path), 0);
}

static enum weir_status start(uint64_t version, const char *steps) {
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "%s", steps);
    return catalog_case_order(&test, CATALOG_START, version);
}

/* Puts version 2 there without letting it take over. */
static void choose_one(void) {
    model_files_version("2", 2, "N");
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
}

Test(state, what_was_chosen_stays_after_a_restart) {
    choose_one();
    restart();
    cr_assert_eq(catalog_case_stable(&test), 1, "not 2, although that is newer");
    model_files_version("3", 3, "N");
    catalog_case_wait_stable(&test, 3);
    restart();
    cr_assert_eq(catalog_case_stable(&test), 3);
}

Test(state, a_rollout_goes_on_after_a_restart) {
    float y;
    choose_one();
    cr_assert_eq(start(2, "10%, 100% for 1h"), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PAUSE, 0), WEIR_OK);
    restart();
    cr_assert_str_eq(view().phase, "paused", "%s / %s", catalog_case_changed(&test), view().last);
    cr_assert_eq(view().candidate, 2);
    cr_assert_eq(view().weight_ppm, 100000);
    cr_assert_eq(catalog_case_order(&test, CATALOG_RESUME, 0), WEIR_OK);
    restart();
    cr_assert_str_eq(view().phase, "running");
    cr_assert_neq(catalog_case_request(&test, &anyone, &y), 0);
}

Test(state, a_rejected_version_is_not_served_after_a_restart_until_its_files_change) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK);
    cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_OK);
    restart();
    cr_assert_eq(catalog_case_stable(&test), 1);
    cr_assert(view().versions[0].rejected);
    cr_assert_str_eq(view().last, "version 2 was rolled back: an operator took it back");
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_OK, "an operator may all the same");
    cr_assert_eq(catalog_case_stable(&test), 2);
}

Test(state, a_rejected_version_whose_files_changed_comes_as_a_new_one) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK);
    cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_OK);
    restart();
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("2", 3, "N");
    catalog_case_wait_stable(&test, 2);
    cr_assert_not(view().versions[0].rejected);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    restart();
    cr_assert_eq(catalog_case_stable(&test), 1, "it was new once");
}

Test(state, where_new_versions_wait_a_mended_one_is_ready_and_waits) {
    test.hold_new = true;
    restart();
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK);
    cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_OK);
    model_files_version("2", 3, "N");
    while (view().versions[0].state != CATALOG_STATE_READY || view().versions[0].rejected)
        pause_briefly();
    cr_assert_eq(catalog_case_stable(&test), 1);
}

/* A rollout of version 2, whose files are gone when the server starts again. */
static void lose_candidate(void) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK);
    catalog_case_close(&test);
    model_files_delete("2");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
}

Test(state, a_candidate_that_was_lost_comes_as_a_new_one_when_its_files_change) {
    lose_candidate();
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("2", 3, "N");
    catalog_case_wait_stable(&test, 2);
}

Test(state, a_candidate_that_was_lost_does_not_serve_when_the_same_files_come_back) {
    lose_candidate();
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("2", 2, "N");
    while (view().versions[0].number != 2 || !view().versions[0].rejected)
        cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("3", 3, "N");
    catalog_case_wait_stable(&test, 3); /* so it has looked again */
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 2);
}

Test(state, a_candidate_that_is_gone_after_a_restart_is_rolled_back) {
    lose_candidate();
    cr_assert_eq(view().candidate, 0);
    cr_assert_str_eq(view().last, "version 2 was rolled back: version 2 is not ready after a restart");
}

Test(state, a_rollout_waits_for_a_candidate_that_may_still_come) {
    choose_one();
    model_files_version("3", 3, "N");
    cr_assert_eq(start(2, "10%, 100% for 1h"), WEIR_OK, "%s", test.order.error.text);
    catalog_case_close(&test);
    spoil_samples(true);
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
    cr_assert_eq(view().candidate, 0);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 3), WEIR_CONFLICT, "%s", test.order.text);
    cr_assert_eq(start(3, "10%"), WEIR_CONFLICT, "%s", test.order.text);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PAUSE, 0), WEIR_CONFLICT);
    cr_assert_not_null(strstr(test.order.error.text, "it waits for its versions"), "%s", test.order.error.text);
    cr_assert_eq(start(2, "10%, 100% for 1h"), WEIR_OK, "the same: %s", test.order.error.text);
    spoil_samples(false);
    while (view().candidate != 2)
        cr_assert_str_eq(view().last, "");
    cr_assert_eq(view().weight_ppm, 100000);
}

Test(state, a_rollout_that_waits_can_be_promoted_or_taken_back) {
    for (int i = 0; i < 2; i++) {
        choose_one();
        cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
        catalog_case_close(&test);
        spoil_samples(true);
        cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
        if (i == 0) {
            cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_OK, "%s", test.order.error.text);
            cr_assert_eq(test.order.version, 2);
            cr_assert_not_null(strstr(view().last, "version 2 was rolled back: an operator"), "%s", view().last);
        }
        spoil_samples(false);
    }
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 2);
    cr_assert_str_eq(view().last, "version 2 was promoted");
}

Test(state, a_rollout_whose_stable_version_is_gone_is_lost) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
    catalog_case_close(&test);
    model_files_delete("1");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 2, "any is better than none");
    static const char why[] = "version 1, which was stable, is not ready after a restart";
    char text[200];
    snprintf(text, sizeof text, "restart rollback 2: %s", why);
    cr_assert_str_eq(catalog_case_changed(&test), text);
    snprintf(text, sizeof text, "version 2 was rolled back: %s", why);
    cr_assert_str_eq(view().last, text);
    restart();
    cr_assert_str_eq(view().last, text);
}

Test(state, a_candidate_that_takes_other_inputs_after_a_restart_is_rolled_back) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK);
    catalog_case_close(&test);
    model_files_free("2");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(view().candidate, 0);
    cr_assert_not_null(strstr(view().last, "cannot answer the same requests"), "%s", view().last);
}

/* A directory in the file's place stops even root. */
static void break_state(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/rollout.json", state_dir);
    unlink(path);
    cr_assert_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/rollout.json/x", state_dir);
    cr_assert_eq(mkdir(path, 0755), 0);
}

Test(state, what_cannot_be_kept_does_not_happen) {
    choose_one();
    break_state();
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_IO);
    cr_assert_eq(catalog_case_stable(&test), 1);
    cr_assert_eq(start(2, "10%"), WEIR_IO);
    cr_assert_eq(view().candidate, 0);
    cr_assert_str_eq(view().phase, "none");
}

Test(state, a_promotion_by_itself_that_cannot_be_kept_is_told_and_put_off) {
    float y;
    model_files_version("2", 1, "N"); /* the same answers */
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 1), WEIR_OK, "%s", test.order.error.text);
    test.order.rollout.auto_promote = true;
    test.order.rollout.max_p99_ratio = test.order.rollout.max_compute_ratio = -1;
    cr_assert_eq(start(2, "50% with 5 requests"), WEIR_OK, "%s", test.order.error.text);
    break_state();
    int64_t began_ns = clock_now_ns();
    while (!strstr(catalog_case_changed(&test), "rollout promote 2: the promotion is put off: "))
        catalog_case_request(&test, &anyone, &y);
    cr_assert_not_null(strstr(view().waits_for, "the promotion is put off: "), "%s", view().waits_for);
    int told = atomic_load(&test.changes);
    for (int i = 0; i < 2000; i++)
        catalog_case_request(&test, &anyone, &y);
    int more = atomic_load(&test.changes) - told;
    cr_assert_leq(more, 1 + (clock_now_ns() - began_ns) / (5 * CLOCK_NS_PER_S),
                  "told at every look, of which there are many");
    cr_assert_str_eq(view().phase, "running");
    cr_assert_eq(catalog_case_stable(&test), 1);
}

Test(state, a_broken_file_stops_the_start_with_its_name) {
    char path[128];
    catalog_case_close(&test);
    snprintf(path, sizeof path, "%s/rollout.json", state_dir);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("{\"format\":", file);
    fclose(file);
    cr_assert_eq(catalog_case_open(&test), WEIR_INVALID);
    cr_assert_not_null(strstr(test.why.text, "rollout.json"), "%s", test.why.text);
}

Test(state, what_was_chosen_and_is_lost_leaves_the_next_best_to_serve) {
    choose_one();
    catalog_case_close(&test);
    model_files_delete("1");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 2);
    catalog_case_close(&test);
    model_files_version("1", 1, "N");
    model_files_broken("2", "nonsense");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
}

static void move_state(bool away) {
    char command[128];
    snprintf(command, sizeof command, away ? "mv %s %s-away" : "mv %2$s-away %1$s", state_dir, state_dir);
    shell(command);
}

Test(state, a_step_that_could_not_be_kept_is_kept_later) {
    float y;
    choose_one();
    test.order.rollout.max_p99_ratio = test.order.rollout.max_compute_ratio = test.order.rollout.min_agreement = -1;
    cr_assert_eq(start(2, "10% with 5 requests, 100% for 1h"), WEIR_OK, "%s", test.order.error.text);
    move_state(true);
    const char *told;
    while (!strstr(told = catalog_case_changed(&test), "rollout step 2: "))
        catalog_case_request(&test, &anyone, &y);
    cr_assert_not_null(strstr(told, "could not be kept"), "%s", told);
    cr_assert_neq(view().problem[0], 0);
    move_state(false);
    while (view().problem[0])
        pause_briefly();
    cr_assert_str_eq(view().phase, "running");
    restart();
    cr_assert_eq(view().step, 1);
}

Test(state, what_is_kept_with_the_next_change_is_no_problem_any_more) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
    move_state(true);
    cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_IO);
    cr_assert_neq(view().problem[0], 0);
    move_state(false);
    cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
    cr_assert_str_eq(view().problem, "");
}

Test(state, a_rollback_that_could_not_be_kept_is_kept_later) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
    move_state(true);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_IO, "%s", test.order.text);
        const char *text = test.order.error.text;
        cr_assert_not_null(strstr(text, "rolled back"), "%s", text);
        cr_assert_not_null(strstr(text, "could not be kept"), "%s", text);
        cr_assert_not_null(strstr(text, "tried again"), "%s", text);
        cr_assert_eq(view().candidate, 0);
    }
    cr_assert_neq(view().problem[0], 0);
    move_state(false);
    while (view().problem[0])
        pause_briefly();
    cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_OK, "%s", test.order.error.text);
    restart();
    cr_assert_eq(view().candidate, 0);
    cr_assert_eq(catalog_case_stable(&test), 1);
}

Test(state, one_server_alone_keeps_its_state_in_a_directory) {
    struct catalog_case other;
    char path[256];
    snprintf(path, sizeof path, "%s", state_dir);
    other = (struct catalog_case){.state_dir = path, .path = "/nowhere"};
    cr_assert_eq(catalog_case_open(&other), WEIR_IO);
    cr_assert_not_null(strstr(other.why.text, "another server"), "%s", other.why.text);
    catalog_case_close(&other);
}
