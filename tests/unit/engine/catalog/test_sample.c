#include "engine/catalog_sample.h"

#include <criterion/criterion.h>

#include "engine/engine.h"
#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

static struct catalog_case test;
static struct weir_error err;

static void teardown(void) {
    catalog_case_end(&test);
}

TestSuite(sample, .fini = teardown);

Test(sample, the_inputs_and_the_known_answer_of_what_serves_are_copied) {
    struct catalog_sample sample;
    catalog_case_begin(&test);
    model_files_version("4", 4, "N");
    model_files_samples("4", 4);
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    cr_assert_eq(catalog_sample(test.catalog, &(struct catalog_sample_ask){.number = 7}, &sample, &err), WEIR_OK, "%s",
                 err.text);
    cr_assert_eq(engine_describe(sample.version).number, 4);
    cr_assert_eq(sample.count, 1);
    cr_assert_eq(sample.number, 0);
    const float *x = sample.inputs[0].data, *y = sample.expected[0].data;
    cr_assert_eq(x[0], 1);
    cr_assert_eq(x[1], 2);
    cr_assert_eq(y[0], 7);
    cr_assert_eq(y[1], -1);
    catalog_sample_release(&sample);
    cr_assert_eq(catalog_sample(test.catalog, &(struct catalog_sample_ask){.version = 4}, &sample, &err), WEIR_OK);
    catalog_sample_release(&sample);
}

Test(sample, a_version_that_is_not_there_or_not_loaded_or_has_none_is_not_found) {
    struct catalog_sample sample;
    catalog_case_begin(&test);
    model_files_broken("1", "nonsense");
    model_files_version("2", 2, "N");
    cr_assert_eq(catalog_case_open(&test), WEIR_OK);
    for (uint64_t version = 0; version < 4; version++)
        cr_assert_eq(catalog_sample(test.catalog, &(struct catalog_sample_ask){.version = version}, &sample, &err),
                     WEIR_NOT_FOUND, "%d", (int)version);
}
