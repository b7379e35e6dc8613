#include "engine/model/self_test.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The model: y[i] = 2 x[i] of float32 rows of two by two, and n[0] = the row's first element as int64. Its faults are
 * set by the tests. */
enum { COLUMNS = 4, MOST_SAMPLES = 2000 };

static char x_name[] = "x", y_name[] = "y", n_name[] = "n";
static struct tensor_spec inputs[] = {{.name = x_name, .shape = {.rank = 3, .dims = {TENSOR_BATCH, 2, 2}}}};
static struct tensor_spec outputs[] = {
    {.name = y_name, .shape = {.rank = 3, .dims = {TENSOR_BATCH, 2, 2}}},
    {.name = n_name, .dtype = TENSOR_I64, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}}};
static struct signature signature = {.inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 2};
static float x[MOST_SAMPLES][COLUMNS], y[MOST_SAMPLES][COLUMNS];
static int64_t n[MOST_SAMPLES];
static struct job_tensor given[1], expected[2];
static struct samples_tolerance tolerances[2];
static struct samples samples = {
    .inputs = given, .outputs = expected, .tolerances = tolerances, .input_count = 1, .output_count = 2};

/* What the runner saw: how often each size ran, and how often each sample ran alone. */
static int runs_of[100], alone[MOST_SAMPLES];
static struct {
    uint32_t rows, row; /* the batch size and the row that are wrong; 0 rows: none */
    int column;
    float value;
    enum weir_status status; /* what a batch of that size fails with */
    bool other_shape, missing;
} fault;

static struct self_test_options options = {.signature = &signature, .max_rows = 8};
static struct self_test_report report;
static struct weir_error error;

static void set_up(uint32_t count) {
    for (int i = 0; i < 2; i++) {
        cr_assert(tensor_spec_measure(&outputs[i]));
        tolerances[i].absolute = -1;
    }
    cr_assert(tensor_spec_measure(&inputs[0]));
    for (uint32_t row = 0; row < count; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            x[row][column] = (float)row + (float)column / 8;
            y[row][column] = 2 * x[row][column];
        }
        n[row] = row;
    }
    struct tensor_shape square = {.rank = 2, .dims = {2, 2}};
    given[0] = (struct job_tensor){.data = x, .row_bytes = sizeof x[0], .row = square};
    expected[0] = (struct job_tensor){.data = y, .row_bytes = sizeof y[0], .row = square};
    expected[1] = (struct job_tensor){.data = n, .row_bytes = sizeof n[0]};
    samples.dims.rows = count;
}

static enum weir_status run_model(void *context, const struct tensor_dims *dims, struct job_tensor *in,
                                  struct job_tensor *out, struct weir_error *err) {
    bool faulty = dims->rows == fault.rows;
    cr_assert_eq(context, (void *)&fault);
    cr_assert_eq(in[0].row_bytes, sizeof x[0]);
    cr_assert_eq(in[0].row.rank, 2);
    cr_assert(!out[0].data && !out[1].data);
    runs_of[dims->rows]++;
    float *doubled = malloc(dims->rows * sizeof y[0]);
    int64_t *firsts = malloc(dims->rows * sizeof n[0]);
    out[0] = (struct job_tensor){.data = doubled, .row_bytes = sizeof y[0], .row = {.rank = 2, .dims = {2, 2}}};
    out[1] = (struct job_tensor){.data = firsts, .row_bytes = sizeof n[0]};
    for (uint32_t row = 0; row < dims->rows; row++) {
        const float *from = (const float *)in[0].data + (size_t)row * COLUMNS;
        for (int column = 0; column < COLUMNS; column++)
            doubled[row * COLUMNS + (size_t)column] = 2 * from[column];
        firsts[row] = (int64_t)from[0];
        if (dims->rows == 1)
            alone[firsts[row]]++;
    }
    if (!faulty)
        return WEIR_OK;
    if (fault.status != WEIR_OK)
        return weir_fail(err, fault.status, "the device says no");
    if (fault.other_shape)
        out[0].row.dims[0] = 1;
    if (fault.missing) {
        free(firsts);
        out[1].data = NULL;
    }
    if (fault.column < COLUMNS)
        doubled[fault.row * COLUMNS + (size_t)fault.column] = fault.value;
    else
        firsts[fault.row] = (int64_t)fault.value;
    return WEIR_OK;
}

