#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "engine/device/backend_cpu_model.h"
#include "engine/graph/plan.h"
#include "tests/fakes/model_run.h"
#include "tests/fakes/temp_dir.h"

enum { MAX_ROWS = 6, WIDTH = 32 };

static struct onnx_model file;
static struct weir_error err;
static struct plan *plan;
static struct backend_model model;

/* From a file: a plan gives back only what it has read itself. */
static void load_file(void) {
    temp_dir_make();
    const char *path = temp_dir_at("model.onnx");
    FILE *to = fopen(path, "wb");
    cr_assert_not_null(to);
    cr_assert_eq(fwrite(file.file.data, 1, file.file.size, to), file.file.size);
    fclose(to);
    enum weir_status status = plan_load(path, &plan, &err);
    temp_dir_remove();
    cr_assert_eq(status, WEIR_OK, "%s", err.text);
}

/* y [N, W, 8] = relu(x [N, W, 32] * w), W being free. */
static void load(struct backend_options options) {
    static float w[WIDTH * 8];
    char text[64];
    for (size_t i = 0; i < WIDTH * 8; i++)
        w[i] = (float)(i % 7) - 3;
    onnx_add_node(&file, (struct onnx_node){"MatMul", "x w", "p", NULL, NULL, NULL});
    onnx_add_node(&file, (struct onnx_node){"Relu", "p", "y", NULL, NULL, NULL});
    onnx_add_floats(&file, "w", "32,8", w, WIDTH * 8);
    onnx_add_input(&file, "x", "N,W,32");
    onnx_add_output(&file, "y", "N,W,8");
    onnx_finish(&file, 13);
    load_file();
    model = (struct backend_model){.plan = plan, .max_rows = MAX_ROWS, .options = options};
    model.constants = (struct backend_cpu_constants){.device = &model.device, .plan = plan};
    cr_assert_eq(backend_cpu_dnnl_open(&model.device, text, sizeof text, &err), WEIR_OK);
    cr_assert(backend_cpu_model_init(&model));
}

static void release(void) {
    backend_cpu_model_release(&model);
    backend_cpu_dnnl_close(&model.device);
    plan_destroy(plan);
}

TestSuite(backend_cpu_model, .fini = release);

static enum weir_status begin(uint32_t rows, int64_t words) {
    const struct tensor_dims dims = {.rows = rows, .free_count = 1, .free = {words}};
    return backend_cpu_model_begin(&model, &dims, &err);
}

/* Row by row 1, 2, 3...; returns the first element of the last word of the last row. */
static float run(uint32_t rows, int64_t words) {
    cr_assert_eq(begin(rows, words), WEIR_OK, "%s", err.text);
    float *x = model.inputs.data[0];
    for (size_t i = 0; i < rows * (size_t)words * WIDTH; i++)
        x[i] = (float)(i / WIDTH + 1);
    cr_assert_eq(backend_cpu_model_run(&model, &err), WEIR_OK, "%s", err.text);
    const struct tensor_shape *shape = &model.output_shapes[0];
    cr_assert(shape->rank == 3 && shape->dims[0] == rows && shape->dims[1] == words && shape->dims[2] == 8);
    return ((float *)model.outputs.data[0])[(rows * (size_t)words - 1) * 8];
}

/* The sum of column 0 of w. */
static float expected(uint32_t rows, int64_t words) {
    float sum = 0;
    for (size_t i = 0; i < WIDTH; i++)
        sum += (float)(i * 8 % 7) - 3;
    sum *= (float)(rows * (size_t)words);
    return sum > 0 ? sum : 0;
}

Test(backend_cpu_model, programs_of_all_sizes_share_memory_that_grows) {
    load((struct backend_options){0});
    for (int64_t words = 1; words < 40; words += 3)
        for (uint32_t rows = 1; rows <= MAX_ROWS; rows += 2)
            cr_assert_float_eq(run(rows, words), expected(rows, words), 1e-3, "%u x %d", rows, (int)words);
    for (uint32_t rows = 1; rows <= MAX_ROWS; rows += 2) /* those that were bound to smaller memory */
        cr_assert_float_eq(run(rows, 1), expected(rows, 1), 1e-3);
}

Test(backend_cpu_model, sizes_that_came_before_have_their_program) {
    load((struct backend_options){0});
    run(2, 5);
    run(3, 5);
    size_t count = model.entry_count;
    run(2, 5);
    cr_assert_eq(model.entry_count, count);
}

