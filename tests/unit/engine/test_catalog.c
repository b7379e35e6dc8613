#include "engine/catalog.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/engine.h"
#include "tests/fakes/model_files.h"

static struct engine *engine;
static struct weir_error err;
static struct catalog_result result;
static const char *root;
static int failures, remarks;
static uint64_t failed_number;

static void on_failed(void *context, const char *model, uint64_t number, const struct weir_error *why) {
    (void)context;
    (void)model;
    (void)why;
    failed_number = number;
    failures++;
}

static void on_passed_over(void *context, const char *remark) {
    (void)context;
    (void)remark;
    remarks++;
}

static const struct catalog_listener listener = {.failed = on_failed, .passed_over = on_passed_over};

static void setup(void) {
    struct engine_options options = {.devices = {.choice = INVENTORY_CPU, .cpu_threads = 1}, .batch_rows = 8};
    root = model_files_make();
    cr_assert_eq(engine_open(&options, &engine, &err), WEIR_OK, "%s", err.text);
}

static void teardown(void) {
    engine_close(engine);
    model_files_remove();
}

TestSuite(catalog, .init = setup, .fini = teardown);

static enum weir_status load(void) {
    return catalog_load(engine, root, "demo", &listener, &result, &err);
}

Test(catalog, the_highest_number_serves) {
    model_files_version("9", 9, "N");
    model_files_version("v10", 10, "N");
    model_files_version("2", 2, "N");
    cr_assert_eq(load(), WEIR_OK, "%s", err.text);
    cr_assert(result.loaded);
    cr_assert_eq(result.number, 10);
    cr_assert_eq(result.found, 3);
    cr_assert_str_eq(result.model, "demo");
    struct version *version = engine_acquire(engine);
    cr_assert_eq(engine_describe(version).number, 10);
    engine_release(version);
}

Test(catalog, an_older_version_serves_when_the_newest_does_not_load) {
    model_files_version("1", 1, "N");
    model_files_broken("2", "nonsense");
    cr_assert_eq(load(), WEIR_OK);
    cr_assert_eq(result.number, 1);
    cr_assert_eq(failures, 1);
    cr_assert_eq(failed_number, 2);
}

Test(catalog, versions_that_all_fail_are_an_error_with_every_reason) {
    model_files_broken("1", "nonsense");
    model_files_broken("2", "nonsense");
    cr_assert_neq(load(), WEIR_OK);
    cr_assert_eq(failures, 2);
    cr_assert_not_null(strstr(err.text, "/2/model.onnx"), "the newest one's reason is returned: %s", err.text);
    cr_assert_null(engine_acquire(engine));
}

Test(catalog, no_version_is_not_an_error) {
    cr_assert_eq(load(), WEIR_OK);
    cr_assert_not(result.loaded);
    cr_assert_eq(result.found, 0);
}

Test(catalog, directories_that_are_no_versions_are_told) {
    model_files_version("1", 1, "N");
    model_files_version("1.5", 1, "N");
    model_files_version("new", 1, "N");
    cr_assert_eq(load(), WEIR_OK);
    cr_assert_eq(remarks, 2);
}

Test(catalog, a_path_that_is_not_there_is_an_error) {
    cr_assert_eq(catalog_load(engine, "/nowhere/at/all", NULL, &listener, &result, &err), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(err.text, "/nowhere/at/all"));
}
