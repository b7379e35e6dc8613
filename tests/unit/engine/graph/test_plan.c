#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/graph/plan_parts.h"
#include "tests/fakes/model_run.h"
#include "tests/fakes/temp_dir.h"

static struct onnx_model model;
static struct weir_error err;
static struct plan *plan;
static char path[128];
static const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, b[3] = {0, 0, 1.5f};
static const float row[4] = {1, 2, 3, 4};

static void make(void) {
    temp_dir_make();
    snprintf(path, sizeof path, "%s/model.onnx", temp_dir);
}

static void destroy(void) {
    plan_destroy(plan);
    temp_dir_remove();
}

TestSuite(plan, .init = make, .fini = destroy);

static void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(name, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void put_entry(const char *key, const char *value) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, key, strlen(key));
    onnx_put_bytes(&model.piece, 2, value, strlen(value));
    onnx_put_bytes(&model.part, 13, model.piece.data, model.piece.size);
}

/* A Gemm, with its weights in another file where location is not NULL. */
static void write_model(const char *location) {
    onnx_begin(&model);
    onnx_add_node(&model, (struct onnx_node){"Gemm", "x W b", "y", NULL, "fc", NULL});
    if (location) {
        onnx_make_tensor(&model, "W", 1, "4,3", NULL, 0);
        put_entry("location", location);
        put_entry("offset", "0");
        put_entry("length", "48");
        onnx_put_number(&model.part, 14, 1);
        onnx_add_part(&model, 5);
    } else {
        onnx_add_floats(&model, "W", "4,3", w, 12);
    }
    onnx_add_floats(&model, "b", "3", b, 3);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,3");
    onnx_finish(&model, 13);
    write_file(path, model.file.data, model.file.size);
}

static void check_row(void) {
    float y[3];
    cr_assert_eq(model_run_plan(plan, row, 1, 0, y, &err), WEIR_OK);
    cr_assert(y[0] == 5 && y[1] == 6 && y[2] == 8.5f);
}

Test(plan, a_file_becomes_a_signature_and_a_program) {
    write_model(NULL);
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_OK, "%s", err.text);
    const struct signature *signature = plan_signature(plan);
    cr_assert(signature->input_count == 1 && signature->output_count == 1);
    cr_assert_str_eq(signature->inputs[0].name, "x");
    cr_assert_str_eq(signature->outputs[0].name, "y");
    cr_assert(signature->inputs[0].row_elements == 4 && signature->outputs[0].row_bytes == 12);
    cr_assert(signature->inputs[0].shape.dims[0] == -1 && plan_fixed_batch(plan) == 0);
    cr_assert(plan->facts.parameters == 15 && plan->facts.operator_count == 1);
    check_row();
}

Test(plan, external_weights_beside_the_model_are_read) {
    write_file(temp_dir_at("w.bin"), w, sizeof w);
    write_model("w.bin");
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_OK, "%s", err.text);
    check_row();
}

Test(plan, external_weights_elsewhere_are_refused_by_tensor_and_location) {
    static const char *const locations[] = {"../../../../../../etc/passwd", "/etc/passwd", "", ".", "sub/../../w.bin"};
    for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++) {
        write_model(locations[i]);
        cr_assert_eq(plan_load(path, &plan, &err), WEIR_INVALID);
        cr_assert_not_null(strstr(err.text, "'W'"), "%s", err.text);
        cr_assert_not_null(strstr(err.text, locations[i]), "%s", err.text);
        cr_assert_not_null(strstr(err.text, path), "%s", err.text);
    }
}

Test(plan, files_that_are_missing_empty_or_no_files_are_refused) {
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_IO);
    cr_assert_not_null(strstr(err.text, path));
    write_file(path, "", 0);
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_INVALID);
    cr_assert_eq(plan_load(temp_dir, &plan, &err), WEIR_INVALID);
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_INVALID); /* and does not wait for a writer */
    cr_assert_eq(plan_load(path, &plan, NULL), WEIR_INVALID);
}

Test(plan, a_file_of_the_greatest_size_and_more_is_refused) {
    write_file(path, "x", 1);
    cr_assert_eq(truncate(path, (off_t)1 << 31), 0);
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_TOO_LARGE);
}

