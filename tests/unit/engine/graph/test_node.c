#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/node.h"

static struct graph *graph;
static struct weir_error err;
static int inputs[3], outputs[1];
static struct graph_attribute attributes[4];
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
    attributes[3] = (struct graph_attribute){.name = "mode", .type = GRAPH_ATTRIBUTE_STRING, .text = "linear"};
    node = (struct graph_node){.op = "Foo",
                               .name = "foo_1",
                               .domain = "",
                               .index = 3,
                               .inputs = inputs,
                               .outputs = outputs,
                               .input_count = 3,
                               .output_count = 1,
                               .attributes = attributes,
                               .attribute_count = 4};
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

Test(node, a_list_has_at_most_eight_numbers) {
    struct shapes_list list;
    cr_assert_eq(node_ints(graph, &node, "axes", &list, &err), WEIR_OK);
    cr_assert(list.count == 3 && list.items[1] == -1 && list.items[2] == 2);
    cr_assert_eq(node_ints(graph, &node, "absent", &list, &err), WEIR_OK);
    cr_assert_eq(list.count, -1);
    attributes[2].item_count = 9;
    cr_assert_eq(node_ints(graph, &node, "axes", &list, &err), WEIR_UNSUPPORTED);
    cr_assert_eq(node_ints(graph, &node, "alpha", &list, &err), WEIR_INVALID);
}

Test(node, a_word_is_one_of_those_known_or_refused_with_them) {
    static const char *const words[] = {"nearest", "linear", NULL}, *const others[] = {"cubic", "area", NULL};
    int mode = 7;
    cr_assert_eq(node_word(graph, &node, "absent", words, &mode, &err), WEIR_OK);
    cr_assert_eq(mode, 7);
    cr_assert_eq(node_word(graph, &node, "mode", words, &mode, &err), WEIR_OK);
    cr_assert_eq(mode, 1);
    cr_assert_eq(node_word(graph, &node, "mode", others, &mode, &err), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "'linear'; supported: cubic area"), "%s", err.text);
    cr_assert_eq(mode, 1);
}

Test(node, omitted_and_absent_inputs_are_null) {
    cr_assert_str_eq(node_input(graph, &node, 0)->name, "x");
    cr_assert_null(node_input(graph, &node, 1));
    cr_assert_null(node_input(graph, &node, 3));
    cr_assert_null(node_output(graph, &node, 1));
}
