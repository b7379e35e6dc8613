#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/onnx_node.h"
#include "tests/fakes/onnx_writer.h"

static struct onnx_model model;
static struct graph *graph;
static struct graph_node node;
static struct weir_error err;

static void make(void) {
    graph = graph_create();
    memset(&node, 0, sizeof node);
    node.index = 5;
}

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(onnx_node, .init = make, .fini = destroy);

static enum weir_status read(void) {
    return onnx_node_read(graph, wire_over(model.part.data, model.part.size), &node, &err);
}

Test(onnx_node, inputs_outputs_attributes_and_names_are_read) {
    onnx_add_node(&model, (struct onnx_node){"Gemm", "x - W x", "y", "alpha:f=0.5 transB:i=1 axes:l=3,-1", "fc", "d"});
    cr_assert_eq(read(), WEIR_OK);
    cr_assert_str_eq(node.op, "Gemm");
    cr_assert_str_eq(node.name, "fc");
    cr_assert_str_eq(node.domain, "d");
    cr_assert(node.input_count == 4 && node.inputs[0] == node.inputs[3] && node.inputs[1] == GRAPH_NONE);
    cr_assert_str_eq(graph->values[node.inputs[2]].name, "W");
    cr_assert(node.output_count == 1 && node.attribute_count == 3);
    cr_assert(graph_attribute(&node, "alpha")->number == 0.5f);
    cr_assert(graph_attribute(&node, "transB")->integer == 1);
    const struct graph_attribute *axes = graph_attribute(&node, "axes");
    cr_assert(axes->type == GRAPH_ATTRIBUTE_INTS && axes->item_count == 2 && axes->ints[1] == -1);
}

Test(onnx_node, the_default_domain_has_two_spellings) {
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "y", NULL, NULL, "ai.onnx"});
    cr_assert_eq(read(), WEIR_OK);
    cr_assert_str_eq(node.domain, "");
}

/* Wraps the attribute in model.piece into a node. */
static enum weir_status read_attribute(void) {
    model.part.size = 0;
    onnx_put_bytes(&model.part, 4, "Op", 2);
    onnx_put_bytes(&model.part, 5, model.piece.data, model.piece.size);
    memset(&node, 0, sizeof node);
    return read();
}

Test(onnx_node, an_attribute_without_a_type_gets_that_of_its_field) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "axis", 4);
    onnx_put_number(&model.piece, 3, -2);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert(node.attributes[0].type == GRAPH_ATTRIBUTE_INT && node.attributes[0].integer == -2);
}

Test(onnx_node, an_attribute_without_a_value_is_zero) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "axis", 4);
    onnx_put_number(&model.piece, 20, GRAPH_ATTRIBUTE_INT);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert(node.attributes[0].integer == 0);
}

Test(onnx_node, lists_are_read_packed_and_single) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "f", 1);
    onnx_put_bytes(&model.piece, 7, "\x00\x00\x80\x3F\x00\x00\x00\x40", 8);
    onnx_put_float(&model.piece, 7, 3.0f);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert(node.attributes[0].item_count == 3 && node.attributes[0].floats[2] == 3.0f);
}

Test(onnx_node, a_subgraph_is_noted_and_not_entered) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "body", 4);
    onnx_put_bytes(&model.piece, 6, "\xFF\xFF\xFF", 3); /* no message at all */
    onnx_put_number(&model.piece, 20, 5);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert_eq(node.attributes[0].type, 5);
    cr_assert(node.attributes[0].body_size == 3 && node.attributes[0].body[0] == 0xFF);
}

