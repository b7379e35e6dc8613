#include "engine/model/self_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tensor_element.h"

/* Most runs of each size above one row: further rows only run alone. */
enum { MOST_RUNS_EACH = 8, INDEX_ROOM = 160, NUMBER_ROOM = 40 };

struct test {
    const struct samples *samples;
    const struct self_test_options *options;
    const struct self_test_runner *runner;
    struct self_test_report report;
    struct job_tensor *inputs, *outputs; /* of the run */
    struct self_test_cell *cells;        /* of the batch's size, by output; or NULL */
};

/* One element of an output that is being compared. */
struct place {
    int output;
    uint32_t sample, rows; /* the sample's number, and the rows of its batch */
    size_t index;          /* in the row */
    double allowed;        /* what it may be off by */
};

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory to run the samples");
}

/* ---- elements ---- */

static double element(enum tensor_dtype dtype, const void *data, size_t index) {
    if (tensor_is_float(dtype))
        return tensor_float_at(dtype, data, index);
    int64_t whole = tensor_integer_at(dtype, data, index);
    return dtype == TENSOR_BOOL ? whole != 0 : (double)whole;
}

static const char *element_text(enum tensor_dtype dtype, const void *data, size_t index, char *text) {
    if (dtype == TENSOR_I64)
        snprintf(text, NUMBER_ROOM, "%lld", (long long)tensor_integer_at(dtype, data, index));
    else
        snprintf(text, NUMBER_ROOM, dtype == TENSOR_F64 ? "%.17g" : "%.9g", element(dtype, data, index));
    return text;
}

/* "[1,2]" for an index into a row; "" where a row is one number. */
static const char *index_text(const struct tensor_shape *row, size_t index, char *text) {
    size_t places[TENSOR_MAX_RANK], used = 0;
    for (int i = row->rank - 1; i >= 0; i--) {
        places[i] = index % (size_t)row->dims[i];
        index /= (size_t)row->dims[i];
    }
    text[0] = 0;
    for (int i = 0; i < row->rank; i++)
        used += (size_t)snprintf(text + used, INDEX_ROOM - used, "%s%zu%s", i == 0 ? "[" : ",", places[i],
                                 i == row->rank - 1 ? "]" : "");
    return text;
}

/* ---- comparing ---- */

/* The largest finite magnitude in a row. */
static double largest(enum tensor_dtype dtype, const void *row, size_t elements) {
    double most = 0;
    for (size_t i = 0; i < elements; i++) {
        double magnitude = fabs(element(dtype, row, i));
        if (isfinite(magnitude) && magnitude > most)
            most = magnitude;
    }
    return most;
}

/* Keeps the error if it is nearer to what is allowed than any before. */
static void note_error(struct self_test_report *report, double error, double allowed, const char *output) {
    if (error <= 0 || (report->worst_error > 0 && error * report->worst_allowed <= report->worst_error * allowed))
        return;
    report->worst_error = error;
    report->worst_allowed = allowed;
    snprintf(report->worst_output, sizeof report->worst_output, "%s", output);
}

/* By how many times what is allowed. */
static double share_of(double error, double allowed) {
    return error == 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;
}

static void note_cell(struct self_test_cell *cell, double error, double allowed) {
    cell->off += !(error <= allowed);
    if (cell->allowed == 0 || share_of(error, allowed) > share_of(cell->error, cell->allowed)) {
        cell->error = error;
        cell->allowed = allowed;
    }
}

/* How far an element is off: 0 also where both are NaN or the same infinity, infinite where only one is. */
static double error_of(enum tensor_dtype dtype, const void *got, const void *expected, size_t index) {
    double a = element(dtype, got, index), b = element(dtype, expected, index);
    if (dtype == TENSOR_I64 && a == b) /* large ones may differ where their doubles do not */
        return tensor_integer_at(dtype, got, index) == tensor_integer_at(dtype, expected, index) ? 0 : 1;
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double error = fabs(a - b);
    return isfinite(b) && isfinite(error) ? error : INFINITY;
}

