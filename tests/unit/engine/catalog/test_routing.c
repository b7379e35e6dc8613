#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

static struct catalog_case test;

static void setup(void) {
    catalog_case_begin(&test);
    test.hold_new = true;
    model_files_version("1", 1, "N");
}

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(routing, .init = setup, .fini = teardown);

static void open(const char *steps, const char *header) {
    cr_assert_eq(catalog_case_open(&test), WEIR_OK, "%s", test.why.text);
    model_files_version("2", 1, "N");
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "%s", steps);
    snprintf(test.order.rollout.sticky_header, sizeof test.order.rollout.sticky_header, "%s", header);
    cr_assert_eq(catalog_case_order(&test, CATALOG_START, 2), WEIR_OK, "%s", test.order.error.text);
}

/* The version that a request goes to. */
static uint64_t route(const struct catalog_ask *ask) {
    struct catalog_choice choice;
    struct weir_error err;
    cr_assert_eq(catalog_route(test.catalog, ask, &choice, &err), WEIR_OK, "%s", err.text);
    uint64_t number = engine_describe(choice.version).number;
    catalog_choice_release(&choice);
    return number;
}

Test(routing, five_percent_are_five_percent) {
    int count = 0;
    open("5%", "");
    for (int i = 0; i < 20000; i++)
        count += route(&(struct catalog_ask){.model = 0}) == 2;
    cr_assert(count >= 980 && count <= 1020, "%d of 20000", count);
}

Test(routing, a_key_stays_with_its_version) {
    char header[CATALOG_HEADER_BYTES];
    int count = 0;
    open("20%", "X-User");
    cr_assert(catalog_sticky_header(test.catalog, 0, header));
    cr_assert_str_eq(header, "x-user");
    for (int i = 0; i < 1000; i++) {
        char key[24];
        snprintf(key, sizeof key, "user-%d", i);
        const struct catalog_ask ask = {.key = key, .key_size = strlen(key)};
        uint64_t number = route(&ask);
        cr_assert_eq(route(&ask), number);
        count += number == 2;
    }
    cr_assert(count > 150 && count < 250, "%d of 1000 keys", count);
}

Test(routing, a_forced_version_counts_for_no_rollout) {
    struct catalog_model_view view;
    float y;
    open("50%", "");
    for (int i = 0; i < 20; i++)
        cr_assert_eq(catalog_case_request(&test, &(struct catalog_ask){.version = i % 2 ? "canary" : "2"}, &y), 2);
    catalog_case_view(&test, &view);
    cr_assert_eq(view.outcomes[CATALOG_CANDIDATE].requests, 0);
    cr_assert_eq(view.comparison.requests, 0);
}

Test(routing, without_a_version_it_says_why) {
    struct catalog_choice choice;
    struct weir_error err;
    char text[300];
    model_files_delete("1");
    model_files_broken("3", "nonsense");
    cr_assert_neq(catalog_case_open(&test), WEIR_OK);
    cr_assert_eq(catalog_route(test.catalog, &(struct catalog_ask){.model = 0}, &choice, &err), WEIR_NOT_READY);
    cr_assert_not_null(strstr(err.text, "no version of demo is ready: "), "%s", err.text);
    cr_assert(catalog_obstacle(test.catalog, text, sizeof text));
    cr_assert_str_eq(text, err.text);
    cr_assert_null(catalog_stable(test.catalog, 0));
}
