#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

TestSuite(scan, .init = setup, .fini = teardown);

Test(scan, of_a_thousand_versions_the_newest_serves) {
    char name[16];
    for (int i = 1000; i >= 1; i--) { /* the newest is at rest first */
        snprintf(name, sizeof name, "%d", i);
        model_files_version(name, i, "N");
    }
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    catalog_case_wait_stable(&test, 1000);
    struct catalog_model_view view;
    catalog_case_view(&test, &view);
    cr_assert_eq(view.version_count, 1000);
    cr_assert_eq(view.versions[0].number, 1000);
    cr_assert_eq(view.loads, 1, "the others were left alone");
}

Test(scan, a_swapped_link_is_followed) {
    char old[256], new[256], link[300], next[300];
    snprintf(old, sizeof old, "%s", model_files_version("a", 1, "N"));
    snprintf(new, sizeof new, "%s", model_files_version("b", 2, "N"));
    *strrchr(old, '/') = *strrchr(new, '/') = 0;
    snprintf(link, sizeof link, "%.*s/5", (int)(sizeof old - 1), old);
    *strrchr(link, '/') = 0;
    snprintf(link, sizeof link, "%s/../5", old);
    snprintf(next, sizeof next, "%s/../next", old);
    cr_assert_eq(symlink(old, link), 0);
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 5);
    uint64_t serial = catalog_case_serial(&test);
    cr_assert_eq(symlink(new, next), 0);
    cr_assert_eq(rename(next, link), 0);
    model_files_delete("a");
    while (catalog_case_serial(&test) == serial)
        pause_briefly();
    float y;
    cr_assert_eq(catalog_case_request(&test, &(struct catalog_ask){.model = 0}, &y), 5);
    cr_assert_eq(y, 3 + 2);
}

Test(scan, a_directory_that_vanishes_leaves_the_version_serving) {
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_remove();
    struct catalog_model_view view;
    do
        catalog_case_view(&test, &view);
    while (!view.problem[0]);
    cr_assert_eq(catalog_case_stable(&test), 1);
    model_files_make(); /* for the teardown */
}

Test(scan, each_version_that_was_loaded_is_told_when_it_is_let_go) {
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    model_files_version("2", 2, "N");
    catalog_case_wait_stable(&test, 2);
    while (atomic_load(&test.unloads) < 1)
        pause_briefly();
    model_files_samples("3", 1); /* wrong: it fails when it is proven */
    model_files_version("3", 3, "N");
    while (atomic_load(&test.unloads) < 2)
        pause_briefly();
    uint64_t serial = catalog_case_serial(&test);
    model_files_version("2", 7, "N"); /* replaced by its like: it is not gone */
    while (catalog_case_serial(&test) == serial)
        pause_briefly();
    model_files_version("4", 4, "N");
    catalog_case_wait_stable(&test, 4);
    while (atomic_load(&test.unloads) < 3)
        pause_briefly();
    cr_assert_eq(atomic_load(&test.loads), 5);
    cr_assert_eq(atomic_load(&test.unloads), 3);
}

Test(scan, a_loose_file_is_a_version_of_its_own) {
    test.path = model_files_version("1", 4, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    cr_assert_eq(catalog_case_stable(&test), 1);
}
