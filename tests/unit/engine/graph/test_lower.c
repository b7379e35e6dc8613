#include "engine/graph/lower.h"

#include <criterion/criterion.h>
#include <string.h>

static struct graph *graph;
static struct program program;
static struct weir_error err;
static struct fact facts[8];
static struct lowering lowering;
static struct graph_node node;
static int inputs[4], outputs[2];
static struct graph_attribute attribute;
static int64_t axes[2] = {0, -1};

static const int64_t numbers[3] = {4, -5, 6};
static const float scalar[1] = {2.5f};

/* Inputs: a computed float [2,3], the list {4,-5,6}, the scalar 2.5, and an omitted one. */
static void make(void) {
    static const char *const names[] = {"x", "list", "scalar", "y", "z"};
    graph = graph_create();
    for (int i = 0; i < 5; i++)
        graph_intern(graph, names[i], strlen(names[i]));
    memset(facts, 0, sizeof facts);
    facts[0] = (struct fact){true, TENSOR_F32, {2, {2, 3}}, 6, NULL, NULL, GRAPH_NONE};
    facts[1] = (struct fact){true, TENSOR_I64, {1, {3}}, 3, numbers, NULL, GRAPH_NONE};
    facts[2] = (struct fact){true, TENSOR_F32, {0, {0}}, 1, scalar, NULL, GRAPH_NONE};
    inputs[0] = 0;
    inputs[1] = 1;
    inputs[2] = 2;
    inputs[3] = GRAPH_NONE;
    outputs[0] = 3;
    outputs[1] = 4;
    attribute = (struct graph_attribute){.name = "axes", .type = GRAPH_ATTRIBUTE_INTS, .ints = axes, .item_count = 2};
    node = (struct graph_node){.op = "Foo",
                               .name = "foo",
                               .domain = "",
                               .index = 5,
                               .inputs = inputs,
                               .outputs = outputs,
                               .input_count = 4,
                               .output_count = 2,
                               .attributes = &attribute,
                               .attribute_count = 1};
    lowering = (struct lowering){graph, &program, facts, &program.region, 1};
    facts[0].buffer = program_add_buffer(&program, TENSOR_F32, &facts[0].shape);
}

static void destroy(void) {
    program_release(&program);
    graph_destroy(graph);
}

TestSuite(lower, .init = make, .fini = destroy);

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(lower, an_omitted_input_is_null_and_a_needed_one_is_named) {
    const struct fact *fact;
    cr_assert_null(lower_input(&lowering, &node, 3));
    cr_assert_null(lower_input(&lowering, &node, 4));
    cr_assert_eq(lower_need(&lowering, &node, 0, &fact, &err), WEIR_OK);
    cr_assert_eq(fact, &facts[0]);
    cr_assert_eq(lower_need(&lowering, &node, 3, &fact, &err), WEIR_INVALID);
    names("'foo'");
    names("input 3 is missing");
    cr_assert_eq(lower_need_float(&lowering, &node, 1, &fact, &err), WEIR_UNSUPPORTED);
    names("'list' is int64");
}

Test(lower, a_list_comes_from_the_known_input_or_else_from_the_attribute) {
    struct shapes_list list;
    cr_assert_eq(lower_list(&lowering, &node, 1, "axes", &list, &err), WEIR_OK);
    cr_assert(list.count == 3 && list.items[1] == -5);
    cr_assert_eq(lower_list(&lowering, &node, 3, "axes", &list, &err), WEIR_OK);
    cr_assert(list.count == 2 && list.items[1] == -1);
    cr_assert_eq(lower_list(&lowering, &node, 3, NULL, &list, &err), WEIR_OK);
    cr_assert_eq(list.count, -1);
    facts[1].known = NULL;
    cr_assert_eq(lower_list(&lowering, &node, 1, "axes", &list, &err), WEIR_UNSUPPORTED);
    names("computed from the input's numbers");
    cr_assert_eq(lower_list(&lowering, &node, 2, "axes", &list, &err), WEIR_INVALID);
    facts[1].known = numbers;
    facts[1].shape = (struct tensor_shape){2, {1, 3}};
    cr_assert_eq(lower_list(&lowering, &node, 1, "axes", &list, &err), WEIR_UNSUPPORTED);
}

Test(lower, a_scalar_is_read_whatever_its_type_and_stays_where_it_is_omitted) {
    double value = 7;
    cr_assert_eq(lower_scalar(&lowering, &node, 3, &value, &err), WEIR_OK);
    cr_assert_eq(value, 7);
    cr_assert_eq(lower_scalar(&lowering, &node, 2, &value, &err), WEIR_OK);
    cr_assert_eq(value, 2.5);
    cr_assert_eq(lower_scalar(&lowering, &node, 1, &value, &err), WEIR_INVALID);
    facts[1].elements = 1;
    facts[1].shape = (struct tensor_shape){1, {1}};
    cr_assert_eq(lower_scalar(&lowering, &node, 1, &value, &err), WEIR_OK);
    cr_assert_eq(value, 4);
    cr_assert_eq(value, 4);
}

