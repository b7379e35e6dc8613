#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/fold.h"
#include "engine/graph/onnx_reader.h"
#include "tests/fakes/onnx_writer.h"

static struct onnx_model model;
static struct graph *graph;
static struct weir_error err;

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(fold, .fini = destroy);

static void add(const char *op, const char *in, const char *out, const char *attributes) {
    onnx_add_node(&model, (struct onnx_node){op, in, out, attributes, NULL, NULL});
}

static enum weir_status fold(int opset) {
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,3");
    onnx_finish(&model, opset);
    graph_destroy(graph);
    graph = graph_create();
    cr_assert_eq(onnx_reader_read(graph, model.file.data, model.file.size, -1, &err), WEIR_OK, "%s", err.text);
    if (fold_dead_code(graph, &err) != WEIR_OK || fold_constants(graph, &err) != WEIR_OK)
        return err.status;
    return fold_dead_code(graph, &err);
}

static const struct graph_constant *constant(const char *name) {
    return graph->values[graph_intern(graph, name, strlen(name))].constant;
}

/* A Constant node whose attribute holds the tensor in model.part. */
static void add_constant(const char *out) {
    static struct onnx_bytes attribute;
    attribute.size = 0;
    onnx_put_bytes(&attribute, 1, "value", 5);
    onnx_put_bytes(&attribute, 5, model.part.data, model.part.size);
    onnx_put_number(&attribute, 20, 4);
    model.part.size = 0;
    onnx_put_bytes(&model.part, 2, out, strlen(out));
    onnx_put_bytes(&model.part, 4, "Constant", 8);
    onnx_put_bytes(&model.part, 5, attribute.data, attribute.size);
    onnx_add_part(&model, 1);
}

Test(fold, constant_nodes_become_constants_in_every_form) {
    static const float values[3] = {1, 2, 3};
    onnx_make_tensor(&model, "", 1, "3", values, sizeof values);
    add_constant("a");
    add("Constant", "", "b", "value_float:f=2.5");
    add("Constant", "", "c", "value_int:i=-7");
    add("Constant", "", "d", "value_ints:l=4,5");
    add("Foo", "x a b c d", "y", NULL);
    cr_assert_eq(fold(13), WEIR_OK, "%s", err.text);
    cr_assert(constant_element(constant("a"), 2) == 3.0f);
    cr_assert(constant("b")->shape.rank == 0 && constant_element(constant("b"), 0) == 2.5f);
    cr_assert(constant("c")->dtype == TENSOR_I64 && constant_element(constant("c"), 0) == -7.0f);
    cr_assert(constant("d")->elements == 2 && constant_element(constant("d"), 1) == 5.0f);
    cr_assert(graph->nodes[0].dead && graph->nodes[3].dead && !graph->nodes[4].dead);
}

Test(fold, a_constant_without_a_known_value_is_unsupported) {
    add("Constant", "", "a", "value_strings:l=1");
    add("Foo", "x a", "y", NULL);
    cr_assert_eq(fold(13), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "Constant"));
}

Test(fold, rearranged_constants_are_computed_through_a_chain) {
    static const float values[6] = {0, 1, 2, 3, 4, 5};
    static const int64_t wanted[2] = {3, -1};
    onnx_add_floats(&model, "w", "1,2,3", values, 6);
    onnx_add_integers(&model, "wanted", "2", wanted, 2);
    add("Identity", "w", "a", NULL);
    add("Cast", "a", "b", "to:i=11");
    add("Squeeze", "b", "c", "axes:l=0");
    add("Transpose", "c", "d", NULL);
    add("Reshape", "d wanted", "e", NULL);
    add("Unsqueeze", "e", "f", "axes:l=0");
    add("Flatten", "f", "g", "axis:i=2");
    add("Foo", "x g", "y", NULL);
    cr_assert_eq(fold(11), WEIR_OK, "%s", err.text);
    const struct graph_constant *g = constant("g");
    cr_assert(g->shape.rank == 2 && g->shape.dims[0] == 3 && g->shape.dims[1] == 2);
    static const float expected[6] = {0, 3, 1, 4, 2, 5};
    for (size_t i = 0; i < 6; i++)
        cr_assert(constant_element(g, i) == expected[i]);
    for (int i = 0; i < 7; i++)
        cr_assert(graph->nodes[i].dead);
}

Test(fold, a_cast_that_is_not_supported_is_refused) {
    static const float values[1] = {0.5f};
    onnx_add_floats(&model, "w", "1", values, 1);
    add("Cast", "w", "a", "to:i=7");
    add("Foo", "x a", "y", NULL);
    cr_assert_eq(fold(13), WEIR_UNSUPPORTED);
}

Test(fold, what_no_output_needs_is_dead_even_if_it_is_unknown) {
    add("Relu", "x", "t", NULL);
    add("NonMaxSuppression", "t", "unused", NULL);
    add("Relu", "t", "y", NULL);
    cr_assert_eq(fold(13), WEIR_OK);
    cr_assert(!graph->nodes[0].dead && graph->nodes[1].dead && !graph->nodes[2].dead);
}

Test(fold, an_operator_of_another_domain_is_left_alone) {
    static const float values[1] = {0.5f};
    onnx_add_floats(&model, "w", "1", values, 1);
    onnx_add_node(&model, (struct onnx_node){"Identity", "w", "a", NULL, NULL, "com.example"});
    add("Foo", "x a", "y", NULL);
    cr_assert_eq(fold(13), WEIR_OK);
    cr_assert_null(constant("a"));
}
