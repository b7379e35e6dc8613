#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/pattern.h"
#include "tests/fakes/graph_case.h"

static struct graph_case test;

static void destroy(void) {
    graph_case_release(&test);
}

TestSuite(pattern_gelu, .fini = destroy);

static void node(const char *op, const char *inputs, const char *output) {
    graph_case_node(&test, op, inputs, output, NULL);
}

static void numbers(void) {
    graph_case_number(&test, "root2", 1.41421354f);
    graph_case_number(&test, "half", 0.5f);
    graph_case_number(&test, "one", 1);
    graph_case_number(&test, "three", 3);
    graph_case_number(&test, "cubic", 0.044715f);
    graph_case_number(&test, "rootpi", 0.797884583f);
    graph_case_number(&test, "six", 6);
    graph_case_number(&test, "zero", 0);
}

static void becomes(const char *operators) {
    const char *found = graph_case_apply(&test, "5,4");
    cr_assert_str_eq(found, operators);
    cr_assert(test.error >= 0 && test.error < 2e-6, "%g", test.error);
}

Test(pattern_gelu, the_form_of_pytorch) {
    numbers();
    node("Div", "x root2", "a");
    node("Erf", "a", "b");
    node("Add", "b one", "c");
    node("Mul", "x c", "d");
    node("Mul", "d half", "y");
    becomes("Gelu");
    cr_assert_eq(graph_case_last(&test)->attribute_count, 0);
    cr_assert_str_eq(graph_case_last(&test)->name, "y");
}

Test(pattern_gelu, half_first_and_other_orders_of_operands) {
    numbers();
    graph_case_number(&test, "reciprocal", 0.707106769f);
    node("Mul", "reciprocal x", "a");
    node("Erf", "a", "b");
    node("Add", "one b", "c");
    node("Mul", "half x", "d");
    node("Mul", "c d", "y");
    becomes("Gelu");
}

Test(pattern_gelu, the_tanh_form_with_a_power) {
    numbers();
    node("Pow", "x three", "a");
    node("Mul", "cubic a", "b");
    node("Add", "x b", "c");
    node("Mul", "rootpi c", "d");
    node("Tanh", "d", "e");
    node("Add", "one e", "f");
    node("Mul", "half x", "g");
    node("Mul", "g f", "y");
    becomes("Gelu");
    cr_assert_str_eq(graph_attribute(graph_case_last(&test), "approximate")->text, "tanh");
}

Test(pattern_gelu, the_tanh_form_with_products) {
    numbers();
    node("Mul", "x x", "a");
    node("Mul", "a x", "b");
    node("Mul", "b cubic", "c");
    node("Add", "c x", "d");
    node("Mul", "d rootpi", "e");
    node("Tanh", "e", "f");
    node("Add", "f one", "g");
    node("Mul", "x g", "h");
    node("Mul", "h half", "y");
    becomes("Gelu");
}

Test(pattern_gelu, the_tanh_form_with_a_square) {
    numbers();
    node("Mul", "x rootpi", "a");
    node("Mul", "x cubic", "b");
    node("Mul", "b x", "c");
    node("Add", "one c", "d");
    node("Mul", "a d", "e");
    node("Tanh", "e", "f");
    node("Add", "one f", "g");
    node("Mul", "half x", "h");
    node("Mul", "h g", "y");
    becomes("Gelu");
}

Test(pattern_gelu, a_value_between_that_others_read_is_still_computed) {
    numbers();
    node("Div", "x root2", "a");
    node("Erf", "a", "b");
    node("Add", "b one", "c");
    node("Mul", "x c", "d");
    node("Mul", "d half", "e");
    node("Add", "e b", "y");
    becomes("Div Erf Gelu Add");
}

Test(pattern_gelu, other_numbers_are_other_functions) {
    numbers();
    node("Div", "x half", "a");
    node("Erf", "a", "b");
    node("Add", "b one", "c");
    node("Mul", "x c", "d");
    node("Mul", "d half", "y");
    becomes("Div Erf Add Mul Mul");
}

Test(pattern_gelu, a_gate_of_another_value_is_another_function) {
    numbers();
    node("Neg", "x", "z");
    node("Div", "z root2", "a");
    node("Erf", "a", "b");
    node("Add", "b one", "c");
    node("Mul", "x c", "d");
    node("Mul", "d half", "y");
    becomes("Neg Div Erf Add Mul Mul");
}

Test(pattern_gelu, a_value_times_its_sigmoid) {
    node("Sigmoid", "x", "a");
    node("Mul", "x a", "y");
    becomes("Swish");
    cr_assert(graph_attribute(graph_case_last(&test), "alpha")->number == 1.0f);
}

Test(pattern_gelu, a_sigmoid_with_a_factor) {
    graph_case_number(&test, "factor", 1.702f);
    node("Mul", "x factor", "a");
    node("Sigmoid", "a", "b");
    node("Mul", "b x", "y");
    becomes("Swish");
    cr_assert(graph_attribute(graph_case_last(&test), "alpha")->number == 1.702f);
}

Test(pattern_gelu, a_gate_of_two_values_stays) {
    node("Neg", "x", "z");
    node("Sigmoid", "z", "a");
    node("Mul", "x a", "y");
    becomes("Neg Sigmoid Mul");
}

Test(pattern_gelu, mish_and_hard_swish) {
    numbers();
    node("Softplus", "x", "a");
    node("Tanh", "a", "b");
    node("Mul", "x b", "y");
    becomes("Mish");
    graph_case_release(&test);
    graph_case_node(&test, "HardSigmoid", "x", "a", "alpha:f=0.1666667 beta:f=0.5");
    node("Mul", "x a", "y");
    becomes("HardSwish");
    graph_case_release(&test);
    numbers();
    node("Add", "x three", "a");
    node("Clip", "a zero six", "b");
    node("Mul", "x b", "c");
    node("Div", "c six", "y");
    becomes("HardSwish");
    graph_case_release(&test);
    numbers();
    node("Add", "x three", "a");
    node("Clip", "a zero three", "b");
    node("Mul", "x b", "c");
    node("Div", "c six", "y");
    becomes("Add Clip Mul Div");
}
