#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/model/manifest.h"
#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"

static struct catalog_case test;
static char directory[256];

static void setup(void) {
    catalog_case_begin(&test);
    snprintf(directory, sizeof directory, "%s", model_files_version("1", 1, "N"));
    *strrchr(directory, '/') = 0;
}

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(loading, .init = setup, .fini = teardown);

static struct catalog_version_view version(void) {
    struct catalog_model_view view;
    catalog_case_view(&test, &view);
    return view.versions[0];
}

Test(loading, samples_are_proven_before_a_version_serves) {
    model_files_samples("1", 1);
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(version().samples, 1);
    cr_assert_geq(version().sample_runs, 3);
}

Test(loading, wrong_samples_keep_a_version_from_serving) {
    model_files_samples("1", 2);
    cr_assert_eq(catalog_case_open(&test), WEIR_INVALID);
    cr_assert_not_null(strstr(test.why.text, "got 4, expected 5"), "%s", test.why.text);
    cr_assert_eq(version().state, CATALOG_STATE_FAILED);
    cr_assert_eq(catalog_case_stable(&test), 0);
}

Test(loading, a_sealed_version_that_is_not_whole_is_incomplete) {
    struct weir_error err;
    char path[300];
    model_files_samples("1", 1);
    cr_assert_eq(manifest_seal(directory, NULL, &err), WEIR_OK, "%s", err.text);
    snprintf(path, sizeof path, "%s/samples/output.y.npy", directory);
    FILE *file = fopen(path, "r+");
    cr_assert_not_null(file);
    fclose(file);
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(catalog_case_open(&test), WEIR_NOT_READY, "%s", test.why.text);
    cr_assert_eq(version().state, CATALOG_STATE_INCOMPLETE);
    cr_assert_not_null(strstr(version().reason, "samples/output.y.npy"), "%s", version().reason);
    model_files_samples("1", 1);
    catalog_case_wait_stable(&test, 1);
}

Test(loading, a_sealed_version_with_other_bytes_never_serves) {
    struct weir_error err;
    cr_assert_eq(manifest_seal(directory, NULL, &err), WEIR_OK, "%s", err.text);
    model_files_version("1", 9, "N"); /* the same size */
    cr_assert_eq(catalog_case_open(&test), WEIR_NOT_READY, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 0);
}

Test(loading, a_failure_is_told_once_until_the_files_change) {
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_broken("2", "nonsense");
    while (atomic_load(&test.failures) == 0)
        pause_briefly();
    for (int i = 0; i < 5; i++)
        catalog_look(test.catalog, 0);
    model_files_version("3", 3, "N");
    catalog_case_wait_stable(&test, 3); /* so it has looked again */
    cr_assert_eq(atomic_load(&test.failures), 1);
}
