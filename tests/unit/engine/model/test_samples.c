#include "engine/model/samples.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/npy.h"
#include "tests/fakes/temp_dir.h"

static struct samples *samples;
static struct weir_error error;

/* Writes an array of these sizes (ended by -1) with elements whose bytes are 0, 1, 2... */
static void write_array(const char *name, enum tensor_dtype dtype, const int64_t *dims) {
    char path[128], head[NPY_HEAD_ROOM];
    struct tensor_shape shape = {.rank = 0};
    size_t elements;
    while (dims[shape.rank] >= 0) {
        shape.dims[shape.rank] = dims[shape.rank];
        shape.rank++;
    }
    snprintf(path, sizeof path, "samples/%s", name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fwrite(head, 1, npy_write_head(dtype, &shape, head, sizeof head), file);
    cr_assert(tensor_shape_elements(&shape, 0, &elements));
    for (size_t i = 0; i < elements * tensor_dtype_bytes(dtype); i++)
        fputc((int)(i % 256), file);
    fclose(file);
}
#define WRITE(name, dtype, ...) write_array(name, dtype, (const int64_t[]){__VA_ARGS__, -1})

static struct tensor_spec specs[2][3];
static struct signature signature = {.inputs = specs[0], .outputs = specs[1]};

static struct tensor_spec spec(const char *name, enum tensor_dtype dtype, int rank, int64_t a, int64_t b, int64_t c) {
    struct tensor_spec spec = {.name = (char *)name, .dtype = dtype, .shape = {.rank = rank, .dims = {a, b, c}}};
    cr_assert(tensor_spec_measure(&spec));
    return spec;
}

/* One input and one output: x float32 [N,4], y float32 [N,2]. */
static void plain_model(void) {
    specs[0][0] = spec("x", TENSOR_F32, 2, TENSOR_BATCH, 4, 0);
    specs[1][0] = spec("y", TENSOR_F32, 2, TENSOR_BATCH, 2, 0);
    signature.input_count = signature.output_count = 1;
    signature.free_count = 0;
    shell("mkdir samples");
}

static void plain_samples(void) {
    plain_model();
    WRITE("input.x.npy", TENSOR_F32, 3, 4);
    WRITE("output.y.npy", TENSOR_F32, 3, 2);
}

static void load(void) {
    cr_assert_eq(samples_load(temp_dir, &signature, &samples, &error), WEIR_OK, "%s", error.text);
    cr_assert_not_null(samples);
}

static void assert_refused(enum weir_status expected, const char *text) {
    enum weir_status status = samples_load(temp_dir, &signature, &samples, &error);
    cr_assert_eq(status, expected, "%d %s", status, error.text);
    cr_assert_not_null(strstr(error.text, text), "%s", error.text);
}

static void assert_allowed(int output, double absolute, double relative) {
    struct samples_tolerance tolerance = samples_allow(samples, output, signature.outputs[output].dtype, BACKEND_FP32);
    cr_assert_float_eq(tolerance.absolute, absolute, 1e-12, "%g", tolerance.absolute);
    cr_assert_float_eq(tolerance.relative, relative, 1e-12, "%g", tolerance.relative);
}

TestSuite(samples, .init = temp_dir_enter, .fini = temp_dir_remove);

Test(samples, a_version_without_samples_has_none) {
    plain_model();
    shell("rmdir samples");
    samples = (struct samples *)&signature;
    cr_assert_eq(samples_load(temp_dir, &signature, &samples, &error), WEIR_OK, "%s", error.text);
    cr_assert_null(samples);
    samples_destroy(samples);
}

Test(samples, rows_are_loaded_as_a_job_has_them) {
    plain_samples();
    shell("touch samples/README.md samples/.hidden");
    load();
    cr_assert_eq(samples->dims.rows, 3);
    cr_assert_eq(samples->inputs[0].row_bytes, 16);
    cr_assert_eq(samples->inputs[0].row.rank, 1);
    cr_assert_eq(samples->inputs[0].row.dims[0], 4);
    cr_assert_eq(samples->outputs[0].row_bytes, 8);
    cr_assert_eq(((unsigned char *)samples->inputs[0].data)[47], 47);
    samples_destroy(samples);
}

Test(samples, rows_lie_first_wherever_the_model_has_its_batch_dimension) {
    plain_model();
    specs[0][0] = spec("x", TENSOR_U8, 3, 5, TENSOR_BATCH, 2);
    WRITE("input.x.npy", TENSOR_U8, 3, 5, 2);
    WRITE("output.y.npy", TENSOR_F32, 3, 2);
    load();
    cr_assert_eq(samples->inputs[0].row_bytes, 10);
    cr_assert_eq(samples->inputs[0].row.rank, 2);
    samples_destroy(samples);
}

Test(samples, free_sizes_come_from_the_files_and_must_agree) {
    plain_model();
    specs[0][0] = spec("ids", TENSOR_I64, 2, TENSOR_BATCH, TENSOR_FREE(0), 0);
    specs[0][1] = spec("mask", TENSOR_BOOL, 2, TENSOR_BATCH, TENSOR_FREE(0), 0);
    specs[1][0] = spec("y", TENSOR_F32, 3, TENSOR_BATCH, TENSOR_FREE(0), TENSOR_DERIVED);
    signature.input_count = 2;
    signature.free_count = 1;
    WRITE("input.ids.npy", TENSOR_I64, 2, 7);
    WRITE("input.mask.npy", TENSOR_BOOL, 2, 7);
    WRITE("output.y.npy", TENSOR_F32, 2, 7, 9);
    load();
    cr_assert_eq(samples->dims.free_count, 1);
    cr_assert_eq(samples->dims.free[0], 7);
    cr_assert_eq(samples->outputs[0].row.dims[1], 9);
    samples_destroy(samples);
    WRITE("input.mask.npy", TENSOR_BOOL, 2, 6);
    assert_refused(WEIR_INVALID, "samples/input.mask.npy: got bool [2,6], expected bool [2,7]");
}

Test(samples, a_tensor_without_a_batch_dimension_is_there_as_a_whole) {
    plain_model();
    specs[0][1] = spec("table", TENSOR_F32, 2, 3, 2, 0);
    signature.input_count = 2;
    WRITE("input.x.npy", TENSOR_F32, 5, 4);
    WRITE("input.table.npy", TENSOR_F32, 3, 2);
    WRITE("output.y.npy", TENSOR_F32, 5, 2);
    load();
    cr_assert_eq(samples->dims.rows, 5);
    cr_assert_eq(samples->inputs[1].row_bytes, 24);
    cr_assert_eq(samples->inputs[1].row.rank, 2);
    samples_destroy(samples);
}

Test(samples, a_model_without_a_batch_dimension_has_one_sample) {
    plain_model();
    specs[0][0] = spec("x", TENSOR_F32, 1, 4, 0, 0);
    specs[1][0] = spec("y", TENSOR_F32, 0, 0, 0, 0);
    write_array("input.x.npy", TENSOR_F32, (const int64_t[]){4, -1});
    write_array("output.y.npy", TENSOR_F32, (const int64_t[]){-1});
    load();
    cr_assert_eq(samples->dims.rows, 1);
    cr_assert_eq(samples->outputs[0].row_bytes, 4);
    samples_destroy(samples);
}

Test(samples, bfloat16_lies_in_two_bytes_without_a_type) {
    plain_samples();
    specs[1][0] = spec("y", TENSOR_BF16, 2, TENSOR_BATCH, 2, 0);
    WRITE("output.y.npy", TENSOR_BF16, 3, 2);
    load();
    cr_assert_eq(samples->dims.rows, 3);
    cr_assert_eq(samples->outputs[0].row_bytes, 4);
    cr_assert_eq(samples->outputs[0].row.rank, 1);
    cr_assert_eq(samples->outputs[0].row.dims[0], 2);
    for (int i = 0; i < 12; i++)
        cr_assert_eq(((unsigned char *)samples->outputs[0].data)[i], i);
    samples_destroy(samples);
}

Test(samples, names_that_no_file_can_have_are_written_in_hexadecimal) {
    plain_samples();
    specs[0][0] = spec("a/b%c", TENSOR_F32, 2, TENSOR_BATCH, 4, 0);
    specs[1][0] = spec("50%", TENSOR_F32, 2, TENSOR_BATCH, 2, 0);
    shell("rm samples/*");
    WRITE("output.50%.npy", TENSOR_F32, 3, 2);
    assert_refused(WEIR_INVALID, "samples/input.a%2Fb%25c.npy: is missing, expected float32 [-1,4]");
    WRITE("input.%61%2fb%25c.npy", TENSOR_F32, 3, 4);
    load();
    samples_destroy(samples);
    WRITE("input.a%2fb%25c.npy", TENSOR_F32, 3, 4);
    assert_refused(WEIR_INVALID, "samples/input.a%2fb%25c.npy: input.%61%2fb%25c.npy is there already");
    shell("mv samples/input.%61%2fb%25c.npy samples/input.a%2fb%25c%00.npy");
    assert_refused(WEIR_INVALID, "the model has no such input");
}

Test(samples, a_missing_file_is_named_with_what_it_should_be) {
    plain_samples();
    shell("rm samples/output.y.npy");
    assert_refused(WEIR_INVALID, "samples/output.y.npy: is missing, expected float32 [3,2]");
    shell("rm samples/*");
    assert_refused(WEIR_INVALID, "samples/input.x.npy: is missing, expected float32 [-1,4]");
}

Test(samples, files_of_nothing_in_the_model_are_refused) {
    static const char *const names[] = {"input.z.npy", "output.x.npy", "input.x.npz", "outputs.y.npy",
                                        "tolerances",  "input..npy",   "input.npy",   "input.x"};
    plain_samples();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "samples/%s", names[i]);
        temp_dir_write(path, "");
        assert_refused(WEIR_INVALID, path);
        unlink(path);
    }
    load();
    samples_destroy(samples);
}

