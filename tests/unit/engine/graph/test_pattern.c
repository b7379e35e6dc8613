#include "engine/graph/pattern.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/onnx_reader.h"
#include "tests/fakes/onnx_writer.h"

static struct onnx_model model;
static struct patterns patterns;

static void add(const char *op, const char *inputs, const char *output) {
    onnx_add_node(&model, (struct onnx_node){op, inputs, output, NULL, NULL, NULL});
}

/* Reads the graph and counts the readers. */
static void make(void) {
    struct weir_error err;
    onnx_add_input(&model, "x", "4");
    onnx_add_output(&model, "y", "4");
    onnx_finish(&model, 13);
    struct graph *graph = patterns.graph = graph_create();
    cr_assert_eq(onnx_reader_read(graph, model.file.data, model.file.size, -1, &err), WEIR_OK, "%s", err.text);
    patterns.most_values = graph->value_count + 10;
    patterns.readers = calloc((size_t)patterns.most_values, sizeof *patterns.readers);
    patterns.readers[graph->outputs[0].value]++;
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] != GRAPH_NONE)
                patterns.readers[graph->nodes[i].inputs[j]]++;
}

static void destroy(void) {
    free(patterns.readers);
    graph_destroy(patterns.graph);
}

TestSuite(pattern, .fini = destroy);

static int value(const char *name) {
    return graph_find(patterns.graph, name, strlen(name));
}

static void number(const char *name, float it) {
    onnx_add_floats(&model, name, "", &it, 1);
}

Test(pattern, a_product_is_taken_apart_however_it_is_written) {
    number("half", 0.5f), number("four", 4), number("three", 3);
    add("Pow", "x three", "cube");
    add("Mul", "half cube", "a");
    add("Div", "a four", "b");
    add("Mul", "b x", "y");
    make();
    struct pattern_product product = pattern_multiply(&patterns, value("y"));
    cr_assert(product.scale == 0.125 && pattern_is_power(&product, value("x"), 4));
}

Test(pattern, what_others_read_is_a_factor_of_its_own) {
    number("two", 2);
    add("Mul", "x two", "a");
    add("Mul", "a x", "b");
    add("Add", "a b", "y");
    make();
    struct pattern_product product = pattern_multiply(&patterns, value("b"));
    cr_assert(product.count == 2 && product.scale == 1);
    cr_assert(product.factors[0] == value("a") && product.factors[1] == value("x"));
}

Test(pattern, an_omitted_input_is_a_factor_and_read_by_nobody) {
    add("Mul", "x -", "a");
    add("Mul", "- a", "y");
    make();
    cr_assert_not(pattern_is_alone(&patterns, GRAPH_NONE));
    cr_assert_eq(pattern_multiply(&patterns, value("y")).count, 3);
}

Test(pattern, a_division_by_a_value_is_no_product) {
    number("two", 2);
    add("Div", "two x", "y");
    make();
    struct pattern_product product = pattern_multiply(&patterns, value("y"));
    cr_assert(pattern_is_power(&product, value("y"), 1));
}

Test(pattern, a_product_of_too_many_factors_is_counted_and_not_kept) {
    add("Mul", "x x", "a");
    add("Mul", "a x", "b");
    add("Mul", "b x", "c");
    add("Mul", "c x", "d");
    add("Mul", "d x", "e");
    add("Mul", "e x", "y");
    make();
    cr_assert_eq(pattern_multiply(&patterns, value("y")).count, 7);
}

Test(pattern, a_node_is_taken_apart_into_a_number_and_the_rest) {
    double found;
    int other, at;
    number("one", 1);
    add("Add", "one x", "a");
    add("Add", "a x", "y");
    make();
    cr_assert(pattern_split(&patterns, pattern_producer(&patterns, value("a"), "Add"), &found, &other, &at));
    cr_assert(found == 1 && other == value("x") && at == 0);
    cr_assert_not(pattern_split(&patterns, pattern_producer(&patterns, value("y"), "Add"), &found, &other, &at));
    cr_assert_null(pattern_producer(&patterns, value("y"), "Mul"));
    cr_assert_null(pattern_producer(&patterns, value("x"), "Add"));
}

Test(pattern, numbers_are_near_if_float16_cannot_tell_them_apart) {
    cr_assert(pattern_is_near(0.70703125, 0.70710678));
    cr_assert(pattern_is_near(1.4142, 1.41421356));
    cr_assert_not(pattern_is_near(0.708, 0.70710678));
    cr_assert_not(pattern_is_near(-0.5, 0.5));
}

Test(pattern, a_node_that_is_replaced_takes_what_nobody_reads_any_more_with_it) {
    add("Neg", "x", "a");
    add("Abs", "a", "b");
    add("Exp", "a", "c");
    add("Add", "b c", "y");
    make();
    struct pattern_node form = {.op = "Relu", .inputs = {value("c")}, .input_count = 1};
    cr_assert(pattern_replace(&patterns, &patterns.graph->nodes[3], &form));
    cr_assert_str_eq(patterns.graph->nodes[3].op, "Relu");
    cr_assert(patterns.graph->nodes[1].dead && !patterns.graph->nodes[0].dead && !patterns.graph->nodes[2].dead);
    cr_assert(patterns.readers[value("a")] == 1 && patterns.readers[value("b")] == 0);
}

Test(pattern, an_added_constant_is_a_value_of_the_graph) {
    float *elements;
    struct tensor_shape shape = {.rank = 1, .dims = {2}};
    add("Neg", "x", "y");
    make();
    int added = pattern_add_constant(&patterns, &shape, &elements);
    elements[1] = 7;
    const struct graph_constant *constant = pattern_constant(&patterns, added);
    double found;
    cr_assert(constant && constant->elements == 2 && constant->dtype == TENSOR_F32);
    cr_assert_not(pattern_number(&patterns, added, &found));
    cr_assert_null(pattern_constant(&patterns, value("x")));
}