static enum weir_status tell_off(const struct test *test, struct place place, const void *got, const void *expected,
                                 struct weir_error *err) {
    const struct tensor_spec *spec = &test->options->signature->outputs[place.output];
    char index[INDEX_ROOM], texts[2][NUMBER_ROOM];
    return weir_fail(err, WEIR_INVALID, "sample %u at batch %u: output \"%.100s\"%s: got %s, expected %s, allowed %.3g",
                     place.sample, place.rows, spec->name,
                     index_text(&test->samples->outputs[place.output].row, place.index, index),
                     element_text(spec->dtype, got, place.index, texts[0]),
                     element_text(spec->dtype, expected, place.index, texts[1]), place.allowed);
}

static enum weir_status compare_row(struct test *test, struct place place, const void *got, const void *expected,
                                    struct weir_error *err) {
    const struct tensor_spec *spec = &test->options->signature->outputs[place.output];
    size_t elements = test->samples->outputs[place.output].row_bytes / tensor_dtype_bytes(spec->dtype);
    struct samples_tolerance allow = samples_allow(test->samples, place.output, spec->dtype, test->options->precision);
    place.allowed = allow.absolute + allow.relative * largest(spec->dtype, expected, elements);
    for (place.index = 0; place.index < elements; place.index++) {
        double error = error_of(spec->dtype, got, expected, place.index);
        bool is_off = !(error <= place.allowed);
        if (is_off && !test->cells)
            return tell_off(test, place, got, expected, err);
        if (is_off && test->options->first->status == WEIR_OK)
            tell_off(test, place, got, expected, test->options->first);
        if (test->cells)
            note_cell(&test->cells[place.output], error, place.allowed);
        note_error(&test->report, error, place.allowed, spec->name);
    }
    return WEIR_OK;
}

