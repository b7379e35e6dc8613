#include <criterion/criterion.h>
#include <string.h>

#include "engine/batch/batch.h"
#include "engine/model/model.h"
#include "tests/fakes/fake_job.h"
#include "tests/fakes/fake_version.h"

Test(batch, parts_are_laid_out_one_after_the_other) {
    struct batch batch;
    struct weir_error err;
    struct fake_job a, b;
    float staging[8] = {0};
    void *inputs[] = {staging};
    cr_assert_eq(batch_init(&batch, 8, &err), WEIR_OK);
    fake_job_init(&a, 3, 10);
    fake_job_init(&b, 2, 20);
    batch.parts[0] = (struct batch_part){.job = &a.job, .first_row = 1, .rows = 2};
    batch.parts[1] = (struct batch_part){.job = &b.job, .first_row = 0, .rows = 2};
    batch.part_count = 2;
    cr_assert_eq(batch_gather(&batch, 0, 2, version_signature(fake_version(0)), inputs), 4);
    const float wanted[] = {11, 12, 20, 21};
    cr_assert_arr_eq(staging, wanted, sizeof wanted);
    batch_release(&batch);
}

Test(batch, results_go_back_to_the_rows_they_came_from) {
    struct batch batch;
    struct weir_error err;
    struct fake_job a, b;
    const float results[] = {1, 2, 3};
    const void *outputs[] = {results};
    cr_assert_eq(batch_init(&batch, 8, &err), WEIR_OK);
    fake_job_init(&a, 3, 0);
    fake_job_init(&b, 1, 0);
    batch.parts[0] = (struct batch_part){.job = &a.job, .first_row = 1, .rows = 2};
    batch.parts[1] = (struct batch_part){.job = &b.job, .first_row = 0, .rows = 1};
    batch.part_count = 2;
    batch_scatter(&batch, 0, 2, version_signature(fake_version(0)), outputs);
    cr_assert_float_eq(a.out[0], 0, 0, "a row that was not in the batch is not touched");
    cr_assert_float_eq(a.out[1], 1, 0);
    cr_assert_float_eq(a.out[2], 2, 0);
    cr_assert_float_eq(b.out[0], 3, 0);
    batch_release(&batch);
}

Test(batch, part_of_a_batch_can_be_gathered_alone) {
    struct batch batch;
    struct weir_error err;
    struct fake_job a, b;
    float staging[8] = {0};
    void *inputs[] = {staging};
    cr_assert_eq(batch_init(&batch, 8, &err), WEIR_OK);
    fake_job_init(&a, 3, 10);
    fake_job_init(&b, 2, 20);
    batch.parts[0] = (struct batch_part){.job = &a.job, .rows = 3};
    batch.parts[1] = (struct batch_part){.job = &b.job, .rows = 2};
    batch.part_count = 2;
    cr_assert_eq(batch_gather(&batch, 1, 2, version_signature(fake_version(0)), inputs), 2);
    cr_assert_float_eq(staging[0], 20, 0);
    batch_release(&batch);
}
