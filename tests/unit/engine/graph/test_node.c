#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/node.h"

static struct graph *graph;
static struct weir_error err;
static int inputs[3], outputs[1];
static struct graph_attribute attributes[3];
static int64_t axes[9] = {0, -1, 2};
static struct graph_node node;

static void make(void) {
    graph = graph_create();
    graph->imports[0] = (struct graph_import){"", 13};
    graph->imports[1] = (struct graph_import){"com.example", 2};
    graph->import_count = 2;
    inputs[0] = graph_intern(graph, "x", 1);
    inputs[1] = GRAPH_NONE;
    inputs[2] = graph_intern(graph, "axes", 4);
    outputs[0] = graph_intern(graph, "y", 1);
    attributes[0] = (struct graph_attribute){.name = "alpha", .type = GRAPH_ATTRIBUTE_FLOAT, .number = 0.5f};
    attributes[1] = (struct graph_attribute){.name = "axis", .type = GRAPH_ATTRIBUTE_INT, .integer = -1};
    attributes[2] =
        (struct graph_attribute){.name = "axes", .type = GRAPH_ATTRIBUTE_INTS, .ints = axes, .item_count = 3};
    node = (struct graph_node){"Foo", "foo_1", "", 3, false, inputs, outputs, 3, 1, attributes, 3};
}

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(node, .init = make, .fini = destroy);

Test(node, an_error_names_operator_node_domain_and_opset) {
    cr_assert_eq(node_fail(graph, &node, &err, WEIR_UNSUPPORTED, "because of %d", 7), WEIR_UNSUPPORTED);
    cr_assert_str_eq(err.text, "node 3 'foo_1' (Foo, domain ai.onnx, opset 13): because of 7");
    node.name = "";
    node.domain = "com.example";
    node_fail(graph, &node, &err, WEIR_INVALID, "no");
    cr_assert_str_eq(err.text, "node 3 (Foo -> y, domain com.example, opset 2): no");
}

Test(node, attributes_have_defaults_and_types) {
    float alpha = 1;
    int64_t axis = 1, other = 9;
    cr_assert_eq(node_float(graph, &node, "alpha", &alpha, &err), WEIR_OK);
    cr_assert_eq(node_int(graph, &node, "axis", &axis, &err), WEIR_OK);
    cr_assert_eq(node_int(graph, &node, "absent", &other, &err), WEIR_OK);
    cr_assert(alpha == 0.5f && axis == -1 && other == 9);
    cr_assert_eq(node_int(graph, &node, "alpha", &axis, &err), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "alpha"));
    cr_assert_eq(axis, -1);
}

Test(node, a_list_comes_from_the_input_or_else_from_the_attribute) {
    static const int64_t bytes[2] = {4, 5};
    struct graph_constant constant = {
        TENSOR_I64, {.rank = 1, .dims = {2}}, 2, (const unsigned char *)(const void *)bytes};
    struct shapes_list list;
    cr_assert_eq(node_list(graph, &node, 1, "axes", &list, &err), WEIR_OK);
    cr_assert(list.count == 3 && list.items[1] == -1);
    cr_assert_eq(node_list(graph, &node, 2, "axes", &list, &err), WEIR_UNSUPPORTED);
    graph->values[inputs[2]].constant = &constant;
    cr_assert_eq(node_list(graph, &node, 2, "axes", &list, &err), WEIR_OK);
    cr_assert(list.count == 2 && list.items[1] == 5);
    constant.dtype = TENSOR_F64;
    cr_assert_eq(node_list(graph, &node, 2, "axes", &list, &err), WEIR_INVALID);
    cr_assert_eq(node_list(graph, &node, 1, "absent", &list, &err), WEIR_OK);
    cr_assert_eq(list.count, -1);
    attributes[2].item_count = 9;
    cr_assert_eq(node_list(graph, &node, -1, "axes", &list, &err), WEIR_UNSUPPORTED);
}

Test(node, omitted_and_absent_inputs_are_null) {
    cr_assert_str_eq(node_input(graph, &node, 0)->name, "x");
    cr_assert_null(node_input(graph, &node, 1));
    cr_assert_null(node_input(graph, &node, 3));
    cr_assert_null(node_output(graph, &node, 1));
}
