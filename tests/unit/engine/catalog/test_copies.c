#include <criterion/criterion.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

static struct catalog_case test;
static const struct catalog_ask anyone = {.model = 0};

static void setup(void) {
    catalog_case_begin(&test);
    test.hold_new = true;
    model_files_version("1", 1, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
}

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(copies, .init = setup, .fini = teardown);

/* Starts a shadow of version 2, and requests until `copies` of them have been compared. */
static struct catalog_model_view shadow(double percent, uint64_t copies) {
    struct catalog_model_view view;
    float y;
    test.order.rollout.is_shadow = true;
    test.order.rollout.shadow_percent = percent;
    test.order.rollout.max_compute_ratio = -1; /* so short a model's times tell nothing */
    cr_assert_eq(catalog_case_order(&test, CATALOG_START, 2), WEIR_OK, "%s", test.order.error.text);
    do {
        cr_assert_eq(catalog_case_request(&test, &anyone, &y), 1, "a shadow answers nobody");
        catalog_case_view(&test, &view);
    } while (view.comparison.requests < copies);
    catalog_case_view(&test, &view); /* all that goes with these copies has been counted now */
    return view;
}

Test(copies, an_identical_version_has_no_drift_at_all) {
    model_files_version("2", 1, "N");
    struct catalog_model_view view = shadow(100, 30);
    cr_assert_eq(view.comparison.max_error, 0);
    cr_assert_eq(view.comparison.unequal, 0);
    cr_assert_eq(view.comparison.agreement, 1);
    cr_assert_geq(view.outcomes[CATALOG_CANDIDATE].requests, 30);
}

Test(copies, a_drift_is_measured) {
    model_files_version("2", 2, "N"); /* y0 is larger by one */
    struct catalog_model_view view = shadow(100, 30);
    cr_assert_float_eq(view.comparison.max_error, 1, 1e-6);
    cr_assert_float_eq(view.comparison.max_relative, 0.25, 1e-6);
    cr_assert_float_eq(view.comparison.mean_error, 0.5, 1e-6);
}

Test(copies, only_the_share_that_was_asked_for_is_copied) {
    float y;
    model_files_version("2", 1, "N");
    struct catalog_model_view view = shadow(20, 30);
    uint64_t requests = view.outcomes[CATALOG_STABLE].requests;
    cr_assert_leq(view.comparison.requests, requests / 5 + 10);
    for (int i = 0; i < 100; i++)
        catalog_case_request(&test, &anyone, &y);
    catalog_case_view(&test, &view);
    cr_assert_leq(view.comparison.requests, (requests + 100) / 5 + 10);
}

Test(copies, a_canarys_answers_are_compared_with_stables) {
    struct catalog_model_view view;
    float y;
    model_files_version("2", 2, "N");
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "100%%");
    test.order.rollout.min_agreement = test.order.rollout.max_compute_ratio = test.order.rollout.max_p99_ratio = -1;
    cr_assert_eq(catalog_case_order(&test, CATALOG_START, 2), WEIR_OK, "%s", test.order.error.text);
    do {
        cr_assert_eq(catalog_case_request(&test, &anyone, &y), 2);
        catalog_case_view(&test, &view);
    } while (view.comparison.requests < 20);
    cr_assert_float_eq(view.comparison.max_error, 1, 1e-6);
}

Test(copies, copies_under_way_come_home_at_the_end) {
    float y;
    model_files_version("2", 1, "N");
    shadow(100, 1);
    for (int i = 0; i < 20; i++)
        catalog_case_request(&test, &anyone, &y);
    /* The teardown stops everything: what leaks is told by AddressSanitizer. */
}