Test(onnx_node, texts_and_lists_of_texts_are_read) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "mode", 4);
    onnx_put_bytes(&model.piece, 4, "linear", 6);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert_eq(node.attributes[0].type, GRAPH_ATTRIBUTE_STRING);
    cr_assert_str_eq(node.attributes[0].text, "linear");
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "activations", 11);
    onnx_put_bytes(&model.piece, 9, "Tanh", 4);
    onnx_put_bytes(&model.piece, 9, "", 0);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert(node.attributes[0].type == GRAPH_ATTRIBUTE_STRINGS && node.attributes[0].item_count == 2);
    cr_assert_str_eq(node.attributes[0].texts[0], "Tanh");
    cr_assert_str_eq(node.attributes[0].texts[1], "");
}

Test(onnx_node, a_text_is_bounded_and_ends) {
    static char text[GRAPH_MAX_ATTRIBUTE_ITEMS + 1];
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 4, text, sizeof text);
    cr_assert_eq(read_attribute(), WEIR_TOO_LARGE);
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 4, "a\0b", 3);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert_str_eq(node.attributes[0].text, "a");
    model.piece.size = 0;
    onnx_put_number(&model.piece, 9, 7); /* no bytes */
    cr_assert_eq(read_attribute(), WEIR_INVALID);
}

Test(onnx_node, a_tensor_of_a_type_that_cannot_be_used_is_noted) {
    onnx_make_tensor(&model, "words", 8, "1", NULL, 0);
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "value", 5);
    onnx_put_bytes(&model.piece, 5, model.part.data, model.part.size);
    cr_assert_eq(read_attribute(), WEIR_OK);
    cr_assert(node.attributes[0].tensor == NULL && node.attributes[0].unsupported_type == 8);
}

Test(onnx_node, names_are_looked_up_from_the_inside_out) {
    struct graph_scope outer = {NULL, "a/", 1}, inner = {&outer, "b/", 2};
    struct wire name = wire_over("x", 1);
    int top = onnx_node_define(graph, NULL, name), middle = onnx_node_define(graph, &outer, name);
    cr_assert_neq(top, middle);
    cr_assert_eq(onnx_node_resolve(graph, &inner, name), middle);
    int own = onnx_node_define(graph, &inner, name);
    cr_assert_eq(onnx_node_resolve(graph, &inner, name), own);
    cr_assert_eq(onnx_node_find(graph, NULL, name), top);
    cr_assert_eq(onnx_node_find(graph, &inner, wire_over("z", 1)), GRAPH_NONE);
    cr_assert_str_eq(graph->values[onnx_node_resolve(graph, &inner, wire_over("z", 1))].name, "z");
}

Test(onnx_node, broken_parts_are_refused_by_the_nodes_index) {
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 8, "\x80", 1); /* half a varint */
    cr_assert_eq(read_attribute(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "node 0"));
    model.piece.size = 0;
    onnx_put_number(&model.piece, 2, 7); /* a float as a varint */
    cr_assert_eq(read_attribute(), WEIR_INVALID);
    model.piece.size = 0;
    onnx_put_bytes(&model.piece, 1, "a\0b", 3);
    cr_assert_eq(read_attribute(), WEIR_INVALID);
    model.part.size = 0;
    onnx_put_bytes(&model.part, 1, "x\0y", 3);
    cr_assert_eq(read(), WEIR_INVALID);
}

Test(onnx_node, more_attributes_or_inputs_than_allowed_are_too_large) {
    model.part.size = 0;
    for (int i = 0; i <= GRAPH_MAX_ATTRIBUTES; i++)
        onnx_put_bytes(&model.part, 5, "", 0);
    cr_assert_eq(read(), WEIR_TOO_LARGE);
    model.part.size = 0;
    for (int i = 0; i <= GRAPH_MAX_NODE_VALUES; i++)
        onnx_put_bytes(&model.part, 1, "x", 1);
    cr_assert_eq(read(), WEIR_TOO_LARGE);
    model.piece.size = 0;
    for (int i = 0; i <= GRAPH_MAX_ATTRIBUTE_ITEMS; i++)
        onnx_put_number(&model.piece, 8, 1);
    cr_assert_eq(read_attribute(), WEIR_TOO_LARGE);
}
