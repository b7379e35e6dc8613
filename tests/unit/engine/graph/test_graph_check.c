#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/graph_check.h"
#include "engine/graph/onnx_reader.h"
#include "tests/fakes/onnx_writer.h"

static struct onnx_model model;
static struct weir_error err;

static void add(const char *op, const char *inputs, const char *outputs, const char *name) {
    onnx_add_node(&model, (struct onnx_node){op, inputs, outputs, NULL, name, NULL});
}

/* Reads the model, which ends with graph_check. */
static enum weir_status check(void) {
    struct graph *graph = graph_create();
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    onnx_finish(&model, 13);
    enum weir_status status = onnx_reader_read(graph, model.file.data, model.file.size, -1, &err);
    graph_destroy(graph);
    return status;
}

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(graph_check, a_chain_in_order_passes) {
    add("Relu", "x", "t", "a");
    add("Relu", "t", "y", "b");
    cr_assert_eq(check(), WEIR_OK, "%s", err.text);
}

Test(graph_check, a_cycle_is_named) {
    add("Add", "x t", "y", "first");
    add("Relu", "y", "t", "second");
    cr_assert_eq(check(), WEIR_INVALID);
    names("'first'");
    names("'t'");
    names("cycle");
}

Test(graph_check, a_node_that_reads_itself_is_named) {
    add("Relu", "y", "y", "loop");
    cr_assert_eq(check(), WEIR_INVALID);
    names("'loop'");
    names("cycle");
}

Test(graph_check, an_undefined_value_is_named_with_its_node) {
    add("Relu", "x", "t", "r");
    add("Add", "t ghost", "y", NULL);
    cr_assert_eq(check(), WEIR_INVALID);
    names("node 1 (Add -> y");
    names("'ghost'");
    names("nowhere");
}

Test(graph_check, a_value_defined_twice_is_named) {
    add("Relu", "x", "y", "a");
    add("Tanh", "x", "y", "b");
    cr_assert_eq(check(), WEIR_INVALID);
    names("'b'");
    names("second time");
}

Test(graph_check, a_node_may_not_define_an_input_or_an_initializer) {
    static const float w[4] = {0};
    add("Relu", "x", "x", "a");
    add("Relu", "x", "y", "b");
    cr_assert_eq(check(), WEIR_INVALID);
    names("'a'");
    onnx_begin(&model);
    add("Relu", "x", "y", "a");
    onnx_add_floats(&model, "y", "4", w, 4);
    cr_assert_eq(check(), WEIR_INVALID);
}

Test(graph_check, an_output_that_nothing_gives_is_named) {
    add("Relu", "x", "t", "a");
    cr_assert_eq(check(), WEIR_INVALID);
    names("output 'y'");
}

Test(graph_check, an_output_listed_twice_is_refused) {
    add("Relu", "x", "y", "a");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(check(), WEIR_INVALID);
    names("twice");
}

Test(graph_check, omitted_inputs_and_outputs_are_no_values) {
    add("Clip", "x - -", "t", "a");
    add("Dropout", "t", "y -", "b");
    cr_assert_eq(check(), WEIR_OK, "%s", err.text);
}
