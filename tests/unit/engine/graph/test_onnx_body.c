#include "engine/graph/onnx_body.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/onnx_reader.h"
#include "tests/fakes/onnx_branch.h"

static struct onnx_model model, body;
static struct graph *graph;
static struct weir_error err;

static void make(void) {
    graph = graph_create();
}

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(onnx_body, .init = make, .fini = destroy);

static void add(struct onnx_model *to, const char *op, const char *inputs, const char *outputs) {
    onnx_add_node(to, (struct onnx_node){op, inputs, outputs, NULL, NULL, NULL});
}

static struct wire bytes(void) {
    return wire_over(body.body.data, body.body.size);
}

Test(onnx_body, parts_are_counted) {
    struct onnx_body_parts parts;
    graph->start = body.body.data;
    add(&body, "Relu", "x", "t");
    add(&body, "Relu", "t", "u");
    onnx_add_output(&body, "u", "4");
    cr_assert_eq(onnx_body_measure(graph, bytes(), &parts, &err), WEIR_OK);
    cr_assert(parts.nodes == 2 && parts.inputs == 0 && parts.outputs == 1);
    body.body.size--;
    cr_assert_eq(onnx_body_measure(graph, bytes(), &parts, &err), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "at byte "), "%s", err.text);
}

Test(onnx_body, names_of_its_own_get_the_prefix_and_others_are_the_graphs) {
    static const float numbers[1] = {3};
    struct graph_scope scope = {NULL, "b/", 1};
    struct graph_node nodes[1] = {0};
    int outputs[1];
    struct onnx_body_target target = {&scope, 9, nodes, outputs};
    int x = graph_intern(graph, "x", 1);
    add(&body, "Add", "x c", "t");
    onnx_add_floats(&body, "c", "1", numbers, 1);
    onnx_add_output(&body, "t", "4");
    cr_assert_eq(onnx_body_read(graph, bytes(), &target, &err), WEIR_OK, "%s", err.text);
    cr_assert(nodes[0].index == 9 && nodes[0].scope == &scope && nodes[0].inputs[0] == x);
    cr_assert_str_eq(graph->values[nodes[0].inputs[1]].name, "b/c");
    cr_assert(constant_element(graph->values[nodes[0].inputs[1]].constant, 0) == 3.0f);
    cr_assert_str_eq(graph->values[nodes[0].outputs[0]].name, "b/t");
    cr_assert_eq(outputs[0], nodes[0].outputs[0]);
}

Test(onnx_body, an_initializer_is_there_once_and_has_a_name) {
    static const float numbers[1] = {3};
    onnx_make_tensor(&model, "c", 1, "1", numbers, sizeof numbers);
    struct wire message = wire_over(model.part.data, model.part.size);
    cr_assert_eq(onnx_body_read_initializer(graph, message, NULL, &err), WEIR_OK);
    cr_assert_eq(onnx_body_read_initializer(graph, message, NULL, &err), WEIR_INVALID);
    onnx_make_tensor(&model, "", 1, "1", numbers, sizeof numbers);
    message = wire_over(model.part.data, model.part.size);
    cr_assert_eq(onnx_body_read_initializer(graph, message, NULL, &err), WEIR_INVALID);
}

static void capture(struct graph_node *node, struct graph_attribute *attribute) {
    *attribute = (struct graph_attribute){
        .name = "body", .type = GRAPH_ATTRIBUTE_GRAPH, .body = body.body.data, .body_size = body.body.size};
    *node = (struct graph_node){.op = "If", .name = "", .domain = "", .attributes = attribute, .attribute_count = 1};
    cr_assert_eq(onnx_body_capture(graph, node, &err), WEIR_OK, "%s", err.text);
}

Test(onnx_body, what_it_reads_from_outside_is_found_once_and_only_what_is_defined_there) {
    struct graph_attribute attribute;
    struct graph_node node;
    int x = graph_intern(graph, "x", 1), z = graph_intern(graph, "z", 1);
    graph_intern(graph, "later", 5);
    graph->values[x].is_input = graph->values[z].is_input = true;
    add(&body, "Add", "x later", "t");
    add(&body, "Add", "t x", "u");
    onnx_add_output(&body, "z", "4");
    capture(&node, &attribute);
    cr_assert(node.input_count == 2 && node.inputs[0] == x && node.inputs[1] == z);
}

Test(onnx_body, graphs_too_deep_within_each_other_are_refused) {
    static struct onnx_model outer;
    for (int depth = 0; depth < GRAPH_MAX_DEPTH + 2; depth++) {
        onnx_begin(&outer);
        onnx_branch_add_if(&outer, "c", "t", &body.body, NULL);
        body.body.size = 0;
        onnx_put(&body.body, outer.body.data, outer.body.size);
    }
    struct graph_attribute attribute = {
        .name = "body", .type = GRAPH_ATTRIBUTE_GRAPH, .body = body.body.data, .body_size = body.body.size};
    struct graph_node node = {.op = "If", .attributes = &attribute, .attribute_count = 1};
    cr_assert_eq(onnx_body_capture(graph, &node, &err), WEIR_UNSUPPORTED);
}