Test(backend_cpu_model, programs_that_were_not_used_for_longest_go) {
    load((struct backend_options){0});
    run(1, 1);
    model.step_count += 8192; /* as if they were large */
    for (int64_t words = 2; words < 80; words++) {
        run(1, words);
        run(1, 1);
    }
    model.step_count -= 8192;
    cr_assert_leq(model.entry_count, 66);
    size_t count = model.entry_count;
    run(1, 1);
    run(1, 79);
    cr_assert_eq(model.entry_count, count);
    cr_assert_float_eq(run(1, 2), expected(1, 2), 1e-3);
}

Test(backend_cpu_model, the_weights_bytes_are_given_back_and_packed_ones_are_kept) {
    load((struct backend_options){0});
    run(1, 1);
    size_t packings = 0;
    for (size_t i = 0; i < model.constants.count; i++) {
        cr_assert_null(model.constants.items[i].constant->bytes, "%zu", i);
        packings += model.constants.items[i].memory != NULL;
    }
    cr_assert_eq(packings, 1);
    cr_assert_float_eq(run(MAX_ROWS, 30), expected(MAX_ROWS, 30), 1e-3);
}

Test(backend_cpu_model, buckets_need_few_programs) {
    load((struct backend_options){.invariance = BACKEND_BUCKET});
    for (uint32_t rows = 1; rows <= MAX_ROWS; rows++)
        cr_assert_float_eq(run(rows, 2), expected(rows, 2), 1e-3);
    cr_assert_eq(model.entry_count, 3); /* 1, 4 and 6 */
}

Test(backend_cpu_model, strict_leaves_programs_alone_or_takes_one_number_of_rows) {
    load((struct backend_options){.invariance = BACKEND_STRICT});
    cr_assert_eq(backend_cpu_model_prove_strict(&model, &err), WEIR_OK, "%s", err.text);
    cr_assert(model.fixed_rows == 0 || model.fixed_rows == MAX_ROWS);
    for (size_t i = 0; i < model.entry_count; i++)
        cr_assert(model.fixed_rows == 0 || model.entries[i].dims.rows == model.fixed_rows,
                  "programs that no batch has");
    model.fixed_rows = MAX_ROWS; /* what a machine does whose sums depend on the number of rows */
    cr_assert_float_eq(run(2, 3), expected(2, 3), 1e-3);
    cr_assert_eq(model.current->dims.rows, MAX_ROWS);
}

Test(backend_cpu_model, sizes_the_model_does_not_take_are_refused_and_leave_it_whole) {
    load((struct backend_options){0});
    cr_assert_neq(begin(1, -5), WEIR_OK);
    cr_assert_neq(begin(1, INT64_MAX / 64), WEIR_OK);
    cr_assert_eq(backend_cpu_model_run(&model, &err), WEIR_INTERNAL);
    cr_assert_float_eq(run(2, 3), expected(2, 3), 1e-3);
}

Test(backend_cpu_model, a_batch_that_would_take_too_much_memory_is_refused_and_the_next_one_runs) {
    load((struct backend_options){.batch_bytes = 1 << 20});
    cr_assert_eq(begin(6, 4096), WEIR_TOO_LARGE);
    cr_assert_not_null(strstr(err.text, "6 rows"), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "limit is 1 MiB"), "%s", err.text);
    cr_assert_eq(model.entry_count, 0);
    cr_assert_float_eq(run(1, 4), expected(1, 4), 1e-3);
}

Test(backend_cpu_model, memory_of_one_large_batch_is_given_back_after_many_small_ones) {
    load((struct backend_options){.threads = 1});
    cr_assert_float_eq(run(1, 1 << 20), expected(1, 1 << 20), 1e3);
    size_t large = model.arena_bytes;
    int runs = 0;
    while (model.arena_bytes == large && runs < 1000)
        cr_assert_float_eq((runs++, run(1, 4)), expected(1, 4), 1e-3);
    if (large >= 64 << 20)
        cr_assert(runs > 100 && runs < 1000, "%d runs with %zu bytes", runs, large);
    else
        cr_assert_eq(runs, 1000, "a small arena stays");
    cr_assert_float_eq(run(2, 4), expected(2, 4), 1e-3);
}
