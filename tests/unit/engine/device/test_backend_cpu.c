#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend.h"
#include "engine/device/backend_cpu_dnnl.h"
#include "engine/graph/plan.h"
#include "engine/tensor.h"
#include "tests/fakes/model_run.h"

enum { IN = 64, HIDDEN = 48, OUT = 10, MAX_ROWS = 38 };

static struct onnx_model model;
static struct weir_error err;
static struct plan *plan;
static struct backend *backend;
static struct backend_model *loaded;
static float w1[IN * HIDDEN], b1[HIDDEN], w2[HIDDEN * OUT], b2[OUT], x[MAX_ROWS * IN], expected[MAX_ROWS * OUT];

static void fill(float *values, size_t count) {
    static uint32_t state = 3;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
    }
}

/* A perceptron of two layers with a softmax. */
static void make_plan(void) {
    fill(w1, IN * HIDDEN);
    fill(b1, HIDDEN);
    fill(w2, HIDDEN * OUT);
    fill(b2, OUT);
    fill(x, MAX_ROWS * IN);
    onnx_add_node(&model, (struct onnx_node){"Gemm", "x w1 b1", "h", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Relu", "h", "r", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Gemm", "r w2 b2", "l", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Softmax", "l", "y", NULL, NULL, NULL});
    onnx_add_floats(&model, "w1", "64,48", w1, IN * HIDDEN);
    onnx_add_floats(&model, "b1", "48", b1, HIDDEN);
    onnx_add_floats(&model, "w2", "48,10", w2, HIDDEN * OUT);
    onnx_add_floats(&model, "b2", "10", b2, OUT);
    onnx_add_input(&model, "x", "N,64");
    onnx_add_output(&model, "y", "N,10");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
}

static void load(struct backend_options options) {
    const void *inputs[] = {x};
    void *outputs[] = {expected};
    make_plan();
    struct tensor_dims dims = *plan_example(plan);
    dims.rows = MAX_ROWS;
    cr_assert_eq(model_run_oracle(plan, &dims, inputs, outputs, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(backend_cpu_open(&options, &backend, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(backend->ops->load(backend, plan, MAX_ROWS, &loaded, &err), WEIR_OK, "%s", err.text);
}

static void unload(void) {
    if (backend) {
        backend->ops->unload(loaded);
        backend->ops->close(backend);
    }
    plan_destroy(plan);
}

TestSuite(backend_cpu, .fini = unload);

static struct tensor_dims rows_of(uint32_t rows) {
    struct tensor_dims dims = *plan_example(plan);
    dims.rows = rows;
    return dims;
}

static const float *run(const float *from, uint32_t rows) {
    struct tensor_dims dims = rows_of(rows);
    cr_assert_eq(backend->ops->begin(loaded, 0, &dims, &err), WEIR_OK, "%s", err.text);
    memcpy(backend->ops->input(loaded, 0, 0), from, rows * IN * sizeof *from);
    cr_assert_eq(backend->ops->submit(loaded, 0, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(backend->ops->wait(loaded, 0, &err), WEIR_OK, "%s", err.text);
    const struct tensor_shape *shape = backend->ops->output_shape(loaded, 0, 0);
    cr_assert(shape->rank == 2 && shape->dims[0] == rows && shape->dims[1] == OUT);
    return backend->ops->output(loaded, 0, 0);
}

static void expect_every_row_count(double tolerance) {
    for (uint32_t rows = 1; rows <= MAX_ROWS; rows++) {
        const float *y = run(x, rows);
        for (size_t i = 0; i < rows * OUT; i++)
            cr_assert_float_eq(y[i], expected[i], tolerance, "%u rows, element %zu", rows, i);
    }
}

Test(backend_cpu, every_row_count_gives_the_oracles_numbers) {
    load((struct backend_options){0});
    expect_every_row_count(1e-6);
}

Test(backend_cpu, a_row_has_the_same_bits_alone_and_among_others) {
    static float together[MAX_ROWS * OUT];
    load((struct backend_options){.threads = 1});
    if (!strstr(backend->description, "avx512"))
        cr_skip_test("without AVX-512 oneDNN's sums depend on the number of rows");
    memcpy(together, run(x, MAX_ROWS), sizeof together);
    for (size_t row = 0; row < MAX_ROWS; row++)
        cr_assert(memcmp(run(x + row * IN, 1), together + row * OUT, OUT * sizeof(float)) == 0, "row %zu", row);
}

Test(backend_cpu, strict_gives_a_row_the_same_bits_on_every_machine) {
    static float together[MAX_ROWS * OUT];
    load((struct backend_options){.invariance = BACKEND_STRICT});
    memcpy(together, run(x, MAX_ROWS), sizeof together);
    for (uint32_t rows = 1; rows <= MAX_ROWS - 3; rows += 6)
        cr_assert(memcmp(run(x + 3 * IN, rows), together + 3 * OUT, rows * OUT * sizeof(float)) == 0);
    for (size_t row = 0; row < MAX_ROWS; row++)
        cr_assert(memcmp(run(x + row * IN, 1), together + row * OUT, OUT * sizeof(float)) == 0, "row %zu", row);
}

Test(backend_cpu, buckets_fill_batches_up_with_zeros) {
    load((struct backend_options){.invariance = BACKEND_BUCKET});
    expect_every_row_count(1e-6);
    struct tensor_dims dims = rows_of(5);
    cr_assert_eq(backend->ops->begin(loaded, 0, &dims, &err), WEIR_OK);
    float *input = backend->ops->input(loaded, 0, 0);
    for (size_t i = 0; i < 16 * IN; i++)
        input[i] = NAN;
    memcpy(input, x, 5 * IN * sizeof *x);
    cr_assert_eq(backend->ops->submit(loaded, 0, &err), WEIR_OK);
    const float *y = backend->ops->output(loaded, 0, 0);
    for (size_t i = 0; i < 16 * OUT; i++)
        cr_assert(isfinite(y[i]), "element %zu", i);
}

Test(backend_cpu, rows_behind_the_batch_are_not_touched) {
    load((struct backend_options){0});
    float *y = (float *)(uintptr_t)backend->ops->output(loaded, 0, 0);
    for (size_t i = 0; i < MAX_ROWS * OUT; i++)
        y[i] = -5;
    run(x, 7);
    for (size_t i = 0; i < MAX_ROWS * OUT; i++)
        cr_assert((y[i] == -5) == (i >= 7 * OUT));
}

Test(backend_cpu, staging_memory_is_aligned_and_holds_the_rows_that_began) {
    load((struct backend_options){0});
    run(x, MAX_ROWS);
    float *input = backend->ops->input(loaded, 0, 0);
    cr_assert_eq((uintptr_t)input % 64, 0);
    cr_assert_eq((uintptr_t)backend->ops->output(loaded, 0, 0) % 64, 0);
    memset(input, 0, MAX_ROWS * IN * sizeof(float));
    cr_assert_eq(backend->slot_count, 1);
    cr_assert_str_eq(backend->ops->name, "cpu");
}

Test(backend_cpu, sizes_outside_the_range_are_refused) {
    load((struct backend_options){0});
    struct tensor_dims dims = rows_of(0);
    cr_assert_eq(backend->ops->begin(loaded, 0, &dims, &err), WEIR_INTERNAL);
    dims.rows = MAX_ROWS + 1;
    cr_assert_eq(backend->ops->begin(loaded, 0, &dims, NULL), WEIR_INTERNAL);
    dims.rows = 1;
    dims.free_count = 1;
    cr_assert_eq(backend->ops->begin(loaded, 0, &dims, &err), WEIR_INTERNAL);
    cr_assert_eq(backend->ops->submit(loaded, 0, &err), WEIR_OK);
    cr_assert_eq(backend->ops->wait(loaded, 0, &err), WEIR_INTERNAL);
}

static int count_threads(void) {
    char line[128];
    int threads = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    fclose(file);
    return threads;
}

Test(backend_cpu, one_thread_starts_no_pool) {
    int before = count_threads();
    load((struct backend_options){.threads = 1});
    run(x, MAX_ROWS);
    cr_assert_eq(count_threads(), before);
}

Test(backend_cpu, two_threads_give_the_same_numbers) {
    load((struct backend_options){.threads = 2});
    const float *y = run(x, MAX_ROWS);
    for (size_t i = 0; i < MAX_ROWS * OUT; i++)
        cr_assert_float_eq(y[i], expected[i], 1e-6);
    cr_assert_not_null(strstr(backend->description, "2 threads"));
}

Test(backend_cpu, models_stand_beside_each_other_and_one_row_is_enough) {
    struct backend_model *second;
    struct plan *other;
    static float single[OUT];
    load((struct backend_options){0});
    memcpy(single, run(x, 1), sizeof single);
    cr_assert_eq(model_plan(&model, 13, &other, &err), WEIR_OK);
    cr_assert_eq(backend->ops->load(backend, other, 1, &second, &err), WEIR_OK);
    struct tensor_dims dims = rows_of(1);
    cr_assert_eq(backend->ops->begin(second, 0, &dims, &err), WEIR_OK);
    memcpy(backend->ops->input(second, 0, 0), x, IN * sizeof *x);
    cr_assert_eq(backend->ops->submit(second, 0, &err), WEIR_OK);
    cr_assert_arr_eq(backend->ops->output(second, 0, 0), single, sizeof single);
    backend->ops->unload(second);
    plan_destroy(other);
    cr_assert_arr_eq(run(x, 1), single, sizeof single);
}

Test(backend_cpu, batches_without_room_are_refused) {
    struct backend_model *huge = NULL;
    load((struct backend_options){0});
    cr_assert_neq(backend->ops->load(backend, plan, 0, &huge, &err), WEIR_OK);
    cr_assert_null(huge);
    backend->ops->unload(NULL);
}

Test(backend_cpu, int8_is_for_models_that_were_quantized) {
    struct backend_model *refused = NULL;
    const struct backend_options options = {.precision = BACKEND_INT8};
    make_plan();
    cr_assert_eq(backend_cpu_open(&options, &backend, &err), WEIR_OK);
    cr_assert_eq(backend->ops->load(backend, plan, 4, &refused, &err), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "int8"));
    cr_assert_null(refused);
}

Test(backend_cpu, precisions_of_gpus_are_refused) {
    static const enum backend_precision refused_ones[] = {BACKEND_TF32, BACKEND_FP16};
    for (size_t i = 0; i < 2; i++) {
        const struct backend_options options = {.precision = refused_ones[i]};
        struct backend *cpu = NULL;
        cr_assert_eq(backend_cpu_open(&options, &cpu, &err), WEIR_UNSUPPORTED);
        cr_assert_not_null(strstr(err.text, "precision tf32 and fp16 are for GPUs"));
        cr_assert_null(cpu);
    }
}

Test(backend_cpu, bfloat16_is_near_or_refused) {
    if (backend_cpu_dnnl_has_bf16()) {
        load((struct backend_options){.precision = BACKEND_BF16});
        expect_every_row_count(5e-3);
    } else {
        struct backend *cpu = NULL;
        const struct backend_options options = {.precision = BACKEND_BF16};
        cr_assert_eq(backend_cpu_open(&options, &cpu, &err), WEIR_UNSUPPORTED);
        cr_assert_not_null(strstr(err.text, "bf16"));
    }
}

Test(backend_cpu, the_description_names_the_library_and_its_path) {
    load((struct backend_options){0});
    cr_assert_not_null(strstr(backend->description, "oneDNN "));
    cr_assert_not_null(strstr(backend->description, "1 thread"));
    cr_assert_null(strstr(backend->description, "1 threads"));
    cr_assert_null(strstr(backend->description, "strict"));
}

Test(backend_cpu, the_description_names_the_modes_that_are_not_usual) {
    load((struct backend_options){.invariance = BACKEND_STRICT});
    cr_assert_not_null(strstr(backend->description, ", strict"));
}
