#include "engine/graph/ports.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct graph *graph;
static struct graph_port ports[3], output;
static struct ports_reading readings[PORTS_MAX_READINGS];
static struct signature signature;
static struct weir_error err;
static int count;

static void make(void) {
    graph = graph_create();
    memset(ports, 0, sizeof ports);
    graph->inputs = ports;
    graph->outputs = &output;
    graph->input_count = 0;
}

static void destroy(void) {
    signature_release(&signature);
    graph_destroy(graph);
}

TestSuite(ports, .init = make, .fini = destroy);

/* dims: "batch,seq,4"; "?" is free without a name. */
static void add(const char *name, const char *dims) {
    static char texts[3][64];
    struct graph_port *port = &ports[graph->input_count];
    char *text = texts[graph->input_count++];
    strcpy(text, dims);
    port->value = graph_intern(graph, name, strlen(name));
    port->onnx_type = 1;
    port->has_shape = true;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        int axis = port->shape.rank++;
        bool number = word[0] >= '0' && word[0] <= '9';
        port->shape.dims[axis] = number ? atoi(word) : -1;
        port->names[axis] = number || word[0] == '?' ? "" : word;
    }
}

static void take(int reading) {
    cr_assert_eq(ports_read(graph, readings, &count, &err), WEIR_OK, "%s", err.text);
    cr_assert_lt(reading, count);
    cr_assert(!readings[count - 1].has_batch, "the last reading has no batch");
    cr_assert_eq(ports_inputs(graph, &readings[reading], &signature, &err), WEIR_OK, "%s", err.text);
}

Test(ports, the_name_of_dimension_0_is_the_batch_wherever_it_stands) {
    add("x", "batch,sequence");
    add("state", "2,batch,128");
    add("rate", "");
    take(0);
    cr_assert(signature.inputs[0].batch_axis == 0 && signature.inputs[1].batch_axis == 1);
    cr_assert(signature.inputs[2].batch_axis == -1 && signature.shares_inputs);
    cr_assert(signature.free_count == 1 && strcmp(signature.free_names[0], "sequence") == 0);
    cr_assert_eq(signature.inputs[0].shape.dims[1], TENSOR_FREE(0));
}

Test(ports, one_name_is_one_free_dimension) {
    add("ids", "batch,sequence");
    add("mask", "batch,sequence");
    take(0);
    cr_assert_eq(signature.free_count, 1);
    cr_assert_eq(signature.inputs[0].shape.dims[1], signature.inputs[1].shape.dims[1]);
    cr_assert(!signature.shares_inputs);
}

Test(ports, first_dimensions_of_other_names_may_be_one_batch) {
    add("a", "unk__1,4");
    add("b", "unk__2,4");
    take(0);
    cr_assert(readings[0].every_first && signature.inputs[0].batch_axis == 0 && signature.inputs[1].batch_axis == 0);
    cr_assert_eq(signature.free_count, 0);
}

Test(ports, dimensions_without_a_name_are_each_their_own) {
    add("x", "?,3,?,?");
    take(0);
    cr_assert(signature.inputs[0].batch_axis == 0 && signature.free_count == 2);
    cr_assert(signature.inputs[0].shape.dims[2] == TENSOR_FREE(0) &&
              signature.inputs[0].shape.dims[3] == TENSOR_FREE(1));
}

Test(ports, a_fixed_first_dimension_is_a_batch_if_all_have_it) {
    add("x", "8,4");
    add("y", "8,2");
    take(0);
    cr_assert(readings[0].is_fixed && signature.inputs[0].batch_axis == 0 && signature.inputs[1].batch_axis == 0);
    ports[1].shape.dims[0] = 2;
    signature_release(&signature);
    take(0);
    cr_assert(!readings[0].has_batch && signature.inputs[0].batch_axis == -1 && signature.shares_inputs);
}

Test(ports, a_dimension_called_batch_wins_over_a_fixed_first_one) {
    add("x", "3,batch,2");
    take(0);
    cr_assert(signature.inputs[0].batch_axis == 1 && readings[1].is_fixed);
    cr_assert(ports_names_batch("N") && ports_names_batch("my_batch_size") && ports_names_batch("Batch"));
    cr_assert(!ports_names_batch("") && !ports_names_batch("sequence") && !ports_names_batch("Nx"));
}

Test(ports, a_name_that_stands_second_is_tried_too) {
    add("x", "time,batch,8");
    cr_assert_eq(ports_read(graph, readings, &count, &err), WEIR_OK);
    cr_assert(count == 3 && strcmp(readings[0].name, "time") == 0 && strcmp(readings[1].name, "batch") == 0);
    cr_assert_eq(ports_inputs(graph, &readings[1], &signature, &err), WEIR_OK);
    cr_assert(signature.inputs[0].batch_axis == 1 && strcmp(signature.free_names[0], "time") == 0);
}

Test(ports, an_input_without_shape_or_of_strings_is_refused_by_name) {
    add("x", "N,4");
    ports[0].has_shape = false;
    cr_assert_eq(ports_read(graph, readings, &count, &err), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "'x'"));
    ports[0].has_shape = true;
    ports[0].onnx_type = 8;
    cr_assert_eq(ports_read(graph, readings, &count, &err), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "string"));
}

Test(ports, too_many_free_dimensions_and_too_large_rows_are_refused) {
    add("x", "a,b,c,d,e,f,g,h");
    cr_assert_eq(ports_read(graph, readings, &count, &err), WEIR_UNSUPPORTED);
    ports[0].shape = (struct tensor_shape){3, {-1, 100000, 100000}};
    cr_assert_eq(ports_read(graph, readings, &count, &err), WEIR_OK);
    cr_assert_eq(ports_inputs(graph, &readings[0], &signature, &err), WEIR_TOO_LARGE);
}

Test(ports, output_dimensions_are_the_batchs_fixed_free_or_derived) {
    struct tensor_dims example = {.rows = 1, .free_count = 1, .free = {16}};
    struct ports_output made = {.batch_axis = 0, .shape = {4, {1, 16, 4, 8}}, .dtype = TENSOR_I64};
    add("x", "batch,sequence");
    output = (struct graph_port){.value = graph_intern(graph, "y", 1),
                                 .has_shape = true,
                                 .shape = {4, {-1, -1, 4, -1}},
                                 .names = {"batch", "sequence", "", ""}};
    graph->output_count = 1;
    take(0);
    cr_assert_eq(ports_outputs(graph, &example, &made, &signature, &err), WEIR_OK);
    const struct tensor_spec *spec = &signature.outputs[0];
    cr_assert(spec->batch_axis == 0 && spec->shape.dims[1] == TENSOR_FREE(0) && spec->shape.dims[2] == 4);
    cr_assert(spec->shape.dims[3] == TENSOR_DERIVED && !spec->is_fixed && spec->dtype == TENSOR_I64);
}
