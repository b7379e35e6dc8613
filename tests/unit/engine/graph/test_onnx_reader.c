#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/onnx_reader.h"
#include "tests/fakes/onnx_writer.h"

static struct onnx_model model;
static struct graph *graph;
static struct weir_error err;
static const float weights[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, bias[3] = {0, 0, 1.5f};

static void make(void) {
    graph = graph_create();
    onnx_begin(&model);
}

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(onnx_reader, .init = make, .fini = destroy);

static enum weir_status read_bytes(const void *bytes, size_t size) {
    graph_destroy(graph);
    graph = graph_create();
    return onnx_reader_read(graph, bytes, size, -1, &err);
}

static enum weir_status read(int opset) {
    onnx_finish(&model, opset);
    return read_bytes(model.file.data, model.file.size);
}

static void write_gemm(void) {
    onnx_add_node(&model, (struct onnx_node){"Gemm", "x W b", "y", NULL, "fc", NULL});
    onnx_add_floats(&model, "W", "4,3", weights, 12);
    onnx_add_floats(&model, "b", "3", bias, 3);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,3");
}

Test(onnx_reader, a_model_is_read_with_its_facts) {
    write_gemm();
    cr_assert_eq(read(13), WEIR_OK, "%s", err.text);
    cr_assert(graph->opset == 13 && graph->ir_version == 8);
    cr_assert_str_eq(graph->producer, "test");
    cr_assert(graph->node_count == 1 && graph->input_count == 1 && graph->output_count == 1);
    cr_assert(graph->inputs[0].onnx_type == 1 && graph->inputs[0].shape.rank == 2);
    cr_assert(graph->inputs[0].shape.dims[0] == -1 && graph->inputs[0].shape.dims[1] == 4);
    cr_assert_eq(graph->values[graph->outputs[0].value].producer, 0);
    cr_assert_str_eq(graph->inputs[0].names[0], "N");
    cr_assert_str_eq(graph->inputs[0].names[1], "");
}

Test(onnx_reader, an_initializer_of_a_type_that_cannot_be_used_is_noted) {
    write_gemm();
    onnx_add_tensor(&model, "labels", 8, "1", NULL, 0);
    cr_assert_eq(read(13), WEIR_OK, "%s", err.text);
    int labels = graph_find(graph, "labels", 6);
    cr_assert(labels >= 0 && graph->values[labels].unsupported_type == 8 && !graph->values[labels].constant);
}

Test(onnx_reader, an_initializer_that_is_listed_as_an_input_is_none) {
    write_gemm();
    onnx_add_input(&model, "W", "4,3");
    cr_assert_eq(read(13), WEIR_OK);
    cr_assert_eq(graph->input_count, 1);
    cr_assert_str_eq(graph->values[graph->inputs[0].value].name, "x");
}

Test(onnx_reader, unknown_fields_are_skipped_and_order_does_not_matter) {
    onnx_put_bytes(&model.body, 99, "whatever", 8);
    onnx_add_floats(&model, "b", "3", bias, 3);
    onnx_add_output(&model, "y", "N,3");
    onnx_add_input(&model, "x", "N,4");
    onnx_put_number(&model.body, 1000, 7);
    onnx_add_floats(&model, "W", "4,3", weights, 12);
    onnx_add_node(&model, (struct onnx_node){"Gemm", "x W b", "y", NULL, NULL, NULL});
    cr_assert_eq(read(13), WEIR_OK, "%s", err.text);
}

Test(onnx_reader, an_opset_outside_the_range_is_refused_naming_both) {
    write_gemm();
    cr_assert_eq(read(99), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "99"));
    cr_assert_not_null(strstr(err.text, "1 to 21"));
    cr_assert_eq(read(1), WEIR_OK);
    cr_assert_eq(read(21), WEIR_OK);
    onnx_finish(&model, 13);
    model.file.size -= model.part.size + 2; /* without the opset import, the last field */
    cr_assert_eq(read_bytes(model.file.data, model.file.size), WEIR_INVALID);
}

Test(onnx_reader, what_is_no_model_is_invalid) {
    cr_assert_eq(read_bytes("", 0), WEIR_INVALID);
    cr_assert_eq(read_bytes("not a model at all", 18), WEIR_INVALID);
    cr_assert_eq(read_bytes("\x08\x08", 2), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "no graph"));
}

Test(onnx_reader, every_cut_of_a_model_is_refused) {
    write_gemm();
    onnx_finish(&model, 13);
    for (size_t size = 0; size < model.file.size; size++)
        cr_assert_neq(read_bytes(model.file.data, size), WEIR_OK, "cut at %zu", size);
}

Test(onnx_reader, every_changed_byte_is_survived) {
    write_gemm();
    onnx_finish(&model, 13);
    for (size_t i = 0; i < model.file.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            model.file.data[i] ^= (unsigned char)(1 << bit);
            (void)!read_bytes(model.file.data, model.file.size);
            model.file.data[i] ^= (unsigned char)(1 << bit);
        }
    cr_assert_eq(read_bytes(model.file.data, model.file.size), WEIR_OK);
}

Test(onnx_reader, deeply_nested_graphs_are_not_entered) {
    static struct onnx_bytes inner, outer;
    for (int depth = 0; depth < 1000; depth++) { /* graph { node { attribute { graph } } }, inside out */
        outer.size = 0;
        onnx_put_bytes(&outer, 6, inner.data, inner.size);
        inner.size = 0;
        onnx_put_bytes(&inner, 5, outer.data, outer.size);
        outer.size = 0;
        onnx_put_bytes(&outer, 1, inner.data, inner.size);
        inner = outer;
    }
    onnx_put_bytes(&model.body, 1, inner.data, inner.size);
    cr_assert_neq(read(13), WEIR_OK);
}

Test(onnx_reader, sparse_initializers_and_double_names_are_refused) {
    write_gemm();
    onnx_add_floats(&model, "W", "4,3", weights, 12);
    cr_assert_eq(read(13), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "'W'"));
    onnx_begin(&model);
    write_gemm();
    onnx_add_input(&model, "x", "N,4");
    cr_assert_eq(read(13), WEIR_INVALID);
    onnx_begin(&model);
    write_gemm();
    onnx_put_bytes(&model.body, 15, "", 0);
    cr_assert_eq(read(13), WEIR_UNSUPPORTED);
}

Test(onnx_reader, more_nodes_than_allowed_are_too_large) {
    for (int i = 0; i <= GRAPH_MAX_NODES; i++)
        onnx_put_bytes(&model.body, 1, "", 0);
    cr_assert_eq(read(13), WEIR_TOO_LARGE);
}