Test(samples, another_shape_or_type_is_refused_with_both) {
    plain_samples();
    WRITE("input.x.npy", TENSOR_F32, 3, 5);
    assert_refused(WEIR_INVALID, "samples/input.x.npy: got float32 [3,5], expected float32 [3,4]");
    WRITE("input.x.npy", TENSOR_F64, 3, 4);
    assert_refused(WEIR_INVALID, "samples/input.x.npy: got float64 [3,4], expected float32 [-1,4]");
    WRITE("input.x.npy", TENSOR_F32, 3, 4, 1);
    assert_refused(WEIR_INVALID, "samples/input.x.npy: got float32 [3,4,1], expected float32 [-1,4]");
    WRITE("input.x.npy", TENSOR_F32, 2, 4);
    assert_refused(WEIR_INVALID, "samples/output.y.npy: got float32 [3,2], expected float32 [2,2]");
    WRITE("input.x.npy", TENSOR_F32, 0, 4);
    assert_refused(WEIR_INVALID, "samples/input.x.npy: 0 rows, expected 1 to 65536");
    shell("truncate -s 10 samples/input.x.npy");
    assert_refused(WEIR_INVALID, "samples/input.x.npy: truncated");
}

Test(samples, files_beyond_the_limit_are_refused_unread) {
    plain_samples();
    shell("truncate -s 300M samples/output.y.npy");
    assert_refused(WEIR_TOO_LARGE, "samples/output.y.npy");
}

