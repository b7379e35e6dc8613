#include "engine/graph/inline.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/liveness.h"
#include "engine/graph/onnx_reader.h"
#include "tests/fakes/model_run.h"
#include "tests/fakes/onnx_branch.h"

static struct onnx_model model, yes, no;
static struct graph *graph;
static struct weir_error err;
static bool changed;
static const float x[4] = {-1, 2, -3, 4};

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(inline_branches, .fini = destroy);

static void add(struct onnx_model *to, const char *op, const char *inputs, const char *outputs) {
    onnx_add_node(to, (struct onnx_node){op, inputs, outputs, NULL, NULL, NULL});
}

static void add_flag(struct onnx_model *to, const char *name, bool value) {
    onnx_add_tensor(to, name, 9, "", value ? "\1" : "\0", 1);
}

static void finish(void) {
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
}

static enum weir_status read(void) {
    finish();
    onnx_finish(&model, 13);
    graph = graph_create();
    if (onnx_reader_read(graph, model.file.data, model.file.size, -1, &err) != WEIR_OK)
        return err.status;
    return inline_branches(graph, &changed, &err);
}

/* A branch of one node. */
static void branch(struct onnx_model *to, const char *op, const char *inputs, const char *output) {
    onnx_begin(to);
    add(to, op, inputs, output);
    onnx_add_output(to, output, "N,4");
}

static const struct graph_node *last(void) {
    return &graph->nodes[graph->node_count - 1];
}

Test(inline_branches, the_branch_of_a_known_condition_takes_the_place_of_the_node) {
    branch(&yes, "Relu", "x", "t");
    branch(&no, "Tanh", "x", "t");
    add_flag(&model, "flag", false);
    onnx_branch_add_if(&model, "flag", "u", &yes.body, &no.body);
    add(&model, "Neg", "u", "y");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    cr_assert(changed && graph->node_count == 3);
    cr_assert_str_eq(graph->nodes[0].op, "Tanh");
    cr_assert_str_eq(graph->nodes[1].op, "Identity");
    cr_assert_str_eq(graph->nodes[2].op, "Neg");
    cr_assert_eq(graph->nodes[0].inputs[0], graph->inputs[0].value);
    cr_assert_eq(graph->values[last()->outputs[0]].producer, 2);
    cr_assert_eq(inline_branches(graph, &changed, &err), WEIR_OK);
    cr_assert_not(changed);
}

Test(inline_branches, names_of_a_branch_are_its_own) {
    static const float outside[4] = {1, 1, 1, 1}, inside[4] = {5, 5, 5, 5};
    onnx_begin(&yes); /* a name that is used outside, and an initializer of the same name as one outside */
    add(&yes, "Add", "x c", "u");
    onnx_add_floats(&yes, "c", "4", inside, 4);
    onnx_add_output(&yes, "u", "N,4");
    add_flag(&model, "flag", true);
    onnx_add_floats(&model, "c", "4", outside, 4);
    add(&model, "Add", "x c", "u");
    onnx_branch_add_if(&model, "flag", "v", &yes.body, &yes.body);
    add(&model, "Sub", "v u", "y");
    finish();
    float y[4];
    cr_assert_eq(model_run(&model, 13, x, 1, y, &err), WEIR_OK, "%s", err.text);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(y[i], 4.0f); /* x + 5 - (x + 1) */
}

Test(inline_branches, a_branch_may_be_an_outer_value) {
    onnx_begin(&yes);
    onnx_add_output(&yes, "x", "N,4");
    add_flag(&model, "flag", true);
    onnx_branch_add_if(&model, "flag", "y", &yes.body, &yes.body);
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    cr_assert(graph->node_count == 1 && last()->inputs[0] == graph->inputs[0].value);
}

Test(inline_branches, branches_within_branches_see_the_names_around_them) {
    branch(&no, "Neg", "t", "u"); /* t is a name of the branch around it */
    onnx_begin(&yes);
    add(&yes, "Relu", "x", "t");
    add_flag(&yes, "inner", true);
    onnx_branch_add_if(&yes, "inner", "v", &no.body, &no.body);
    onnx_add_output(&yes, "v", "N,4");
    add_flag(&model, "flag", true);
    onnx_branch_add_if(&model, "flag", "y", &yes.body, NULL);
    finish();
    float y[4];
    static const float expected[4] = {0, -2, 0, -4};
    cr_assert_eq(model_run(&model, 13, x, 1, y, &err), WEIR_OK, "%s", err.text);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(y[i], expected[i]);
}

