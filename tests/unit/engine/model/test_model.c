#include "engine/model/model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/inventory.h"
#include "engine/model/cost_table.h"
#include "tests/fakes/model_files.h"

static struct inventory inventory;
static struct weir_error err;

static void setup(void) {
    struct inventory_options options = {.choice = INVENTORY_CPU, .cpu_threads = 1};
    model_files_make();
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_OK);
}

static void teardown(void) {
    inventory_release(&inventory);
    model_files_remove();
}

TestSuite(model, .init = setup, .fini = teardown);

static bool refuse_other_batch;

static enum weir_status load(const char *path, struct version **out) {
    struct version_options options = {.model_name = "demo",
                                      .number = 7,
                                      .path = path,
                                      .devices = inventory.devices,
                                      .device_count = inventory.count,
                                      .batch_rows = 8,
                                      .refuse_other_batch = refuse_other_batch};
    return version_load(&options, out, &err);
}

Test(model, a_version_knows_its_name_number_and_signature) {
    struct version *version;
    cr_assert_eq(load(model_files_version("7", 7, "N"), &version), WEIR_OK, "%s", err.text);
    cr_assert_str_eq(version_model_name(version), "demo");
    cr_assert_eq(version_number(version), 7);
    cr_assert_eq(version_batch_rows(version), 8);
    cr_assert_eq(version_fixed_batch(version), 0);
    cr_assert_str_eq(version_batching(version), "");
    cr_assert_gt(version_load_ns(version), 0);
    const struct signature *signature = version_signature(version);
    cr_assert_eq(signature->input_count, 1);
    cr_assert_str_eq(signature->inputs[0].name, "x");
    cr_assert_eq(signature->outputs[0].row_elements, 2);
    cr_assert_not_null(version_replica(version, 0));
    const struct cost_model *costs = cost_table_find(version_costs(version, 0), &(struct tensor_dims){.rows = 8});
    cr_assert_geq(costs->samples, 3, "the warm-up has timed batches");
    cr_assert_gt(cost_model_predict(costs, 8), 0);
    cr_assert_lt(cost_model_predict(costs, 8), 1000000000);
    version_unref(version);
}

Test(model, it_lives_until_the_last_reference_is_gone) {
    struct version *version;
    cr_assert_eq(load(model_files_version("7", 7, "N"), &version), WEIR_OK);
    cr_assert_eq(version_ref(version), version);
    version_unref(version);
    cr_assert_eq(version_number(version), 7, "under AddressSanitizer this read proves it");
    version_unref(version);
}

Test(model, a_fixed_batch_bounds_the_batches) {
    struct version *version;
    cr_assert_eq(load(model_files_version("7", 7, "1"), &version), WEIR_OK, "%s", err.text);
    cr_assert_eq(version_fixed_batch(version), 1);
    cr_assert_eq(version_batch_rows(version), 1);
    version_unref(version);
}

Test(model, a_broken_file_is_refused_by_its_path) {
    struct version *version;
    cr_assert_neq(load(model_files_broken("7", "this is no model"), &version), WEIR_OK);
    cr_assert_not_null(strstr(err.text, "/7/model.onnx"), "%s", err.text);
}

Test(model, a_fixed_batch_other_than_the_one_asked_for_is_refused) {
    struct version *version;
    refuse_other_batch = true;
    cr_assert_eq(load(model_files_version("7", 7, "1"), &version), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "fixed batch of 1, batch_size is set to 8"), "%s", err.text);
    cr_assert_eq(load(model_files_version("7", 7, "8"), &version), WEIR_OK, "%s", err.text);
    version_unref(version);
}

Test(model, rows_that_do_not_stay_apart_run_alone_and_the_reason_is_told) {
    struct version *version;
    cr_assert_eq(load(model_files_mixing("7"), &version), WEIR_OK, "%s", err.text);
    cr_assert_eq(version_batch_rows(version), 1);
    cr_assert_eq(version_fixed_batch(version), 0);
    cr_assert_not_null(strstr(version_batching(version), "reduces over the rows"), "%s", version_batching(version));
    version_unref(version);
}

Test(model, costs_of_a_free_dimension_begin_with_the_sizes_of_the_warm_up) {
    struct version *version;
    const struct tensor_dims dims = {.rows = 8, .free_count = 1, .free = {100}};
    cr_assert_eq(load(model_files_free("7"), &version), WEIR_OK, "%s", err.text);
    cr_assert_eq(version_signature(version)->free_count, 1);
    cr_assert_str_empty(version_report(version, 0), "the CPU has nothing to tell");
    const struct cost_table *costs = version_costs(version, 0);
    cr_assert_eq(costs->count, 1);
    cr_assert_gt(cost_model_predict(cost_table_find(costs, &dims), 8), 0, "the nearest is better than nothing");
    version_unref(version);
}
