#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend.h"
#include "engine/graph/plan.h"
#include "engine/tensor.h"
#include "kernels/ref/ref_dense.h"
#include "kernels/ref/ref_softmax.h"
#include "tests/fakes/model_run.h"

enum { IN = 64, HIDDEN = 48, OUT = 10, MAX_ROWS = 40 };

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

static void compute_expected(void) {
    static float hidden[MAX_ROWS * HIDDEN];
    ref_dense_run(&(struct ref_dense_layer){w1, b1, IN, HIDDEN}, x, hidden, MAX_ROWS);
    for (size_t i = 0; i < MAX_ROWS * HIDDEN; i++)
        hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
    ref_dense_run(&(struct ref_dense_layer){w2, b2, HIDDEN, OUT}, hidden, expected, MAX_ROWS);
    for (size_t row = 0; row < MAX_ROWS; row++)
        ref_softmax_run(expected + row * OUT, expected + row * OUT, OUT, false);
}

/* A perceptron of two layers with a softmax. The plan is gone once it is loaded. */
static void load(int threads) {
    const struct backend_options options = {.threads = threads};
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
    cr_assert_eq(backend_cpu_open(&options, &backend, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(backend->ops->load(backend, plan, MAX_ROWS, &loaded, &err), WEIR_OK, "%s", err.text);
    plan_destroy(plan);
    plan = NULL;
}

static void unload(void) {
    if (backend) {
        backend->ops->unload(loaded);
        backend->ops->close(backend);
    }
    plan_destroy(plan);
}

TestSuite(backend_cpu, .fini = unload);

static const float *run(const float *from, uint32_t rows) {
    memcpy(backend->ops->input(loaded, 0, 0), from, rows * IN * sizeof *from);
    cr_assert_eq(backend->ops->submit(loaded, 0, rows, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(backend->ops->wait(loaded, 0, &err), WEIR_OK, "%s", err.text);
    return backend->ops->output(loaded, 0, 0);
}

Test(backend_cpu, every_row_count_gives_the_oracles_numbers) {
    load(0);
    compute_expected();
    for (uint32_t rows = 1; rows <= MAX_ROWS; rows++) {
        const float *y = run(x, rows);
        for (size_t i = 0; i < rows * OUT; i++)
            cr_assert_float_eq(y[i], expected[i], 1e-6, "%u rows, element %zu", rows, i);
    }
}

Test(backend_cpu, a_row_has_the_same_bits_alone_and_among_others) {
    static float together[MAX_ROWS * OUT];
    load(1);
    if (!strstr(backend->description, "avx512"))
        cr_skip_test("without AVX-512 oneDNN's sums depend on the number of rows");
    memcpy(together, run(x, MAX_ROWS), sizeof together);
    for (size_t row = 0; row < MAX_ROWS; row++)
        cr_assert(memcmp(run(x + row * IN, 1), together + row * OUT, OUT * sizeof(float)) == 0, "row %zu", row);
}

Test(backend_cpu, rows_behind_the_batch_are_not_touched) {
    load(1);
    float *y = (float *)(uintptr_t)backend->ops->output(loaded, 0, 0);
    for (size_t i = 0; i < MAX_ROWS * OUT; i++)
        y[i] = -5;
    run(x, 7);
    for (size_t i = 0; i < MAX_ROWS * OUT; i++)
        cr_assert((y[i] == -5) == (i >= 7 * OUT));
}

Test(backend_cpu, staging_memory_is_aligned_and_holds_the_most_rows) {
    load(1);
    float *input = backend->ops->input(loaded, 0, 0);
    cr_assert_eq((uintptr_t)input % 64, 0);
    cr_assert_eq((uintptr_t)backend->ops->output(loaded, 0, 0) % 64, 0);
    memset(input, 0, MAX_ROWS * IN * sizeof(float));
    cr_assert_eq(backend->slot_count, 1);
    cr_assert_str_eq(backend->ops->name, "cpu");
}

Test(backend_cpu, row_counts_outside_the_range_are_refused) {
    load(1);
    cr_assert_eq(backend->ops->submit(loaded, 0, 0, &err), WEIR_INTERNAL);
    cr_assert_eq(backend->ops->submit(loaded, 0, MAX_ROWS + 1, NULL), WEIR_INTERNAL);
    cr_assert_eq(backend->ops->prepare(loaded, MAX_ROWS + 1, &err), WEIR_INTERNAL);
    cr_assert_eq(backend->ops->prepare(loaded, MAX_ROWS, NULL), WEIR_OK);
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
    load(1);
    run(x, MAX_ROWS);
    cr_assert_eq(count_threads(), before);
}

Test(backend_cpu, two_threads_give_the_same_numbers) {
    load(2);
    compute_expected();
    const float *y = run(x, MAX_ROWS);
    for (size_t i = 0; i < MAX_ROWS * OUT; i++)
        cr_assert_float_eq(y[i], expected[i], 1e-6);
    cr_assert_not_null(strstr(backend->description, "2 threads"));
}

Test(backend_cpu, models_stand_beside_each_other_and_one_row_is_enough) {
    struct backend_model *second;
    static float single[OUT];
    load(1);
    memcpy(single, run(x, 1), sizeof single);
    onnx_finish(&model, 13);
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK);
    cr_assert_eq(backend->ops->load(backend, plan, 1, &second, &err), WEIR_OK);
    memcpy(backend->ops->input(second, 0, 0), x, IN * sizeof *x);
    cr_assert_eq(backend->ops->submit(second, 0, 1, &err), WEIR_OK);
    cr_assert_arr_eq(backend->ops->output(second, 0, 0), single, sizeof single);
    backend->ops->unload(second);
    cr_assert_arr_eq(run(x, 1), single, sizeof single);
}

Test(backend_cpu, batches_without_room_are_refused) {
    struct backend_model *huge = NULL;
    load(1);
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK);
    cr_assert_neq(backend->ops->load(backend, plan, 0, &huge, &err), WEIR_OK);
    cr_assert_null(huge);
    backend->ops->unload(NULL);
}

Test(backend_cpu, the_description_names_the_library_and_its_path) {
    load(1);
    cr_assert_not_null(strstr(backend->description, "oneDNN "));
    cr_assert_not_null(strstr(backend->description, "1 thread"));
    cr_assert_null(strstr(backend->description, "1 threads"));
}
