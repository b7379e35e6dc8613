#include <criterion/criterion.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

static struct catalog_case test;

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(view, .fini = teardown);

Test(view, it_shows_what_serves_and_what_does_not) {
    struct catalog_model_view view;
    catalog_case_begin(&test);
    model_files_version("1", 1, "N");
    model_files_broken("2", "nonsense");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    catalog_case_view(&test, &view);
    cr_assert_str_eq(view.name, "demo");
    cr_assert_eq(view.stable, 1);
    cr_assert_eq(view.candidate, 0);
    cr_assert_str_eq(view.phase, "none");
    cr_assert_eq(view.version_count, 2);
    cr_assert_eq(view.versions[0].number, 2);
    cr_assert_eq(view.versions[0].state, CATALOG_STATE_FAILED);
    cr_assert_neq(view.versions[0].reason[0], 0);
    cr_assert_eq(view.versions[1].state, CATALOG_STATE_SERVING);
    cr_assert_eq(view.versions[1].reason[0], 0);
    cr_assert_gt(view.versions[1].load_ms, 0);
    cr_assert_eq(view.loads, 1);
    cr_assert_eq(view.load_failures, 1);
}
