#include <criterion/criterion.h>

#include "engine/catalog/parts.h"
#include "engine/engine.h"
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

Test(view, computing_time_is_compared_for_the_same_rows_while_there_is_a_candidate) {
    struct catalog_model_view view;
    catalog_case_begin(&test);
    test.hold_new = true;
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    catalog_case_view(&test, &view);
    cr_assert_eq(view.comparison.compute_ratio, 0, "nothing to compare with");
    model_files_version("2", 1, "N");
    test.order.rollout.is_shadow = true;
    test.order.rollout.shadow_percent = 10;
    cr_assert_eq(catalog_case_order(&test, CATALOG_START, 2), WEIR_OK, "%s", test.order.error.text);
    catalog_case_view(&test, &view);
    struct engine_costs before = engine_costs(test.engine, test.catalog->models[0].stable->version);
    struct engine_costs after = engine_costs(test.engine, test.catalog->models[0].candidate->version);
    double ratio = (after.base_ns + after.row_ns) / (before.base_ns + before.row_ns);
    cr_assert_gt(ratio, 0);
    cr_assert_float_eq(view.comparison.compute_ratio, ratio, 1e-9);
}