Test(samples, samples_that_are_no_directory_are_refused) {
    plain_model();
    shell("rmdir samples; touch samples");
    assert_refused(WEIR_IO, "samples: Not a directory");
}

Test(samples, without_a_tolerance_the_type_and_the_precision_decide) {
    plain_samples();
    load();
    assert_allowed(0, 1e-5, 1e-5);
    cr_assert_float_eq(samples_allow(samples, 0, TENSOR_F16, BACKEND_FP32).relative, 1e-3, 1e-12);
    cr_assert_float_eq(samples_allow(samples, 0, TENSOR_BF16, BACKEND_FP32).relative, 1e-2, 1e-12);
    cr_assert_float_eq(samples_allow(samples, 0, TENSOR_F32, BACKEND_BF16).relative, 3e-2, 1e-12);
    for (int precision = 0; precision < BACKEND_PRECISIONS; precision++) {
        cr_assert_gt(samples_allow(samples, 0, TENSOR_F32, (enum backend_precision)precision).relative, 0);
        cr_assert_eq(samples_allow(samples, 0, TENSOR_I64, (enum backend_precision)precision).absolute, 0);
        cr_assert_eq(samples_allow(samples, 0, TENSOR_BOOL, (enum backend_precision)precision).relative, 0);
    }
    samples_destroy(samples);
}

Test(samples, tolerances_are_read_by_name_and_for_all_others) {
    plain_samples();
    specs[1][0] = spec("y y", TENSOR_F32, 2, TENSOR_BATCH, 2, 0);
    specs[1][1] = spec("z", TENSOR_I64, 1, TENSOR_BATCH, 0, 0);
    signature.output_count = 2;
    shell("mv samples/output.y.npy 'samples/output.y y.npy'");
    WRITE("output.z.npy", TENSOR_I64, 3);
    temp_dir_write("samples/tolerance", "# what the evaluation allows\n\n  y%20y\t1e-3 0.5\r\n");
    load();
    assert_allowed(0, 1e-3, 0.5);
    assert_allowed(1, 0, 0);
    samples_destroy(samples);
    temp_dir_write("samples/tolerance", "* 1 0\ny%20y 2 0");
    load();
    assert_allowed(0, 2, 0);
    assert_allowed(1, 1, 0);
    samples_destroy(samples);
}

Test(samples, a_faulty_tolerance_is_refused_with_its_line) {
    static const char *const rows[][2] = {
        {"y 1\n", "line 1: expected NAME ABSOLUTE RELATIVE"},
        {"\ny 1 2 3\n", "line 2: expected NAME ABSOLUTE RELATIVE"},
        {"y -1 0\n", "line 1: expected two numbers"},
        {"y 1 nan\n", "line 1: expected two numbers"},
        {"y 1 2x\n", "line 1: expected two numbers"},
        {"x 1 1\n", "line 1: the model has no such output"},
        {"y 1 1\ny 1 1\n", "line 2: this name is there already"},
        {"* 1 1\n* 1 1\n", "line 2: this name is there already"},
    };
    plain_samples();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        temp_dir_write("samples/tolerance", rows[i][0]);
        assert_refused(WEIR_INVALID, rows[i][1]);
    }
    shell("seq -s ' ' 1000 >samples/tolerance");
    assert_refused(WEIR_INVALID, "line 1: it is too long");
}
