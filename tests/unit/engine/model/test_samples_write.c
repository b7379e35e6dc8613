#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/model/samples.h"
#include "engine/npy.h"
#include "tests/fakes/temp_dir.h"

static char long_name[300];
static struct tensor_spec inputs[1], outputs[3];
static struct signature signature = {.inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 3};
static struct weir_error error;
static float rows[3][2] = {{1, 2}, {3, 4}, {5, 6}};

/* x float32 [N,2]; y the same, "a/b" int64 [N], and one without a batch dimension of the name in long_name. */
static void setup(void) {
    temp_dir_enter();
    inputs[0] = outputs[0] = (struct tensor_spec){.shape = {.rank = 2, .dims = {TENSOR_BATCH, 2}}};
    inputs[0].name = strdup("x");
    outputs[0].name = strdup("y");
    outputs[1] =
        (struct tensor_spec){.name = strdup("a/b"), .dtype = TENSOR_I64, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}};
    snprintf(long_name, sizeof long_name, "w");
    outputs[2] = (struct tensor_spec){.name = long_name, .shape = {.rank = 1, .dims = {2}}};
    cr_assert(tensor_spec_measure(&inputs[0]));
    for (int i = 0; i < 3; i++)
        cr_assert(tensor_spec_measure(&outputs[i]));
    char head[NPY_HEAD_ROOM];
    const struct tensor_shape shape = {.rank = 2, .dims = {3, 2}};
    FILE *file = fopen("input.x.npy", "w");
    cr_assert_not_null(file);
    fwrite(head, 1, npy_write_head(TENSOR_F32, &shape, head, sizeof head), file);
    fwrite(rows, 1, sizeof rows, file);
    cr_assert_eq(fclose(file), 0);
}

TestSuite(samples_write, .init = setup, .fini = temp_dir_remove);

static void *copy(const void *bytes, size_t size) {
    void *out = malloc(size);
    cr_assert_not_null(out);
    return memcpy(out, bytes, size);
}

/* The inputs, with outputs that have just been made. */
static struct samples *made(void) {
    static const int64_t numbers[] = {7, -8, INT64_MAX};
    struct samples *samples = NULL;
    cr_assert_eq(samples_load_inputs(temp_dir, &signature, &samples, &error), WEIR_OK, "%s", error.text);
    samples->outputs[0] = (struct job_tensor){.data = copy(rows, sizeof rows), .row_bytes = 8, .row = {1, {2}}};
    samples->outputs[1] = (struct job_tensor){.data = copy(numbers, sizeof numbers), .row_bytes = 8};
    samples->outputs[2] = (struct job_tensor){.data = copy(rows[1], 8), .row_bytes = 8, .row = {1, {2}}};
    return samples;
}

static void write_all(void) {
    struct samples *samples = made();
    for (int i = 0; i < 3; i++)
        cr_assert_eq(samples_write_output(temp_dir, &signature, samples, i, &error), WEIR_OK, "%s", error.text);
    samples_destroy(samples);
}

static bool exists(const char *name) {
    struct stat info;
    return stat(name, &info) == 0;
}

Test(samples_write, what_was_written_is_read_as_it_was) {
    struct samples *samples = NULL;
    cr_assert_eq(samples_load_from(temp_dir, &signature, &samples, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "output.y.npy: is missing"), "%s", error.text);
    write_all();
    write_all(); /* over what is there */
    cr_assert(exists("output.a%2Fb.npy"));
    cr_assert_eq(samples_load_from(temp_dir, &signature, &samples, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(samples->dims.rows, 3);
    cr_assert_arr_eq(samples->outputs[0].data, rows, sizeof rows);
    cr_assert_eq(((const int64_t *)samples->outputs[1].data)[2], INT64_MAX);
    cr_assert_arr_eq(samples->outputs[2].data, rows[1], sizeof rows[1]);
    samples_destroy(samples);
}

Test(samples_write, a_file_of_another_spelling_is_replaced) {
    shell("echo old > output.%79.npy");
    write_all();
    cr_assert(exists("output.%79.npy"));
    cr_assert_not(exists("output.y.npy"));
    struct samples *samples = NULL;
    cr_assert_eq(samples_load_from(temp_dir, &signature, &samples, &error), WEIR_OK, "%s", error.text);
    samples_destroy(samples);
}

Test(samples_write, what_cannot_be_written_is_an_error_with_its_file) {
    memset(long_name, 'w', 250);
    struct samples *samples = made();
    cr_assert_eq(samples_write_output(temp_dir, &signature, samples, 2, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "is too long"), "%s", error.text);
    shell("mkdir output.y.npy"); /* stops even root */
    shell("mkdir output.y.npy/x");
    cr_assert_eq(samples_write_output(temp_dir, &signature, samples, 0, &error), WEIR_IO);
    cr_assert_not_null(strstr(error.text, "/output.y.npy: cannot be written: "), "%s", error.text);
    cr_assert_not(exists(".output.new"));
    cr_assert_eq(samples_write_output("/nowhere", &signature, samples, 0, &error), WEIR_IO);
    samples_destroy(samples);
}

Test(samples_write, inputs_of_a_directory_that_is_not_there_are_not_found) {
    struct samples *samples = NULL;
    cr_assert_eq(samples_load_inputs("/nowhere", &signature, &samples, &error), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "/nowhere"), "%s", error.text);
}