Test(inline_branches, what_a_branch_reads_is_alive) {
    branch(&yes, "Neg", "t", "u");
    add_flag(&model, "flag", true);
    add(&model, "Relu", "x", "t");
    onnx_branch_add_if(&model, "flag", "y", &yes.body, &yes.body);
    finish();
    onnx_finish(&model, 13);
    graph = graph_create();
    cr_assert_eq(onnx_reader_read(graph, model.file.data, model.file.size, -1, &err), WEIR_OK, "%s", err.text);
    cr_assert(graph->nodes[1].input_count == 2 && graph->nodes[1].inputs[1] == graph->nodes[0].outputs[0]);
    cr_assert_eq(liveness_mark(graph, &err), WEIR_OK);
    cr_assert_not(graph->nodes[0].dead);
}

Test(inline_branches, a_condition_that_is_folded_is_known) {
    static const float numbers[2] = {1, 2};
    branch(&yes, "Neg", "x", "t");
    onnx_add_floats(&model, "a", "", numbers, 1);
    onnx_add_floats(&model, "b", "", numbers + 1, 1);
    add(&model, "Less", "a b", "flag");
    onnx_branch_add_if(&model, "flag", "y", &yes.body, NULL);
    finish();
    float y[4];
    cr_assert_eq(model_run(&model, 13, x, 1, y, &err), WEIR_OK, "%s", err.text);
    cr_assert(y[0] == 1.0f && y[3] == -4.0f);
}

Test(inline_branches, a_condition_from_the_input_is_not_supported) {
    branch(&yes, "Neg", "x", "t");
    add(&model, "IsNaN", "x", "flag");
    onnx_branch_add_if(&model, "flag", "y", &yes.body, &yes.body);
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "'choice' (If"));
}

Test(inline_branches, a_node_that_is_dead_needs_no_condition) {
    branch(&yes, "Neg", "x", "t");
    add(&model, "IsNaN", "x", "flag");
    onnx_branch_add_if(&model, "flag", "u", &yes.body, &yes.body);
    add(&model, "Neg", "x", "y");
    finish();
    float y[4];
    cr_assert_eq(model_run(&model, 13, x, 1, y, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(y[0], 1.0f);
}

Test(inline_branches, a_branch_that_is_missing_or_gives_too_little_is_refused) {
    onnx_begin(&yes);
    add_flag(&model, "flag", true);
    onnx_branch_add_if(&model, "flag", "y", NULL, NULL);
    cr_assert_eq(read(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "then_branch"));
    graph_destroy(graph);
    onnx_begin(&model);
    add_flag(&model, "flag", true);
    onnx_branch_add_if(&model, "flag", "y", &yes.body, NULL);
    cr_assert_eq(read(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "0 outputs"));
}

Test(inline_branches, a_branch_that_hangs_in_the_air_is_refused) {
    branch(&yes, "Neg", "ghost", "t");
    add_flag(&model, "flag", true);
    onnx_branch_add_if(&model, "flag", "y", &yes.body, NULL);
    cr_assert_eq(read(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "'ghost'"));
}

Test(inline_branches, every_cut_and_changed_byte_of_a_branch_is_survived) {
    branch(&no, "Neg", "t", "u");
    onnx_begin(&yes);
    add(&yes, "Relu", "x", "t");
    add_flag(&yes, "inner", true);
    onnx_branch_add_if(&yes, "inner", "v", &no.body, &no.body);
    onnx_add_output(&yes, "v", "N,4");
    add_flag(&model, "flag", true);
    onnx_branch_add_if(&model, "flag", "y", &yes.body, NULL);
    finish();
    onnx_finish(&model, 13);
    for (size_t i = 0; i < model.file.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            model.file.data[i] ^= (unsigned char)(1 << bit);
            graph = graph_create();
            if (onnx_reader_read(graph, model.file.data, model.file.size, -1, &err) == WEIR_OK)
                for (changed = true; changed;) {
                    changed = false;
                    (void)!inline_branches(graph, &changed, &err);
                }
            graph_destroy(graph);
            model.file.data[i] ^= (unsigned char)(1 << bit);
        }
    graph = NULL;
}