static enum weir_status run(void) {
    struct self_test_runner runner = {.context = &fault, .run = run_model};
    return self_test_run(&samples, &options, &runner, &report, &error);
}

static void assert_ok(void) {
    cr_assert_eq(run(), WEIR_OK, "%s", error.text);
}

static void assert_fails(enum weir_status status, const char *text) {
    cr_assert_eq(run(), status);
    cr_assert_str_eq(error.text, text);
}

Test(self_test, samples_run_alone_at_an_odd_size_and_at_the_largest) {
    set_up(16);
    options.max_rows = 32;
    assert_ok();
    cr_assert_eq(runs_of[1], 16);
    cr_assert_eq(runs_of[7], 3);
    cr_assert_eq(runs_of[32], 1);
    cr_assert_eq(report.runs, 20);
    cr_assert_eq(report.samples, 16);
    cr_assert_eq(report.samples_alone, 16);
    cr_assert_eq(report.worst_error, 0);
    cr_assert_str_eq(report.worst_output, "");
    for (int i = 0; i < 16; i++)
        cr_assert_eq(alone[i], 1);
}

Test(self_test, smaller_batches_have_smaller_sizes) {
    static const uint32_t sizes[][3] = {{0, 0, 1}, {1, 0, 1}, {2, 0, 2}, {3, 0, 3}, {4, 3, 4}, {7, 3, 7}, {8, 7, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        set_up(5);
        memset(runs_of, 0, sizeof runs_of);
        options.max_rows = sizes[i][0];
        assert_ok();
        cr_assert_eq(runs_of[1], 5);
        for (uint32_t rows = 2; rows < 100; rows++)
            cr_assert_eq(runs_of[rows] > 0, rows == sizes[i][1] || rows == sizes[i][2], "max_rows %u: %u",
                         options.max_rows, rows);
    }
}

Test(self_test, rows_that_share_inputs_run_alone) {
    set_up(5);
    signature.shares_inputs = true;
    assert_ok();
    cr_assert_eq(report.runs, 5);
    cr_assert_eq(runs_of[1], 5);
}

Test(self_test, one_sample_fills_every_batch) {
    set_up(1);
    assert_ok();
    cr_assert_eq(report.runs, 3);
    cr_assert_eq(runs_of[8], 1);
}

Test(self_test, many_samples_are_bounded_and_spread) {
    set_up(MOST_SAMPLES);
    assert_ok();
    cr_assert_eq(report.runs, SELF_TEST_MOST_RUNS);
    cr_assert_eq(report.samples, MOST_SAMPLES);
    cr_assert_eq(report.samples_alone, 48);
    int late = 0;
    for (int i = MOST_SAMPLES / 2; i < MOST_SAMPLES; i++)
        late += alone[i];
    cr_assert_eq(late, 24);
}

Test(self_test, a_wrong_element_is_told_with_its_place) {
    set_up(16);
    fault.rows = 7;
    fault.row = 3;
    fault.column = 2;
    fault.value = 7;
    assert_fails(WEIR_INVALID, "sample 3 at batch 7: output \"y\"[1,0]: got 7, expected 6.5, allowed 7.75e-05");
    fault.value = NAN;
    assert_fails(WEIR_INVALID, "sample 3 at batch 7: output \"y\"[1,0]: got nan, expected 6.5, allowed 7.75e-05");
    fault.value = INFINITY;
    assert_fails(WEIR_INVALID, "sample 3 at batch 7: output \"y\"[1,0]: got inf, expected 6.5, allowed 7.75e-05");
}

Test(self_test, batches_go_round_the_samples) {
    set_up(5);
    fault.rows = 8;
    fault.row = 6;
    assert_fails(WEIR_INVALID, "sample 1 at batch 8: output \"y\"[0,0]: got 0, expected 2, allowed 3.75e-05");
}

Test(self_test, integers_are_exact) {
    set_up(4);
    fault.rows = 1;
    fault.column = COLUMNS;
    fault.value = 1;
    assert_fails(WEIR_INVALID, "sample 0 at batch 1: output \"n\": got 1, expected 0, allowed 0");
    n[0] = (INT64_C(1) << 60) + 1;
    fault.value = 0x1p60F;
    assert_fails(WEIR_INVALID,
                 "sample 0 at batch 1: output \"n\": got 1152921504606846976, expected 1152921504606846977, allowed 0");
}

Test(self_test, an_error_within_what_is_allowed_is_reported) {
    set_up(4);
    fault.rows = 8;
    fault.row = 2;
    fault.value = 4.00002F;
    assert_ok();
    cr_assert_float_eq(report.worst_error, 2e-5, 1e-6);
    cr_assert_float_eq(report.worst_allowed, 1e-5 + 4.75e-5, 1e-9);
    cr_assert_str_eq(report.worst_output, "y");
}

Test(self_test, tolerances_that_come_with_the_samples_decide) {
    set_up(4);
    fault.rows = 8;
    fault.row = 2;
    fault.value = 4.5F;
    tolerances[0] = (struct samples_tolerance){.absolute = 0.5};
    assert_ok();
    tolerances[0].absolute = 0.4;
    assert_fails(WEIR_INVALID, "sample 2 at batch 8: output \"y\"[0,0]: got 4.5, expected 4, allowed 0.4");
    tolerances[0] = (struct samples_tolerance){.relative = 0.11};
    assert_ok();
}

Test(self_test, reduced_precision_allows_more) {
    set_up(4);
    fault.rows = 8;
    fault.row = 2;
    fault.value = 4.1F;
    cr_assert_eq(run(), WEIR_INVALID);
    options.precision = BACKEND_BF16;
    assert_ok();
}

Test(self_test, nan_and_infinity_are_right_where_the_sample_has_them) {
    set_up(3);
    options.max_rows = 1;
    x[0][1] = y[0][1] = NAN;
    x[1][2] = y[1][2] = INFINITY;
    assert_ok();
    y[1][2] = -INFINITY;
    assert_fails(WEIR_INVALID, "sample 1 at batch 1: output \"y\"[1,0]: got inf, expected -inf, allowed 3.75e-05");
    y[1][2] = NAN;
    assert_fails(WEIR_INVALID, "sample 1 at batch 1: output \"y\"[1,0]: got inf, expected nan, allowed 3.75e-05");
}

Test(self_test, another_shape_is_told_with_both) {
    set_up(4);
    fault.rows = 8;
    fault.other_shape = true;
    assert_fails(WEIR_INVALID, "sample 0 at batch 8: output \"y\": got rows of shape [1,2], expected [2,2]");
}

Test(self_test, an_output_that_does_not_come_is_an_error) {
    set_up(4);
    fault.rows = 1;
    fault.missing = true;
    fault.value = 0;
    assert_fails(WEIR_INTERNAL, "sample 0 at batch 1: output \"n\" did not come");
}

Test(self_test, with_cells_it_goes_on_and_counts_what_is_off) {
    struct self_test_cell cells[SELF_TEST_SIZES * 2] = {0};
    struct weir_error first;
    set_up(16);
    options.cells = cells;
    options.first = &first;
    y[3][1] += 5; /* what the sample says */
    y[9][2] += 1;
    struct self_test_runner runner = {.context = &fault, .run = run_model};
    cr_assert_eq(self_test_run(&samples, &options, &runner, &report, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(first.status, WEIR_INVALID);
    cr_assert_not_null(strstr(first.text, "sample 3 at batch 1: output \"y\"[0,1]"), "%s", first.text);
    const uint32_t sizes[SELF_TEST_SIZES] = {1, 7, 8}, runs[SELF_TEST_SIZES] = {16, 3, 2};
    for (int i = 0; i < SELF_TEST_SIZES; i++) {
        cr_assert_eq(cells[2 * i].rows, sizes[i]);
        cr_assert_eq(cells[2 * i].runs, runs[i]);
        cr_assert_eq(cells[2 * i].off, i == 1 ? 3 : 2, "7 by 3 are 21 rows: sample 3 comes twice");
        cr_assert_float_eq(cells[2 * i].error, 5, 1e-6);
        cr_assert_eq(cells[2 * i + 1].off, 0);
        cr_assert_eq(cells[2 * i + 1].error, 0);
    }
    y[3][1] -= 5;
    y[9][2] -= 1;
    memset(cells, 0, sizeof cells);
    cr_assert_eq(self_test_run(&samples, &options, &runner, &report, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(first.status, WEIR_OK);
    cr_assert_eq(cells[0].off + cells[2].off + cells[4].off, 0);
}

Test(self_test, an_output_without_a_batch_dimension_is_compared_once) {
    set_up(1);
    outputs[1].shape.rank = 0;
    cr_assert(tensor_spec_measure(&outputs[1]));
    fault.rows = 7;
    fault.row = 1; /* nobody looks there */
    fault.column = COLUMNS;
    fault.value = 5;
    assert_ok();
    fault.row = 0;
    assert_fails(WEIR_INVALID, "sample 0 at batch 7: output \"n\": got 5, expected 0, allowed 0");
}

Test(self_test, a_failed_run_is_told_with_its_batch) {
    set_up(4);
    fault.rows = 7;
    fault.status = WEIR_DEVICE;
    assert_fails(WEIR_DEVICE, "sample 0 at batch 7: the device says no");
}

/* Gives the context's bytes, whatever comes in. */
static enum weir_status run_constant(void *context, const struct tensor_dims *dims, struct job_tensor *in,
                                     struct job_tensor *out, struct weir_error *err) {
    (void)in, (void)err;
    cr_assert_eq(dims->rows, 1);
    out[0] = (struct job_tensor){.data = malloc(sizeof(uint64_t)), .row_bytes = expected[0].row_bytes};
    memcpy(out[0].data, context, sizeof(uint64_t));
    return WEIR_OK;
}

Test(self_test, every_type_is_compared) {
    static const struct {
        enum tensor_dtype dtype;
        uint64_t got, right; /* little-endian: what is beyond the type's bytes is not looked at */
        const char *text;
    } rows[] = {
        {TENSOR_F32, 0x3F800000, 0x40000000, "got 1, expected 2,"},
        {TENSOR_F64, 0x3FF0000000000000, 0x4000000000000000, "got 1, expected 2,"},
        {TENSOR_F16, 0x3C00, 0x4000, "got 1, expected 2,"},
        {TENSOR_BF16, 0x3F80, 0x4000, "got 1, expected 2,"},
        {TENSOR_I32, 0xFFFFFFFF, 2, "got -1, expected 2,"},
        {TENSOR_I64, UINT64_MAX, 2, "got -1, expected 2,"},
        {TENSOR_I8, 0xFF, 2, "got -1, expected 2,"},
        {TENSOR_U8, 0xFF, 2, "got 255, expected 2,"},
        {TENSOR_BOOL, 1, 0, "got 1, expected 0,"},
    };
    cr_assert_eq(sizeof rows / sizeof rows[0], TENSOR_DTYPE_COUNT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t got = rows[i].got, right = rows[i].right;
        set_up(1);
        signature.output_count = samples.output_count = options.max_rows = 1;
        outputs[0].dtype = rows[i].dtype;
        expected[0] = (struct job_tensor){.data = &right, .row_bytes = tensor_dtype_bytes(rows[i].dtype)};
        struct self_test_runner runner = {.context = &got, .run = run_constant};
        cr_assert_eq(self_test_run(&samples, &options, &runner, &report, &error), WEIR_INVALID);
        cr_assert_not_null(strstr(error.text, rows[i].text), "%s", error.text);
        right = got;
        cr_assert_eq(self_test_run(&samples, &options, &runner, &report, &error), WEIR_OK, "%s", error.text);
    }
}
