#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/batch/batch.h"

enum { MOST = 8 };

static struct batch batch;
static struct weir_error err;
static struct job jobs[2];
static struct job_tensor inputs[2], outputs[2];
static float in[2][32], out[2][32];

/* Two jobs: rows of row_elements floats, numbered from 0 and from 100. */
static void setup_jobs(uint32_t rows0, uint32_t rows1, struct tensor_shape row, size_t row_elements) {
    const uint32_t rows[] = {rows0, rows1};
    cr_assert_eq(batch_init(&batch, MOST, &err), WEIR_OK);
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 32; i++) {
            in[j][i] = (float)(100 * j + i);
            out[j][i] = -1;
        }
        inputs[j] = (struct job_tensor){.data = in[j], .row_bytes = row_elements * sizeof(float), .row = row};
        outputs[j] = (struct job_tensor){.data = out[j], .row_bytes = row_elements * sizeof(float), .row = row};
        jobs[j] = (struct job){.dims.rows = rows[j], .inputs = &inputs[j], .outputs = &outputs[j]};
        batch.parts[j] = (struct batch_part){.job = &jobs[j], .rows = rows[j]};
    }
    batch.part_count = 2;
}

static struct tensor_spec make_spec(struct tensor_shape shape) {
    struct tensor_spec spec = {.name = "t", .dtype = TENSOR_F32, .shape = shape};
    cr_assert(tensor_spec_measure(&spec));
    return spec;
}

static const struct tensor_shape one = {.rank = 1, .dims = {1}};
static const struct tensor_shape rows_of_one = {.rank = 2, .dims = {TENSOR_BATCH, 1}};

static void teardown(void) {
    batch_release(&batch);
}

TestSuite(batch, .fini = teardown);

Test(batch, parts_are_laid_out_one_after_the_other) {
    const float wanted[] = {1, 2, 100, 101};
    struct tensor_spec spec = make_spec(rows_of_one);
    float staging[8] = {0};
    setup_jobs(3, 2, one, 1);
    batch.parts[0].first_row = 1;
    batch.parts[0].rows = 2;
    cr_assert_eq(batch_rows(&batch, 0, 2), 4);
    batch_gather(&batch, 0, 2, 0, &spec, staging);
    cr_assert_arr_eq(staging, wanted, sizeof wanted);
}

Test(batch, part_of_a_batch_can_be_gathered_alone) {
    struct tensor_spec spec = make_spec(rows_of_one);
    float staging[8] = {0};
    setup_jobs(3, 2, one, 1);
    cr_assert_eq(batch_rows(&batch, 1, 2), 2);
    batch_gather(&batch, 1, 2, 0, &spec, staging);
    cr_assert_float_eq(staging[0], 100, 0);
    cr_assert_float_eq(staging[2], 0, 0);
}

Test(batch, rows_stand_where_the_batch_dimension_is) {
    const struct tensor_shape row = {.rank = 2, .dims = {2, 2}};
    struct tensor_spec spec = make_spec((struct tensor_shape){.rank = 3, .dims = {2, TENSOR_BATCH, 2}});
    const float wanted[] = {4, 5, 100, 101, 104, 105, 6, 7, 102, 103, 106, 107};
    float staging[16] = {0};
    setup_jobs(2, 2, row, 4);
    batch.parts[0].first_row = 1;
    batch.parts[0].rows = 1;
    batch_gather(&batch, 0, 2, 0, &spec, staging);
    cr_assert_arr_eq(staging, wanted, sizeof wanted);

    const struct tensor_shape whole = {.rank = 3, .dims = {2, 3, 2}};
    batch_scatter(&batch, 0, 2, 0, &spec, &(struct batch_result){.data = staging, .shape = &whole});
    cr_assert_arr_eq(out[0] + 4, in[0] + 4, 4 * sizeof(float));
    cr_assert_arr_eq(out[1], in[1], 8 * sizeof(float));
    cr_assert_float_eq(out[0][0], -1, 0, "a row that was not in the batch is not touched");
}

Test(batch, an_input_that_rows_share_is_copied_once) {
    struct tensor_spec spec = make_spec((struct tensor_shape){.rank = 1, .dims = {3}});
    const float wanted[] = {0, 1, 2, 0};
    float staging[4] = {0};
    setup_jobs(2, 2, (struct tensor_shape){.rank = 1, .dims = {3}}, 3);
    batch_gather(&batch, 0, 1, 0, &spec, staging);
    cr_assert_arr_eq(staging, wanted, sizeof wanted);
}

