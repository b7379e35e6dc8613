#include "engine/catalog/timing.h"

#include <criterion/criterion.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

static struct catalog_case test;

static void setup(void) {
    catalog_case_begin(&test);
    test.policy = "all";
    model_files_version("1", 1, "N");
    model_files_version("2", 2, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
}

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(timing, .init = setup, .fini = teardown);

Test(timing, both_versions_run_in_turn_and_their_quickest_batches_are_known) {
    struct version *versions[2] = {scan_find(&test.catalog->models[0], 1)->version,
                                   scan_find(&test.catalog->models[0], 2)->version};
    struct engine_costs before[2], after;
    for (int i = 0; i < 2; i++)
        before[i] = engine_costs(test.engine, versions[i]);
    timing_run(test.catalog, versions[0], versions[1]);
    for (int i = 0; i < 2; i++) {
        after = engine_costs(test.engine, versions[i]);
        for (int point = 0; point < 3; point++) {
            cr_assert_gt(after.quickest_ns[point], 0);
            cr_assert_leq(after.quickest_ns[point], before[i].quickest_ns[point]);
        }
    }
    cr_assert_not(atomic_load(&test.catalog->loading));
}

static double ratio(struct engine_costs stable, struct engine_costs candidate) {
    return timing_ratio(&stable, &candidate);
}

Test(timing_ratio, the_middle_one_counts_and_only_batches_of_the_same_rows) {
    const struct engine_costs stable = {.quickest_ns = {100, 100, 100}, .largest = 32};
    cr_assert_eq(ratio(stable, (struct engine_costs){.quickest_ns = {400, 100, 200}, .largest = 32}), 2);
    cr_assert_eq(ratio(stable, (struct engine_costs){.quickest_ns = {400, 300, 0}, .largest = 32}), 3);
    cr_assert_eq(ratio(stable, (struct engine_costs){.quickest_ns = {400, 100, 100}, .largest = 16}), 4);
    cr_assert_eq(ratio(stable, (struct engine_costs){.quickest_ns = {0, 100, 100}, .largest = 16}), 0);
    cr_assert_eq(ratio((struct engine_costs){.largest = 32}, stable), 0);
}
