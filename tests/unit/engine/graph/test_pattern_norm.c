#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/pattern.h"
#include "tests/fakes/graph_case.h"

static struct graph_case test;

static void destroy(void) {
    graph_case_release(&test);
}

TestSuite(pattern_norm, .fini = destroy);

static void node(const char *op, const char *inputs, const char *output) {
    graph_case_node(&test, op, inputs, output, NULL);
}

/* The normalized value as PyTorch writes it before opset 17, named n. */
static void normalize(const char *axes, const char *divide) {
    graph_case_number(&test, "two", 2);
    graph_case_number(&test, "epsilon", 1e-3f);
    graph_case_node(&test, "ReduceMean", "x", "mean", axes);
    node("Sub", "x mean", "d");
    node("Pow", "d two", "square");
    graph_case_node(&test, "ReduceMean", "square", "variance", axes);
    node("Add", "variance epsilon", "v");
    node("Sqrt", "v", "deviation");
    node("Div", "d deviation", divide);
}

static void becomes(const char *operators) {
    const char *found = graph_case_apply(&test, "5,4");
    cr_assert_str_eq(found, operators);
    cr_assert(test.error >= 0 && test.error < 5e-6, "%g", test.error);
}

Test(pattern_norm, the_form_of_pytorch_with_scale_and_bias) {
    normalize("axes:l=-1", "n");
    graph_case_floats(&test, "scale", "4");
    graph_case_floats(&test, "bias", "4");
    node("Mul", "n scale", "s");
    node("Add", "s bias", "y");
    becomes("LayerNormalization");
    const struct graph_node *last = graph_case_last(&test);
    cr_assert(last->input_count == 3 && last->inputs[0] == test.graph->inputs[0].value);
    cr_assert(graph_attribute(last, "axis")->integer == -1 && graph_attribute(last, "epsilon")->number == 1e-3f);
    cr_assert_str_eq(last->name, "y");
}

Test(pattern_norm, over_two_dimensions) {
    normalize("axes:l=-2,-1", "n");
    graph_case_floats(&test, "scale", "5,4");
    node("Mul", "scale n", "y");
    becomes("LayerNormalization");
    cr_assert_eq(graph_attribute(graph_case_last(&test), "axis")->integer, -2);
}

Test(pattern_norm, without_scale_or_bias) {
    normalize("axes:l=-1", "y");
    becomes("LayerNormalization");
}

Test(pattern_norm, by_a_reciprocal_with_two_subtractions_and_a_product_as_square) {
    graph_case_number(&test, "epsilon", 1e-3f);
    graph_case_node(&test, "ReduceMean", "x", "mean", "axes:l=-1");
    node("Sub", "x mean", "d");
    node("Sub", "x mean", "e");
    node("Mul", "e e", "square");
    graph_case_node(&test, "ReduceMean", "square", "variance", "axes:l=-1");
    node("Add", "epsilon variance", "v");
    node("Sqrt", "v", "deviation");
    node("Reciprocal", "deviation", "r");
    node("Mul", "r d", "y");
    becomes("LayerNormalization");
}

Test(pattern_norm, axes_that_are_not_the_last_ones_stay) {
    static const char *const axes[] = {"axes:l=-2", "axes:l=1", "axes:l=-1,-3"};
    for (int i = 0; i < 3; i++) {
        normalize(axes[i], "y");
        becomes("ReduceMean Sub Pow ReduceMean Add Sqrt Div");
        graph_case_release(&test);
    }
}

Test(pattern_norm, a_scale_with_more_dimensions_than_are_normalized_stays_outside) {
    normalize("axes:l=-1", "n");
    graph_case_floats(&test, "scale", "5,4");
    node("Mul", "n scale", "y");
    becomes("LayerNormalization Mul");
}

Test(pattern_norm, a_normalized_value_that_others_read_keeps_its_scale_outside) {
    normalize("axes:l=-1", "n");
    graph_case_floats(&test, "scale", "4");
    node("Mul", "n scale", "s");
    node("Add", "s n", "y");
    becomes("LayerNormalization Mul Add");
}

Test(pattern_norm, a_variance_of_something_else_stays) {
    graph_case_number(&test, "two", 2);
    graph_case_number(&test, "epsilon", 1e-3f);
    graph_case_node(&test, "ReduceMean", "x", "mean", "axes:l=-1");
    node("Sub", "x mean", "d");
    node("Pow", "x two", "square");
    graph_case_node(&test, "ReduceMean", "square", "variance", "axes:l=-1");
    node("Add", "variance epsilon", "v");
    node("Sqrt", "v", "deviation");
    node("Div", "d deviation", "y");
    becomes("ReduceMean Sub Pow ReduceMean Add Sqrt Div");
}