/* Compares what a batch of rows samples, beginning with first, gave for one output. */
static enum weir_status compare_output(struct test *test, int output, uint32_t first, uint32_t rows,
                                       struct weir_error *err) {
    const struct tensor_spec *spec = &test->options->signature->outputs[output];
    const struct job_tensor *expected = &test->samples->outputs[output], *got = &test->outputs[output];
    uint32_t samples = test->samples->dims.rows;
    if (!got->data)
        return weir_fail(err, WEIR_INTERNAL, "sample %u at batch %u: output \"%.100s\" did not come", first, rows,
                         spec->name);
    if (got->row_bytes != expected->row_bytes || !tensor_shape_equal(&got->row, &expected->row)) {
        char texts[2][INDEX_ROOM];
        return weir_fail(err, WEIR_INVALID,
                         "sample %u at batch %u: output \"%.100s\": got rows of shape %s, expected %s", first, rows,
                         spec->name, tensor_shape_text(&got->row, texts[0], sizeof texts[0]),
                         tensor_shape_text(&expected->row, texts[1], sizeof texts[1]));
    }
    for (uint32_t row = 0; row < (spec->batch_axis < 0 ? 1 : rows); row++) {
        struct place place = {.output = output, .sample = (first + row) % samples, .rows = rows};
        size_t sample = spec->batch_axis < 0 ? 0 : place.sample;
        enum weir_status status = compare_row(test, place, (const char *)got->data + row * got->row_bytes,
                                              (const char *)expected->data + sample * expected->row_bytes, err);
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

/* ---- running ---- */

static void release_outputs(struct test *test) {
    for (int i = 0; i < test->samples->output_count; i++) {
        free(test->outputs[i].data);
        test->outputs[i] = (struct job_tensor){.data = NULL};
    }
}

/* Runs one batch of rows samples, beginning with first and going round, and compares all of its outputs. */
static enum weir_status run_batch(struct test *test, uint32_t first, uint32_t rows, struct weir_error *err) {
    const struct signature *signature = test->options->signature;
    struct tensor_dims dims = test->samples->dims;
    dims.rows = rows;
    for (int i = 0; i < signature->input_count; i++) {
        const struct job_tensor *from = &test->samples->inputs[i];
        for (uint32_t row = 0; row < (signature->inputs[i].batch_axis < 0 ? 1 : rows); row++) {
            size_t sample = signature->inputs[i].batch_axis < 0 ? 0 : (first + row) % test->samples->dims.rows;
            memcpy((char *)test->inputs[i].data + row * from->row_bytes,
                   (const char *)from->data + sample * from->row_bytes, from->row_bytes);
        }
    }
    enum weir_status status = test->runner->run(test->runner->context, &dims, test->inputs, test->outputs, err);
    if (status != WEIR_OK)
        weir_fail_in(err, "sample %u at batch %u", first, rows);
    for (int i = 0; i < signature->output_count && status == WEIR_OK; i++)
        status = compare_output(test, i, first, rows, err);
    release_outputs(test);
    test->report.runs++;
    return status;
}

/* Room for the inputs of the largest batch. */
static enum weir_status make_room(struct test *test, uint32_t most_rows, struct weir_error *err) {
    const struct samples *samples = test->samples;
    test->inputs = calloc((size_t)samples->input_count + 1, sizeof *test->inputs);
    test->outputs = calloc((size_t)samples->output_count + 1, sizeof *test->outputs);
    if (!test->inputs || !test->outputs)
        return no_memory(err);
    for (int i = 0; i < samples->input_count; i++) {
        bool has_rows = test->options->signature->inputs[i].batch_axis >= 0;
        size_t bytes;
        test->inputs[i] = samples->inputs[i];
        test->inputs[i].data = NULL;
        if (__builtin_mul_overflow(samples->inputs[i].row_bytes, (size_t)(has_rows ? most_rows : 1), &bytes))
            return no_memory(err);
        test->inputs[i].data = malloc(bytes + (bytes == 0));
        if (!test->inputs[i].data)
            return no_memory(err);
    }
    return WEIR_OK;
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static void use_cells(struct test *test, int size, uint32_t rows) {
    int outputs = test->options->signature->output_count;
    test->cells = test->options->cells ? test->options->cells + (size_t)size * (size_t)outputs : NULL;
    for (int i = 0; test->cells && i < outputs; i++) {
        test->cells[i].rows = rows;
        test->cells[i].runs++;
    }
}

static enum weir_status run_all(struct test *test, uint32_t max_rows, struct weir_error *err) {
    uint32_t samples = test->samples->dims.rows, counts[3], left = SELF_TEST_MOST_RUNS;
    const uint32_t sizes[3] = {1, max_rows > 7 ? 7 : max_rows > 3 ? 3 : 0, max_rows > 1 ? max_rows : 0};
    enum weir_status status = WEIR_OK;
    for (int i = 2; i >= 0; i--) {
        counts[i] =
            sizes[i] == 0 ? 0 : smaller(samples / sizes[i] + (samples % sizes[i] > 0), i > 0 ? MOST_RUNS_EACH : left);
        left -= counts[i];
    }
    test->report.samples = samples;
    test->report.samples_alone = counts[0];
    for (int i = 0; i < 3; i++)
        for (uint32_t run = 0; run < counts[i] && status == WEIR_OK; run++) {
            /* Where they are too many to run all alone, those that do are spread over them. */
            uint64_t first = i == 0 ? (uint64_t)run * samples / counts[0] : (uint64_t)run * sizes[i];
            use_cells(test, i, sizes[i]);
            status = run_batch(test, (uint32_t)(first % samples), sizes[i], err);
        }
    return status;
}

enum weir_status self_test_run(const struct samples *samples, const struct self_test_options *options,
                               const struct self_test_runner *runner, struct self_test_report *out,
                               struct weir_error *err) {
    struct test test = {.samples = samples, .options = options, .runner = runner};
    uint32_t max_rows = options->signature->shares_inputs || options->max_rows < 1 ? 1 : options->max_rows;
    enum weir_status status = make_room(&test, max_rows, err);
    if (options->cells)
        options->first->status = WEIR_OK;
    if (status == WEIR_OK)
        status = run_all(&test, max_rows, err);
    if (status == WEIR_OK)
        *out = test.report;
    for (int i = 0; test.inputs && i < samples->input_count; i++)
        free(test.inputs[i].data);
    free(test.inputs);
    free(test.outputs);
    return status;
}