Test(lower, an_output_gets_type_shape_and_buffer) {
    cr_assert_eq(lower_define(&lowering, &node, 0, TENSOR_I32, &(struct tensor_shape){2, {4, 5}}, &err), WEIR_OK);
    cr_assert(facts[3].defined && facts[3].dtype == TENSOR_I32 && facts[3].elements == 20 && !facts[3].known);
    cr_assert_eq(lower_output_buffer(&lowering, &node, 0), facts[3].buffer);
    cr_assert_eq(program.buffers[facts[3].buffer].bytes, 80);
    cr_assert_eq(lower_define(&lowering, &node, 5, TENSOR_I32, &facts[3].shape, &err), WEIR_OK);
    cr_assert_eq(lower_output_buffer(&lowering, &node, 5), -1);
}

Test(lower, impossible_shapes_are_refused_with_their_place) {
    cr_assert_eq(lower_define(&lowering, &node, 0, TENSOR_F32, &(struct tensor_shape){2, {4, -5}}, &err), WEIR_INVALID);
    names("dimension 1");
    names("-5");
    cr_assert_eq(lower_define(&lowering, &node, 0, TENSOR_F32, &(struct tensor_shape){2, {1 << 20, 1 << 20}}, &err),
                 WEIR_TOO_LARGE);
    names("[1048576,1048576]");
    cr_assert_eq(
        lower_define(&lowering, &node, 0, TENSOR_F32, &(struct tensor_shape){3, {INT64_MAX, INT64_MAX, 2}}, &err),
        WEIR_TOO_LARGE);
    cr_assert(!facts[3].defined);
}

Test(lower, an_alias_is_a_shape_and_no_step) {
    cr_assert_eq(lower_alias(&lowering, &node, 0, 0, &(struct tensor_shape){1, {6}}, &err), WEIR_OK);
    cr_assert_eq(program.step_count, 0);
    cr_assert_eq(program_root(&program, facts[3].buffer), facts[0].buffer);
    cr_assert_eq(lower_alias(&lowering, &node, 0, 0, &(struct tensor_shape){1, {7}}, &err), WEIR_INVALID);
    names("[2,3]");
    names("[7]");
}

Test(lower, an_alias_of_what_is_known_is_known) {
    cr_assert_eq(lower_alias(&lowering, &node, 0, 1, &(struct tensor_shape){2, {3, 1}}, &err), WEIR_OK);
    cr_assert(facts[3].known && facts[3].shape.rank == 2 && ((const int64_t *)facts[3].known)[2] == 6);
}

Test(lower, a_known_output_is_filled_by_the_operator) {
    void *bytes;
    cr_assert_eq(lower_known(&lowering, &node, 0, TENSOR_I64, &(struct tensor_shape){1, {2}}, &bytes, &err), WEIR_OK);
    ((int64_t *)bytes)[1] = 9;
    cr_assert(facts[3].known == bytes && facts[3].constant->bytes == bytes && ((int64_t *)bytes)[0] == 0);
    inputs[0] = 3; /* read by the next node: it becomes a constant of the program */
    int buffer;
    cr_assert_eq(lower_input_buffer(&lowering, &node, 0, &buffer, &err), WEIR_OK);
    cr_assert(program.buffers[buffer].place == PROGRAM_CONSTANT &&
              program.buffers[buffer].constant == facts[3].constant);
    int again;
    cr_assert_eq(lower_input_buffer(&lowering, &node, 0, &again, &err), WEIR_OK);
    cr_assert_eq(again, buffer);
}

Test(lower, a_step_has_all_inputs_and_outputs_in_order) {
    struct operation operation = {.kind = OPERATION_TOPK, .topk = {.axis = 1}};
    cr_assert_eq(lower_define(&lowering, &node, 0, TENSOR_F32, &(struct tensor_shape){1, {6}}, &err), WEIR_OK);
    cr_assert_eq(lower_define(&lowering, &node, 1, TENSOR_I64, &(struct tensor_shape){1, {6}}, &err), WEIR_OK);
    cr_assert_eq(lower_step(&lowering, &node, &operation, &err), WEIR_OK);
    const struct program_step *step = &program.steps[0];
    cr_assert(program.step_count == 1 && step->operation.topk.axis == 1 && step->node == 5);
    cr_assert(step->input_count == 4 && step->inputs[0] == facts[0].buffer && step->inputs[3] == -1);
    cr_assert(step->output_count == 2 && step->outputs[1] == facts[4].buffer);
}
