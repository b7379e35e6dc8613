#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/lower_dense.h"
#include "engine/graph/plan.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;

static const float x[8] = {1, 2, 3, 4, -2, 0.5f, 8, 1};
static const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1},
                   w_transposed[12] = {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1};
static const float product[6] = {5, 6, 7, -1, 1.5f, 9};

static void add(const char *op, const char *in, const char *attributes) {
    onnx_add_node(&model, (struct onnx_node){op, in, "y", attributes, "fc", NULL});
}

static enum weir_status run(const char *in_dims, const char *out_dims, const float *rows, uint32_t count, float *y) {
    onnx_add_input(&model, "x", in_dims);
    onnx_add_output(&model, "y", out_dims);
    return model_run(&model, 13, rows, count, y, &err);
}

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(lower_dense, gemm_follows_all_its_attributes) {
    static const float c[3] = {10, 20, 30}, expected[6] = {22.5f, 43, 63.5f, 19.5f, 40.75f, 64.5f};
    float y[6];
    onnx_add_floats(&model, "B", "3,4", w_transposed, 12);
    onnx_add_floats(&model, "C", "3", c, 3);
    add("Gemm", "x B C", "alpha:f=0.5 beta:f=2 transB:i=1");
    cr_assert_eq(run("N,4", "N,3", x, 2, y), WEIR_OK, "%s", err.text);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(lower_dense, the_bias_of_a_gemm_has_many_forms) {
    static const struct {
        const char *dims;
        size_t count;
    } forms[] = {{"", 1}, {"1", 1}, {"1,1", 1}, {"3", 3}, {"1,3", 3}};
    static const float c[3] = {1, 2, 3};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        float y[6];
        onnx_begin(&model);
        onnx_add_floats(&model, "W", "4,3", w, 12);
        onnx_add_floats(&model, "C", forms[f].dims, c, forms[f].count);
        add("Gemm", "x W C", NULL);
        cr_assert_eq(run("N,4", "N,3", x, 2, y), WEIR_OK, "%s", err.text);
        for (size_t i = 0; i < 6; i++)
            cr_assert(y[i] == product[i] + c[forms[f].count == 1 ? 0 : i % 3], "form %zu", f);
    }
}

Test(lower_dense, a_bias_that_differs_from_row_to_row_is_refused) {
    static const char *const forms[] = {"2,3", "2,1", "1,1,3"};
    static const float c[6] = {1, 2, 3, 4, 5, 6};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        float y[6];
        onnx_begin(&model);
        onnx_add_floats(&model, "W", "4,3", w, 12);
        onnx_add_floats(&model, "C", forms[f], c, f == 0 ? 6 : f == 1 ? 2 : 3);
        add("Gemm", "x W C", NULL);
        cr_assert_eq(run("2,4", "2,3", x, 2, y), WEIR_UNSUPPORTED, "form %zu", f);
        names("C [");
    }
}

Test(lower_dense, a_gemm_without_a_bias_and_one_with_beta_zero_are_products) {
    static const float c[3] = {10, 20, 30};
    float y[6];
    onnx_add_floats(&model, "W", "4,3", w, 12);
    add("Gemm", "x W", NULL);
    cr_assert_eq(run("N,4", "N,3", x, 2, y), WEIR_OK);
    cr_assert_arr_eq(y, product, sizeof y);
    onnx_begin(&model);
    onnx_add_floats(&model, "W", "4,3", w, 12);
    onnx_add_floats(&model, "C", "3", c, 3);
    add("Gemm", "x W C", "beta:f=0");
    cr_assert_eq(run("N,4", "N,3", x, 2, y), WEIR_OK);
    cr_assert_arr_eq(y, product, sizeof y);
}

Test(lower_dense, a_computed_c_of_the_same_shape_is_added) {
    static const float square[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    float y[8];
    onnx_add_floats(&model, "W", "4,4", square, 16);
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "c", NULL, NULL, NULL});
    add("Gemm", "x W c", "beta:f=3");
    cr_assert_eq(run("N,4", "N,4", x, 2, y), WEIR_OK, "%s", err.text);
    for (size_t i = 0; i < 8; i++)
        cr_assert(y[i] == x[i] + 3 * (x[i] > 0 ? x[i] : 0));
}

Test(lower_dense, weights_of_the_wrong_size_are_named) {
    float y[6];
    onnx_add_floats(&model, "W", "3,4", w, 12);
    add("Gemm", "x W", NULL);
    cr_assert_eq(run("N,4", "N,4", x, 2, y), WEIR_INVALID);
    names("'fc'");
    names("[3,4]");
    names("[-1,4]");
    onnx_begin(&model);
    onnx_add_floats(&model, "W", "3,4", w, 12);
    add("MatMul", "x W", NULL);
    cr_assert_eq(run("N,4", "N,4", x, 2, y), WEIR_INVALID);
    onnx_begin(&model);
    onnx_add_floats(&model, "W", "4,0", w, 0);
    add("Gemm", "x W", NULL);
    cr_assert_eq(run("N,4", "N,0", x, 2, y), WEIR_INVALID);
}

