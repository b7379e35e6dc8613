#include "engine/graph/lower_matrix.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/node_run.h"

static const float x[8] = {1, 2, 3, 4, -2, 0.5f, 8, 1};
static const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, w_turned[12] = {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1};
static const float product[6] = {5, 6, 7, -1, 1.5f, 9};
static const int64_t longs[8];

static struct node_result result;

static void run(const struct node_case *node) {
    cr_assert_eq(node_run(&lower_matrix_family, node, &result), WEIR_OK, "%s", result.err.text);
}

static void refuses(const struct node_case *node, enum weir_status status, const char *what) {
    cr_assert_eq(node_run(&lower_matrix_family, node, &result), status, "%s: %s", what, result.err.text);
    cr_assert_not_null(strstr(result.err.text, what), "%s is not in: %s", what, result.err.text);
}

static struct node_case pair(const char *op, const char *a, const char *b) {
    return (struct node_case){op, NULL, {{TENSOR_F32, a, x}, {TENSOR_F32, b, w}}, 2, 1};
}

Test(lower_matrix, gemm_follows_all_its_attributes) {
    static const float c[3] = {10, 20, 30}, expected[6] = {22.5f, 43, 63.5f, 19.5f, 40.75f, 64.5f};
    struct node_case node = {"Gemm",
                             "alpha:f=0.5 beta:f=2 transB:i=1",
                             {{TENSOR_F32, "2,4", x}, {TENSOR_F32, "3,4", w_turned}, {TENSOR_F32, "3", c}},
                             3,
                             1};
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "2,3"));
    cr_assert_arr_eq(result.outputs[0].floats, expected, sizeof expected);
    node.attributes = "transA:i=1";
    node.inputs[0].dims = "2,1";
    node.inputs[1].dims = "2,3";
    node.inputs[2].dims = NULL;
    run(&node); /* {1,2} * {1,0,0; 1,0,1} */
    cr_assert(node_run_has_shape(&result.outputs[0], "1,3"));
    cr_assert(result.outputs[0].floats[0] == 3 && result.outputs[0].floats[2] == 2);
}

Test(lower_matrix, the_addend_of_a_gemm_has_many_forms) {
    static const char *const forms[] = {"", "1", "1,1", "3", "1,3", "2,1", "2,3"};
    static const float c[6] = {1, 2, 3, 4, 5, 6};
    static const int of[][6] = {
        {0}, {0}, {0}, {0, 1, 2, 0, 1, 2}, {0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1}, {0, 1, 2, 3, 4, 5}};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        struct node_case node = pair("Gemm", "2,4", "4,3");
        node.inputs[2] = (struct node_tensor){TENSOR_F32, forms[f], c};
        node.input_count = 3;
        run(&node);
        for (size_t i = 0; i < 6; i++)
            cr_assert(result.outputs[0].floats[i] == product[i] + c[of[f][i]], "form %zu", f);
    }
}

Test(lower_matrix, an_addend_that_counts_for_nothing_is_not_read) {
    struct node_case node = pair("Gemm", "2,4", "4,3");
    node.attributes = "beta:f=0";
    node.inputs[2] = (struct node_tensor){TENSOR_F32, "3", (const float[]){1e30f, -1e30f, 1}};
    node.input_count = 3;
    run(&node);
    cr_assert_arr_eq(result.outputs[0].floats, product, sizeof product);
}

Test(lower_matrix, matmul_takes_vectors_and_broadcasts_batches) {
    struct node_case node = pair("MatMul", "2,1,4", "1,4,3");
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "2,1,3"));
    cr_assert_arr_eq(result.outputs[0].floats, product, sizeof product);
    node = pair("MatMul", "4", "4,3");
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "3"));
    node = pair("MatMul", "2,4", "4");
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], "2"));
    cr_assert(result.outputs[0].floats[0] == 1 && result.outputs[0].floats[1] == -2);
    node = pair("MatMul", "4", "4");
    run(&node);
    cr_assert(node_run_has_shape(&result.outputs[0], ""));
}

Test(lower_matrix, dimensions_that_do_not_fit_are_named) {
    struct node_case node = pair("MatMul", "2,4", "3,4");
    refuses(&node, WEIR_INVALID, "dimension 1 of A (4) must be dimension 0 of B (3)");
    node = pair("MatMul", "", "4,3");
    refuses(&node, WEIR_INVALID, "a scalar is no matrix");
    node = pair("MatMul", "2,1,4", "3,4,1");
    refuses(&node, WEIR_INVALID, "before the last two");
    node = pair("Gemm", "2,4", "3,4");
    refuses(&node, WEIR_INVALID, "dimension 1 of A (4) must be dimension 0 of B (3)");
    node = pair("Gemm", "2,4", "4");
    refuses(&node, WEIR_INVALID, "two matrices");
    node = pair("Gemm", "2,4", "4,3");
    node.input_count = 3;
    node.inputs[2] = (struct node_tensor){TENSOR_F32, "1,2,3", x};
    refuses(&node, WEIR_INVALID, "C is [1,2,3]");
    node.inputs[2].dims = "2";
    refuses(&node, WEIR_INVALID, "does not broadcast to [2,3]");
}

Test(lower_matrix, integers_are_unsupported) {
    struct node_case node = pair("MatMul", "2,4", "4,2");
    node.inputs[1] = (struct node_tensor){TENSOR_I64, "4,2", longs};
    refuses(&node, WEIR_UNSUPPORTED, "int64");
}
