#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

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
    cr_assert_str_eq(view().phase, "paused", "%s / %s", test.changed, view().last);
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

Test(state, a_candidate_that_is_gone_after_a_restart_is_rolled_back) {
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK);
    catalog_case_close(&test);
    model_files_delete("2");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    cr_assert_eq(view().candidate, 0);
    cr_assert_str_eq(view().last, "version 2 was rolled back: version 2 is not ready after a restart");
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
    while (!strstr(view().waits_for, "the state cannot be kept: "))
        catalog_case_request(&test, &anyone, &y);
    int told = atomic_load(&test.changes);
    for (int i = 0; i < 2000; i++)
        catalog_case_request(&test, &anyone, &y);
    cr_assert_leq(atomic_load(&test.changes), told + 1);
    cr_assert_not_null(strstr(test.changed, "rollout promote 2: "), "%s", test.changed);
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

Test(state, a_rollback_that_could_not_be_kept_is_kept_later) {
    char command[128];
    choose_one();
    cr_assert_eq(start(2, "10%"), WEIR_OK, "%s", test.order.error.text);
    snprintf(command, sizeof command, "mv %s %s-away", state_dir, state_dir);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(catalog_case_order(&test, CATALOG_ROLL_BACK, 0), WEIR_OK);
    cr_assert_not_null(strstr(test.order.text, "could not be kept"), "%s", test.order.text);
    cr_assert_neq(view().problem[0], 0);
    snprintf(command, sizeof command, "mv %s-away %s", state_dir, state_dir);
    cr_assert_eq(system(command), 0);
    while (view().problem[0])
        sched_yield();
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