Test(batch, results_go_back_to_the_rows_they_came_from) {
    struct tensor_spec spec = make_spec(rows_of_one);
    const float results[] = {1, 2, 3};
    const struct tensor_shape whole = {.rank = 2, .dims = {3, 1}};
    setup_jobs(3, 1, one, 1);
    batch.parts[0].first_row = 1;
    batch.parts[0].rows = 2;
    batch_scatter(&batch, 0, 2, 0, &spec, &(struct batch_result){.data = results, .shape = &whole});
    cr_assert_float_eq(out[0][0], -1, 0, "a row that was not in the batch is not touched");
    cr_assert_float_eq(out[0][1], 1, 0);
    cr_assert_float_eq(out[0][2], 2, 0);
    cr_assert_float_eq(out[1][0], 3, 0);
    cr_assert_eq(batch.parts[0].status, WEIR_OK);
}

Test(batch, an_output_without_a_batch_dimension_goes_to_every_job_whole) {
    struct tensor_spec spec = make_spec((struct tensor_shape){.rank = 1, .dims = {2}});
    const float results[] = {8, 9};
    const struct tensor_shape whole = {.rank = 1, .dims = {2}};
    setup_jobs(3, 1, whole, 2);
    batch_scatter(&batch, 0, 2, 0, &spec, &(struct batch_result){.data = results, .shape = &whole});
    for (int j = 0; j < 2; j++) {
        cr_assert_float_eq(out[j][0], 8, 0);
        cr_assert_float_eq(out[j][1], 9, 0);
        cr_assert_float_eq(out[j][2], -1, 0);
    }
}

Test(batch, memory_for_an_output_of_free_size_is_taken_for_all_rows_of_the_job) {
    struct tensor_spec spec = make_spec((struct tensor_shape){.rank = 2, .dims = {TENSOR_BATCH, TENSOR_FREE(0)}});
    const float results[] = {1, 2, 3, 4, 5, 6};
    const struct tensor_shape whole = {.rank = 2, .dims = {2, 3}};
    setup_jobs(3, 1, one, 1);
    outputs[0] = outputs[1] = (struct job_tensor){.data = NULL};
    batch.parts[0].rows = 1;
    batch_scatter(&batch, 0, 2, 0, &spec, &(struct batch_result){.data = results, .shape = &whole});
    float *first = outputs[0].data;
    batch.part_count = 1;
    batch.parts[0].first_row = 1;
    batch.parts[0].rows = 2;
    batch_scatter(&batch, 0, 1, 0, &spec, &(struct batch_result){.data = results, .shape = &whole});
    cr_assert_eq(outputs[0].data, first, "the job's second part finds it");
    cr_assert_eq(outputs[0].row_bytes, 12);
    cr_assert_eq(outputs[0].row.rank, 1);
    cr_assert_eq(outputs[0].row.dims[0], 3);
    const float wanted[] = {1, 2, 3, 1, 2, 3, 4, 5, 6};
    cr_assert_arr_eq(first, wanted, sizeof wanted);
    cr_assert_arr_eq((float *)outputs[1].data, results + 3, 12);
    free(outputs[0].data);
    free(outputs[1].data);
}

Test(batch, a_result_of_another_shape_fails_its_parts) {
    struct tensor_spec spec = make_spec(rows_of_one);
    const float results[8] = {0};
    static const struct tensor_shape wrong[] = {
        {.rank = 2, .dims = {4, 2}}, {.rank = 1, .dims = {4}}, {.rank = 2, .dims = {3, 1}}};
    for (int i = 0; i < 3; i++) {
        setup_jobs(3, 1, one, 1);
        batch_scatter(&batch, 0, 2, 0, &spec, &(struct batch_result){.data = results, .shape = &wrong[i]});
        cr_assert_eq(batch.parts[0].status, WEIR_INTERNAL);
        cr_assert_eq(batch.parts[1].status, WEIR_INTERNAL);
        cr_assert_not_null(strstr(batch.error.text, "output \"t\" came as ["), "%s", batch.error.text);
        cr_assert_float_eq(out[0][0], -1, 0);
        if (i < 2)
            batch_release(&batch);
    }
}
