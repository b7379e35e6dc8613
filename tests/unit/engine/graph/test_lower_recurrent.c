#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[6] = {1, 2, 3, 4, 5, 6}, ones[32] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const int32_t lengths[1] = {2};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_recurrent, .fini = end);

/* x [3,1,2]; w and r are ones; the hidden size is 1. */
static void begin(const char *op, int64_t directions, int64_t gates) {
    one_node_begin(&one, op, 14);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {3, 1, 2}}, x, false);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {directions, gates, 2}}, ones, false);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {directions, gates, 1}}, ones, false);
}

static void add_list(const char *name, int type, const void *items, size_t count) {
    struct graph_attribute *attribute = &one.attributes[one.node.attribute_count++];
    *attribute = (struct graph_attribute){.name = name, .type = type, .item_count = count};
    if (type == GRAPH_ATTRIBUTE_STRINGS)
        attribute->texts = items;
    else
        attribute->floats = items;
}

static enum weir_status lower(int outputs) {
    return one_node_lower(&one, &lower_recurrent_family, outputs, &err);
}

static const struct recurrent *made(int outputs) {
    cr_assert_eq(lower(outputs), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.step_count, 1);
    return &one.program.steps[0].operation.recurrent;
}

static void refuses(enum weir_status status, const char *what) {
    cr_assert_eq(lower(1), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

static void assert_shape(int output, const char *expected) {
    char text[96];
    tensor_shape_text(&one_node_fact(&one, output)->shape, text, sizeof text);
    cr_assert_str_eq(text, expected);
}

Test(lower_recurrent, an_rnn_runs_with_its_own_activation) {
    static const char *const names[1] = {"relu"};
    begin("RNN", 1, 1);
    add_list("activations", GRAPH_ATTRIBUTE_STRINGS, names, 1);
    made(2);
    const float *y = one_node_output(&one, 0), *h = one_node_output(&one, 1);
    cr_assert(y[0] == 3 && y[1] == 10 && y[2] == 21 && h[0] == 21);
    assert_shape(0, "[3,1,1,1]");
    assert_shape(1, "[1,1,1]");
}

Test(lower_recurrent, the_usual_activations_are_sigmoid_and_tanh) {
    begin("LSTM", 2, 4);
    one_node_text(&one, "direction", "bidirectional");
    one_node_int(&one, "hidden_size", 1);
    const struct recurrent *recurrent = made(3);
    cr_assert(recurrent->kind == RECURRENT_LSTM && recurrent->directions == 2 && !recurrent->reverse_first);
    cr_assert(recurrent->functions[1][0].kind == UNARY_SIGMOID && recurrent->functions[1][2].kind == UNARY_TANH);
    assert_shape(0, "[3,2,1,1]");
    assert_shape(2, "[2,1,1]");
    begin("GRU", 1, 3);
    one_node_text(&one, "direction", "reverse");
    one_node_int(&one, "linear_before_reset", 1);
    one_node_float(&one, "clip", 3);
    recurrent = made(1);
    cr_assert(recurrent->kind == RECURRENT_GRU && recurrent->reverse_first && recurrent->linear_before_reset);
    cr_assert(recurrent->clip == 3 && recurrent->functions[0][1].kind == UNARY_TANH);
}

Test(lower_recurrent, alphas_and_betas_go_to_the_activations_that_take_them) {
    static const char *const names[3] = {"Sigmoid", "HardSigmoid", "LeakyRelu"};
    static const float alphas[2] = {0.5f, 0.25f}, betas[1] = {0.125f};
    begin("LSTM", 1, 4);
    add_list("activations", GRAPH_ATTRIBUTE_STRINGS, names, 3);
    add_list("activation_alpha", GRAPH_ATTRIBUTE_FLOATS, alphas, 2);
    add_list("activation_beta", GRAPH_ATTRIBUTE_FLOATS, betas, 1);
    const struct unary *functions = made(1)->functions[0];
    cr_assert(functions[1].kind == UNARY_HARD_SIGMOID && functions[1].a == 0.5f && functions[1].b == 0.125f);
    cr_assert(functions[2].kind == UNARY_LEAKY_RELU && functions[2].a == 0.25f);
    begin("LSTM", 1, 4);
    add_list("activations", GRAPH_ATTRIBUTE_STRINGS, names, 3);
    functions = made(1)->functions[0];
    cr_assert(functions[1].a == 0.2f && functions[1].b == 0.5f && functions[2].a == 0.01f);
}

Test(lower_recurrent, activations_that_are_unknown_or_too_few_are_named) {
    static const char *const names[3] = {"Sigmoid", "ScaledTanh", "Tanh"};
    begin("LSTM", 1, 4);
    add_list("activations", GRAPH_ATTRIBUTE_STRINGS, names, 3);
    refuses(WEIR_UNSUPPORTED, "'ScaledTanh'; supported: Sigmoid");
    begin("LSTM", 1, 4);
    add_list("activations", GRAPH_ATTRIBUTE_STRINGS, names, 2);
    refuses(WEIR_INVALID, "2 activations, not 3");
    begin("LSTM", 1, 4);
    add_list("activations", GRAPH_ATTRIBUTE_FLOATS, ones, 2);
    refuses(WEIR_INVALID, "wrong type");
}

Test(lower_recurrent, lengths_states_and_layout_have_their_places) {
    begin("RNN", 1, 1);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_I32, (struct tensor_shape){1, {1}}, lengths, false);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {1, 1, 1}}, ones, false);
    made(2);
    const float *y = one_node_output(&one, 0), *h = one_node_output(&one, 1);
    cr_assert(y[2] == 0 && h[0] == y[1] && fabsf(y[0] - tanhf(4)) < 1e-6f);
    one_node_begin(&one, "RNN", 14);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {1, 3, 2}}, x, false);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {1, 1, 2}}, ones, false);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){3, {1, 1, 1}}, ones, false);
    one_node_int(&one, "layout", 1);
    cr_assert(made(2)->batch_first);
    assert_shape(0, "[1,3,1,1]");
}

Test(lower_recurrent, shapes_that_do_not_fit_are_named) {
    begin("LSTM", 1, 3);
    refuses(WEIR_INVALID, "input 1 is [1,3,2], not [1,4,2]");
    begin("GRU", 1, 3);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {1, 3}}, ones, false);
    refuses(WEIR_INVALID, "input 3 is [1,3], not [1,6]");
    begin("GRU", 1, 3);
    one_node_int(&one, "hidden_size", 2);
    refuses(WEIR_INVALID, "hidden_size is 2");
    begin("GRU", 1, 3);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {1}}, ones, false);
    refuses(WEIR_INVALID, "input 4 is float32, not int32");
    begin("GRU", 1, 3);
    one_node_text(&one, "direction", "sideways");
    refuses(WEIR_UNSUPPORTED, "sideways");
}
