#include "engine/catalog.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/catalog_admin.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"

static struct catalog_case test;

static void setup(void) {
    catalog_case_begin(&test);
}

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(catalog, .init = setup, .fini = teardown);

Test(catalog, the_highest_number_serves) {
    model_files_version("9", 9, "N");
    model_files_version("v10", 10, "N");
    model_files_version("2", 2, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 10);
    cr_assert_eq(catalog_find(test.catalog, "demo"), 0);
    cr_assert_eq(catalog_find(test.catalog, "other"), -1);
}

Test(catalog, an_older_version_serves_when_the_newest_does_not_load) {
    model_files_version("1", 1, "N");
    model_files_broken("2", "nonsense");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    cr_assert_eq(catalog_case_stable(&test), 1);
    cr_assert_eq(atomic_load(&test.failures), 1);
    cr_assert_eq(test.failed_number, 2);
}

Test(catalog, versions_that_all_fail_are_an_error_with_every_reason) {
    model_files_broken("1", "nonsense");
    model_files_broken("2", "nonsense");
    cr_assert_neq(catalog_case_open(&test), WEIR_OK);
    cr_assert_eq(atomic_load(&test.failures), 2);
    const char *path = strstr(test.why.text, "/2/model.onnx");
    cr_assert_not_null(path, "the newest one's reason is told: %s", test.why.text);
    cr_assert_null(strstr(path + 3, "/model.onnx"), "its path once: %s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 0);
}

Test(catalog, no_version_is_not_an_error_and_not_ready) {
    char text[256] = "";
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    cr_assert(catalog_obstacle(test.catalog, text, sizeof text));
    cr_assert_not_null(strstr(text, "no version of demo"), "%s", text);
}

Test(catalog, directories_that_are_no_versions_are_told_once) {
    model_files_version("1", 1, "N");
    model_files_version("1.5", 1, "N");
    model_files_version("new", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    cr_assert_eq(atomic_load(&test.remarks), 2);
    model_files_version("2", 2, "N");
    catalog_case_wait_stable(&test, 2);
    cr_assert_leq(atomic_load(&test.remarks), 3, "the new directory may have been seen empty: %s", test.remark);
}

Test(catalog, a_path_that_is_not_there_is_an_error) {
    test.path = "/nowhere/at/all";
    cr_assert_eq(catalog_case_open(&test), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(test.why.text, "/nowhere/at/all"));
}

Test(catalog, a_new_version_takes_over_and_one_that_fails_does_not) {
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_version("2", 2, "N");
    catalog_case_wait_stable(&test, 2);
    model_files_broken("3", "nonsense");
    while (atomic_load(&test.failures) == 0)
        pause_briefly();
    cr_assert_eq(catalog_case_stable(&test), 2);
}

Test(catalog, a_deleted_version_serves_until_another_takes_over) {
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_delete("1");
    struct catalog_model_view view;
    do
        catalog_case_view(&test, &view);
    while (view.versions[0].on_disk);
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_version("2", 2, "N");
    catalog_case_wait_stable(&test, 2);
    do
        catalog_case_view(&test, &view);
    while (view.version_count != 1);
    cr_assert_eq(view.versions[0].number, 2);
}

Test(catalog, files_that_are_overwritten_are_loaded_as_a_whole) {
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    uint64_t serial = catalog_case_serial(&test);
    model_files_version("1", 7, "N");
    while (catalog_case_serial(&test) == serial)
        pause_briefly();
    cr_assert_eq(catalog_case_stable(&test), 1);
}

Test(catalog, new_versions_may_have_to_wait) {
    test.hold_new = true;
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_version("2", 2, "N");
    catalog_case_wait_state(&test, 2, "ready");
    cr_assert_eq(catalog_case_stable(&test), 1);
    cr_assert_eq(catalog_case_order(&test, CATALOG_PROMOTE, 2), WEIR_OK, "%s", test.order.error.text);
    cr_assert_eq(catalog_case_stable(&test), 2);
}

Test(catalog, a_policy_says_which_versions_are_loaded) {
    test.policy = "latest:2";
    for (int i = 1; i <= 4; i++) {
        char name[24];
        snprintf(name, sizeof name, "%d", i);
        model_files_version(name, i, "N");
    }
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    catalog_case_wait_state(&test, 4, "serving");
    catalog_case_wait_state(&test, 3, "ready");
    struct catalog_model_view view;
    catalog_case_view(&test, &view);
    cr_assert_eq(view.version_count, 4);
    cr_assert_eq(view.versions[2].state, CATALOG_STATE_FOUND);
}

Test(catalog, a_client_may_insist_on_a_version) {
    test.policy = "all";
    model_files_version("1", 1, "N");
    model_files_version("2", 2, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    static const struct {
        const char *wanted;
        uint64_t number;
    } rows[] = {{NULL, 2}, {"1", 1}, {"v1", 1}, {"2", 2}, {"stable", 2}, {"3", 0}, {"canary", 0}, {"x", 0}, {"", 0}};
    catalog_case_wait_state(&test, 1, "ready");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct catalog_ask ask = {.version = rows[i].wanted};
        struct catalog_choice choice;
        struct weir_error err;
        enum weir_status status = catalog_route(test.catalog, &ask, &choice, &err);
        cr_assert_eq(status, rows[i].number ? WEIR_OK : WEIR_NOT_FOUND, "%s", rows[i].wanted);
        if (status != WEIR_OK)
            continue;
        cr_assert_eq(engine_describe(choice.version).number, rows[i].number);
        catalog_choice_release(&choice);
    }
}

Test(catalog, it_stops_while_a_version_is_proven) {
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_version("2", 2, "N");
    catalog_look(test.catalog, 1);
    cr_assert(catalog_stop(test.catalog, true));
    struct weir_error err;
    cr_assert_eq(catalog_submit(test.catalog, &test.order, &err), WEIR_DRAINING);
}
