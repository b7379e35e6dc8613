#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/pattern.h"
#include "tests/fakes/graph_case.h"

static struct graph_case test;

static void destroy(void) {
    graph_case_release(&test);
}

TestSuite(pattern_affine, .fini = destroy);

static void node(const char *op, const char *inputs, const char *output) {
    graph_case_node(&test, op, inputs, output, NULL);
}

static void norm(const char *input, const char *channels) {
    graph_case_floats(&test, "scale", channels);
    graph_case_floats(&test, "shift", channels);
    graph_case_floats(&test, "mean", channels);
    graph_case_floats(&test, "variance", channels);
    char inputs[64];
    graph_case_node(&test, "BatchNormalization", strcat(strcpy(inputs, input), " scale shift mean variance"), "y",
                    "epsilon:f=0.01");
}

static void becomes(const char *dims, const char *operators) {
    const char *found = graph_case_apply(&test, dims);
    cr_assert_str_eq(found, operators);
    cr_assert(test.error >= 0 && test.error < 5e-5, "%g", test.error);
}

Test(pattern_affine, a_batch_normalization_goes_into_a_convolution) {
    graph_case_floats(&test, "W", "4,3,2,2");
    graph_case_node(&test, "Conv", "x W", "c", "kernel_shape:l=2,2");
    norm("c", "4");
    becomes("3,4,4", "Conv");
    cr_assert(graph_case_last(&test)->input_count == 3 && graph_attribute(graph_case_last(&test), "kernel_shape"));
    cr_assert_str_eq(graph_case_last(&test)->name, "y");
}

Test(pattern_affine, and_into_one_with_groups_and_a_bias) {
    graph_case_floats(&test, "W", "4,1,2,2");
    graph_case_floats(&test, "B", "4");
    graph_case_node(&test, "Conv", "x W B", "c", "group:i=2");
    norm("c", "4");
    becomes("2,4,4", "Conv");
}

Test(pattern_affine, and_into_a_transposed_convolution_whose_channels_are_by_group) {
    graph_case_floats(&test, "W", "4,3,2,2");
    graph_case_floats(&test, "B", "6");
    graph_case_node(&test, "ConvTranspose", "x W B", "c", "group:i=2");
    norm("c", "6");
    becomes("4,3,3", "ConvTranspose");
}

Test(pattern_affine, and_into_a_gemm_with_factors) {
    graph_case_floats(&test, "W", "3,5");
    graph_case_floats(&test, "C", "1,3");
    graph_case_node(&test, "Gemm", "x W C", "g", "transB:i=1 alpha:f=0.5 beta:f=2");
    norm("g", "3");
    becomes("5", "Gemm");
    cr_assert(graph_attribute(graph_case_last(&test), "beta")->number == 1.0f);
}

Test(pattern_affine, arithmetic_by_channel_goes_into_a_convolution) {
    graph_case_floats(&test, "W", "4,3,1,1");
    graph_case_floats(&test, "factor", "4,1,1");
    graph_case_floats(&test, "summand", "1,4,1,1");
    graph_case_number(&test, "number", 3);
    node("Conv", "x W", "c");
    node("Mul", "c factor", "d");
    node("Add", "summand d", "e");
    node("Sub", "number e", "f");
    node("Div", "f factor", "g");
    node("Sub", "g number", "y");
    becomes("3,2,2", "Conv");
}

Test(pattern_affine, a_factor_goes_into_a_product_and_a_summand_stays) {
    graph_case_floats(&test, "W", "5,3");
    graph_case_floats(&test, "factor", "3");
    node("MatMul", "x W", "m");
    node("Mul", "factor m", "n");
    node("Add", "n factor", "y");
    becomes("4,5", "MatMul Add");
}

Test(pattern_affine, what_is_not_by_channel_stays) {
    static const char *const dims[] = {"4", "1,4,1", "2,2", "2,4,1,1", "4,2,2", "1,1,4,1,1"};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        graph_case_floats(&test, "W", "4,3,1,1");
        graph_case_floats(&test, "factor", dims[i]);
        node("Conv", "x W", "c");
        node("Mul", "c factor", "y");
        becomes(strcmp(dims[i], "4") == 0 || strcmp(dims[i], "1,4,1") == 0 ? "3,4,4" : "3,2,2", "Conv Mul");
        graph_case_release(&test);
    }
}

Test(pattern_affine, a_result_that_others_read_stays) {
    graph_case_floats(&test, "W", "4,3,1,1");
    graph_case_floats(&test, "factor", "4,1,1");
    node("Conv", "x W", "c");
    node("Mul", "c factor", "d");
    node("Add", "c d", "y");
    becomes("3,2,2", "Conv Mul Add");
}

Test(pattern_affine, weights_that_others_read_stay_as_they_were) {
    graph_case_floats(&test, "W", "3,3,1,1");
    graph_case_floats(&test, "factor", "3,1,1");
    node("Conv", "x W", "c");
    node("Mul", "c factor", "d");
    node("Conv", "d W", "y");
    becomes("3,2,2", "Conv Conv");
}

Test(pattern_affine, weights_that_are_computed_stay) {
    graph_case_floats(&test, "factor", "5");
    node("MatMul", "x x", "m");
    node("Mul", "m factor", "y");
    becomes("5,5", "MatMul Mul");
}

Test(pattern_affine, a_division_of_a_number_or_by_nothing_stays) {
    graph_case_floats(&test, "W", "4,3,1,1");
    graph_case_number(&test, "zero", 0);
    graph_case_number(&test, "one", 1);
    node("Conv", "x W", "c");
    node("Div", "one c", "y");
    cr_assert_str_eq(graph_case_apply(&test, "3,2,2"), "Conv Div");
    graph_case_release(&test);
    graph_case_floats(&test, "W", "4,3,1,1");
    graph_case_number(&test, "zero", 0);
    node("Conv", "x W", "c");
    node("Div", "c zero", "y");
    cr_assert_str_eq(graph_case_apply(&test, "3,2,2"), "Conv Div");
}
