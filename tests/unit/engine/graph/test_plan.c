#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/graph/plan_parts.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;
static struct plan *plan;
static char folder[64], path[128];
static const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, b[3] = {0, 0, 1.5f};
static const float row[4] = {1, 2, 3, 4};

static void make(void) {
    strcpy(folder, "/tmp/weir-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.onnx", folder);
}

static void destroy(void) {
    char other[128];
    plan_destroy(plan);
    unlink(path);
    snprintf(other, sizeof other, "%s/w.bin", folder);
    unlink(other);
    rmdir(folder);
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
    char other[128];
    snprintf(other, sizeof other, "%s/w.bin", folder);
    write_file(other, w, sizeof w);
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
    cr_assert_eq(plan_load(folder, &plan, &err), WEIR_INVALID);
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