Test(lower_dense, forms_that_would_mix_rows_or_have_no_constant_weights_are_unsupported) {
    static const struct {
        const char *op, *in, *attributes, *says;
    } rows[] = {{"Gemm", "x W", "transA:i=1", "transA=1"}, {"Gemm", "x x", NULL, "computed"},
                {"Gemm", "W x", NULL, "constant"},         {"MatMul", "W x", NULL, "constant right side"},
                {"MatMul", "x x", NULL, "computed"},       {"MatMul", "x batch", NULL, "batch of matrices"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float y[32];
        onnx_begin(&model);
        onnx_add_floats(&model, "W", "4,3", w, 12);
        onnx_add_floats(&model, "batch", "2,3,2", w, 12);
        add(rows[i].op, rows[i].in, rows[i].attributes);
        cr_assert_eq(run("N,4", "N,3", x, 2, y), WEIR_UNSUPPORTED, "row %zu", i);
        names(rows[i].says);
        names("supported:");
    }
}

Test(lower_dense, integer_weights_are_unsupported) {
    static const int64_t numbers[4] = {1, 2, 3, 4};
    float y[2];
    onnx_add_integers(&model, "W", "4,1", numbers, 4);
    add("MatMul", "x W", NULL);
    cr_assert_eq(run("N,4", "N,1", x, 2, y), WEIR_UNSUPPORTED);
    names("int64");
}

Test(lower_dense, matmul_takes_rows_of_matrices_vectors_and_leading_ones) {
    static const float row[4] = {1, 10, 100, 1000};
    float y[6];
    onnx_add_floats(&model, "W", "4,3", w, 12);
    add("MatMul", "x W", NULL);
    cr_assert_eq(run("N,2,4", "N,2,3", x, 1, y), WEIR_OK, "%s", err.text);
    cr_assert_arr_eq(y, product, sizeof y);
    onnx_begin(&model);
    onnx_add_floats(&model, "W", "1,4,3", w, 12);
    add("MatMul", "x W", NULL);
    cr_assert_eq(run("N,1,4", "N,1,3", x, 2, y), WEIR_OK, "%s", err.text);
    cr_assert_arr_eq(y, product, sizeof y);
    onnx_begin(&model);
    onnx_add_floats(&model, "v", "4", row, 4);
    add("MatMul", "x v", NULL);
    cr_assert_eq(run("N,4", "N", x, 2, y), WEIR_OK, "%s", err.text);
    cr_assert(y[0] == 4321 && y[1] == -2 + 5 + 800 + 1000);
}

Test(lower_dense, half_weights_equal_their_float32_twins) {
    static const uint16_t halves[12] = {0x3C00, 0x3800, 0x8000, 0x7BFF, 0x0001, 0x2E66,
                                        0x0400, 0xC200, 0x3554, 0x3C00, 0x3C00, 0x3C00};
    static const float rows[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    static const float expected[9] = {1, 0.5f, 0, 65504, 0x1p-24f, 0.0999755859375f, 0x1p-14f, -3, 0.3330078125f};
    float y[9];
    onnx_add_tensor(&model, "W", 10, "4,3", halves, sizeof halves);
    onnx_add_node(&model, (struct onnx_node){"Cast", "W", "Wf", "to:i=1", NULL, NULL});
    add("MatMul", "x Wf", NULL);
    cr_assert_eq(run("N,4", "N,3", rows, 3, y), WEIR_OK, "%s", err.text);
    for (size_t i = 0; i < 9; i++)
        cr_assert(y[i] == expected[i], "element %zu: %g", i, y[i]);
}

Test(lower_dense, one_initializer_serves_two_nodes) {
    static const float square[4] = {0, 1, 2, 0};
    static const float pair[2] = {3, 5};
    float y[2];
    onnx_add_floats(&model, "W", "2,2", square, 4);
    onnx_add_node(&model, (struct onnx_node){"Identity", "W", "same", NULL, NULL, NULL});
    onnx_add_node(&model, (struct onnx_node){"MatMul", "x W", "t", NULL, NULL, NULL});
    add("MatMul", "t same", NULL);
    cr_assert_eq(run("N,2", "N,2", pair, 1, y), WEIR_OK, "%s", err.text);
    cr_assert(y[0] == 6 && y[1] == 10);
}