Test(plan, rows_that_stay_apart_may_run_together) {
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "y", NULL, NULL, NULL});
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK);
    cr_assert(plan_max_rows(plan) == UINT32_MAX && plan_max_rows_reason(plan)[0] == 0);
}

Test(plan, rows_that_would_mix_run_one_at_a_time_and_the_reason_is_told) {
    onnx_add_node(&model, (struct onnx_node){"Softmax", "x", "y", "axis:i=0", "mixer", NULL});
    onnx_add_input(&model, "x", "batch,4");
    onnx_add_output(&model, "y", "batch,4");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_max_rows(plan), 1);
    cr_assert(plan_max_rows_reason(plan)[0] != 0);
    cr_assert(plan_signature(plan)->inputs[0].batch_axis == 0 && plan_signature(plan)->outputs[0].batch_axis == 0);
}

Test(plan, rows_that_would_mix_for_some_numbers_of_rows_alone_run_one_at_a_time) {
    static const int64_t wanted[2] = {3, -1};
    onnx_add_integers(&model, "wanted", "2", wanted, 2);
    onnx_add_node(&model, (struct onnx_node){"Reshape", "x wanted", "r", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Softmax", "r", "y", "axis:i=1", NULL, NULL});
    onnx_add_input(&model, "x", "batch,6");
    onnx_add_output(&model, "y", "three,rest");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_max_rows(plan), 1);
}

Test(plan, rows_that_depend_on_how_many_there_are_run_one_at_a_time) {
    static const int64_t zero[1] = {0};
    onnx_add_integers(&model, "zero", "", zero, 1);
    onnx_add_node(&model, (struct onnx_node){"Shape", "x", "shape", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Gather", "shape zero", "n", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Cast", "n", "count", "to:i=1", NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Div", "x count", "y", NULL, NULL, NULL});
    onnx_add_input(&model, "x", "batch,6");
    onnx_add_output(&model, "y", "batch,6");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_max_rows(plan), 1);
}

/* y is made from the shape of x and, for Tile, from x: how many rows may run together? */
static uint32_t rows_of(const char *op, const char *inputs, const char *attributes) {
    onnx_begin(&model);
    onnx_add_node(&model, (struct onnx_node){"Shape", "x", "shape", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Slice", "shape zero one", "n", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"Concat", "one n", "times", "axis:i=0", NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){op, inputs, "y", attributes, NULL, NULL});
    onnx_add_integers(&model, "zero", "1", (const int64_t[]){0}, 1);
    onnx_add_integers(&model, "one", "1", (const int64_t[]){1}, 1);
    onnx_add_input(&model, "x", "batch,1");
    model.part.size = 0; /* an output of any type and shape */
    onnx_put_bytes(&model.part, 1, "y", 1);
    onnx_add_part(&model, 12);
    cr_assert_eq(model_plan(&model, 14, &plan, &err), WEIR_OK, "%s", err.text);
    return plan_max_rows(plan);
}

static int forget_plan(void) {
    int axis = plan_signature(plan)->outputs[0].batch_axis;
    plan_destroy(plan);
    plan = NULL;
    return axis;
}

Test(plan, an_output_made_of_the_number_of_rows_is_no_batch) {
    cr_assert_eq(rows_of("EyeLike", "x", NULL), 1);
    (void)forget_plan();
    cr_assert_eq(rows_of("Tile", "x times", NULL), 1);
    (void)forget_plan();
    cr_assert_eq(rows_of("Identity", "n", NULL), 1);
    (void)forget_plan();
    cr_assert_eq(rows_of("Squeeze", "x", NULL), 1, "one row would lose its dimension");
}

Test(plan, a_constant_output_with_an_element_for_every_row_is_cut_by_rows) {
    cr_assert_eq(rows_of("ConstantOfShape", "shape", NULL), UINT32_MAX);
    cr_assert_eq(forget_plan(), 0);
}

Test(plan, a_first_dimension_that_is_no_batch_does_not_change_the_wanted_shapes) {
    struct program program = {0};
    onnx_add_integers(&model, "wanted", "5", (const int64_t[]){0, 2, 2, -1, 7}, 5);
    onnx_add_node(&model, (struct onnx_node){"Reshape", "x wanted", "y", NULL, NULL, NULL});
    onnx_add_input(&model, "x", "2,4,batch,7");
    onnx_add_output(&model, "y", "2,2,2,batch,7");
    cr_assert_eq(model_plan(&model, 14, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_max_rows(plan), UINT32_MAX);
    struct tensor_dims dims = {.rows = 4};
    cr_assert_eq(plan_make_program(plan, &dims, &program, &err), WEIR_OK, "%s", err.text);
    program_release(&program);
}

Test(plan, float64_is_noticed) {
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "y", NULL, NULL, NULL});
    onnx_add_port(&model, 11, "x", 11, "N,4");
    onnx_add_port(&model, 12, "y", 11, "N,4");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_not_null(strstr(plan_notice(plan), "float64"));
    cr_assert(plan_signature(plan)->outputs[0].dtype == TENSOR_F64);
}

Test(plan, a_batch_that_stands_second_is_found) {
    onnx_add_node(&model, (struct onnx_node){"CumSum", "x axis", "y", NULL, NULL, NULL});
    static const int64_t axis[1] = {0};
    onnx_add_integers(&model, "axis", "", axis, 1);
    onnx_add_input(&model, "x", "time,batch,4");
    onnx_add_output(&model, "y", "time,batch,4");
    cr_assert_eq(model_plan(&model, 14, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_signature(plan)->inputs[0].batch_axis, 1);
    cr_assert_eq(plan_signature(plan)->outputs[0].batch_axis, 1);
    cr_assert_eq(plan_max_rows(plan), UINT32_MAX);
}

Test(plan, free_sizes_are_taken_as_they_come_and_refused_where_the_model_cannot) {
    static const float bias[4] = {1, 2, 3, 4};
    struct program program = {0};
    onnx_add_floats(&model, "b", "4", bias, 4);
    onnx_add_node(&model, (struct onnx_node){"Add", "x b", "y", NULL, "bias", NULL});
    onnx_add_input(&model, "x", "batch,width");
    onnx_add_output(&model, "y", "batch,width");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_example(plan)->free[0], 4, "the first size that fits");
    struct tensor_dims dims = {.rows = 2, .free_count = 1, .free = {5}};
    cr_assert_neq(plan_make_program(plan, &dims, &program, &err), WEIR_OK);
    cr_assert_not_null(strstr(err.text, "'bias'"), "%s", err.text);
    dims.free[0] = 4;
    cr_assert_eq(plan_make_program(plan, &dims, &program, &err), WEIR_OK);
    program_release(&program);
}

Test(plan, a_packed_weight_is_let_go_and_a_shared_one_is_not) {
    write_model(NULL);
    cr_assert_eq(plan_load(path, &plan, &err), WEIR_OK, "%s", err.text);
    const struct graph_constant *weights = NULL;
    for (int i = 0; i < plan->example.buffer_count; i++)
        if (plan->example.buffers[i].place == PROGRAM_CONSTANT && plan->example.buffers[i].elements == 12)
            weights = plan->example.buffers[i].constant;
    cr_assert_not_null(weights);
    cr_assert_not_null(weights->bytes);
    plan_drop_constant(plan, weights);
    cr_assert_null(weights->bytes);
    plan_drop_constant(plan, weights);
}

Test(plan, a_fixed_batch_is_told) {
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "y", NULL, NULL, NULL});
    onnx_add_input(&model, "x", "8,4");
    onnx_add_output(&model, "y", "8,4");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK);
    cr_assert_eq(plan_fixed_batch(plan), 8);
    cr_assert(plan_signature(plan)->inputs[0].shape.dims[0] == -1);
}

Test(plan, a_weight_that_two_nodes_use_is_counted_once) {
    static const float square[4] = {0, 1, 2, 0};
    onnx_add_floats(&model, "W", "2,2", square, 4);
    onnx_add_node(&model, (struct onnx_node){"MatMul", "x W", "t", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"MatMul", "t W", "y", NULL, NULL, NULL});
    onnx_add_input(&model, "x", "N,2");
    onnx_add_output(&model, "y", "N,2");
    cr_assert_eq(model_plan(&model, 13, &plan, &err), WEIR_OK);
    cr_assert_eq(plan->facts.parameters, 4);
    cr_assert_eq(plan->facts.operators[0].count, 2);
}
