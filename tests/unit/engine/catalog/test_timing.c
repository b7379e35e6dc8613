#include "engine/catalog/timing.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"
#include "tests/fakes/temp_dir.h"

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

static double timed(uint64_t stable, uint64_t candidate) {
    const struct catalog_model *model = &test.catalog->models[0];
    return timing_run(test.catalog, scan_find(model, stable)->version, scan_find(model, candidate)->version);
}

Test(timing, versions_that_do_the_same_take_about_as_long) {
    double ratio = timed(1, 2);
    cr_assert(ratio > 0.1 && ratio < 10, "%g", ratio);
    cr_assert_gt(timed(1, 1), 0);
    cr_assert_not(atomic_load(&test.catalog->loading));
}

/* The ratio, once it is found out, of a rollout that goes on after a restart. */
static double after_a_restart(double max_compute_ratio) {
    static char state_dir[128];
    double ratio = 0;
    snprintf(state_dir, sizeof state_dir, "%s", temp_dir_at(".state"));
    cr_assert_eq(mkdir(state_dir, 0755), 0);
    catalog_case_close(&test);
    test.state_dir = state_dir;
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    test.order.rollout.max_compute_ratio = max_compute_ratio;
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "10%% for 1h");
    cr_assert_eq(catalog_case_order(&test, CATALOG_START, 1), WEIR_OK, "%s", test.order.error.text);
    catalog_case_close(&test);
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    while (ratio == 0) {
        pause_briefly();
        pthread_mutex_lock(&test.catalog->changing);
        ratio = test.catalog->models[0].timed_ratio;
        pthread_mutex_unlock(&test.catalog->changing);
    }
    return ratio;
}

Test(timing, a_candidate_whose_rollout_goes_on_after_a_restart_is_timed_too) {
    double ratio = after_a_restart(1000);
    cr_assert(ratio > 0.1 && ratio < 10, "%g", ratio);
}

Test(timing, what_no_check_asks_for_is_not_timed) {
    cr_assert_eq(after_a_restart(-1), TIMING_NEVER);
}
