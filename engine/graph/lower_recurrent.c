/* Lowering of RNN, GRU and LSTM: the table lower_recurrent_family. */
#include <string.h>
#include <strings.h>

#include "engine/graph/node.h"
#include "engine/graph/operators.h"

enum { INPUT_X, INPUT_W, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_H, INPUT_C, INPUT_P, INPUT_COUNT };
enum { OUTPUT_COUNT = 3 };

/* What the activations take, with the values they have without attributes. */
static const struct {
    const char *name;
    enum unary_kind kind;
    bool takes_alpha, takes_beta;
    float alpha, beta;
} functions[] = {
    {"Sigmoid", UNARY_SIGMOID, false, false, 0, 0},
    {"Tanh", UNARY_TANH, false, false, 0, 0},
    {"Relu", UNARY_RELU, false, false, 0, 0},
    {"Affine", UNARY_SCALE, true, true, 1, 0},
    {"LeakyRelu", UNARY_LEAKY_RELU, true, false, 0.01f, 0},
    {"ThresholdedRelu", UNARY_THRESHOLDED_RELU, true, false, 1, 0},
    {"HardSigmoid", UNARY_HARD_SIGMOID, true, true, 0.2f, 0.5f},
    {"Elu", UNARY_ELU, true, false, 1, 0},
    {"Softsign", UNARY_SOFTSIGN, false, false, 0, 0},
    {"Softplus", UNARY_SOFTPLUS, false, false, 0, 0},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static int function_count(enum recurrent_kind kind) {
    return kind == RECURRENT_LSTM ? 3 : kind == RECURRENT_GRU ? 2 : 1;
}

static int64_t gate_count(enum recurrent_kind kind) {
    return kind == RECURRENT_LSTM ? 4 : kind == RECURRENT_GRU ? 3 : 1;
}

/* An attribute that must be a list of that type if it is there. */
static enum weir_status read_list(const struct graph *graph, const struct graph_node *node, const char *name,
                                  enum graph_attribute_type type, const struct graph_attribute **out,
                                  struct weir_error *err) {
    *out = graph_attribute(node, name);
    if (*out && (*out)->type != (int)type)
        return node_fail(graph, node, err, WEIR_INVALID, "attribute %s has the wrong type (%d, not %d)", name,
                         (*out)->type, (int)type);
    return WEIR_OK;
}

/* Alphas and betas belong, in order, to the activations that take one. */
static enum weir_status read_functions(const struct graph *graph, const struct graph_node *node,
                                       struct recurrent *recurrent, struct weir_error *err) {
    const struct graph_attribute *names, *alphas, *betas;
    int each = function_count(recurrent->kind), count = each * recurrent->directions;
    size_t alpha = 0, beta = 0;
    if (read_list(graph, node, "activations", GRAPH_ATTRIBUTE_STRINGS, &names, err) != WEIR_OK ||
        read_list(graph, node, "activation_alpha", GRAPH_ATTRIBUTE_FLOATS, &alphas, err) != WEIR_OK ||
        read_list(graph, node, "activation_beta", GRAPH_ATTRIBUTE_FLOATS, &betas, err) != WEIR_OK)
        return err->status;
    if (names && names->item_count != (size_t)count)
        return node_fail(graph, node, err, WEIR_INVALID, "%zu activations, not %d", names->item_count, count);
    for (int i = 0; i < count; i++) {
        bool sigmoid = i % each == 0 && recurrent->kind != RECURRENT_RNN;
        const char *name = names ? names->texts[i] : sigmoid ? "Sigmoid" : "Tanh";
        int f = 0;
        while (f < FUNCTION_COUNT && strcasecmp(functions[f].name, name) != 0)
            f++;
        if (f == FUNCTION_COUNT)
            return node_fail(graph, node, err, WEIR_UNSUPPORTED,
                             "activation '%.32s'; supported: Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, "
                             "HardSigmoid, Elu, Softsign, Softplus",
                             name);
        struct unary *unary = &recurrent->functions[i / each][i % each];
        *unary = (struct unary){functions[f].kind, functions[f].alpha, functions[f].beta};
        if (functions[f].takes_alpha && alphas && alpha < alphas->item_count)
            unary->a = alphas->floats[alpha++];
        if (functions[f].takes_beta && betas && beta < betas->item_count)
            unary->b = betas->floats[beta++];
    }
    return WEIR_OK;
}

static enum weir_status read_attributes(const struct graph *graph, const struct graph_node *node,
                                        struct recurrent *recurrent, struct weir_error *err) {
    static const char *const words[] = {"forward", "reverse", "bidirectional", NULL};
    int64_t layout = 0, linear = 0, input_forget = 0;
    int direction = 0;
    recurrent->kind = strcmp(node->op, "LSTM") == 0  ? RECURRENT_LSTM
                      : strcmp(node->op, "GRU") == 0 ? RECURRENT_GRU
                                                     : RECURRENT_RNN;
    if (node_word(graph, node, "direction", words, &direction, err) != WEIR_OK ||
        node_int(graph, node, "layout", &layout, err) != WEIR_OK ||
        node_int(graph, node, "linear_before_reset", &linear, err) != WEIR_OK ||
        node_int(graph, node, "input_forget", &input_forget, err) != WEIR_OK ||
        node_float(graph, node, "clip", &recurrent->clip, err) != WEIR_OK)
        return err->status;
    recurrent->reverse_first = direction == 1;
    recurrent->directions = direction == 2 ? 2 : 1;
    recurrent->batch_first = layout != 0;
    recurrent->linear_before_reset = linear != 0;
    recurrent->input_forget = input_forget != 0;
    return read_functions(graph, node, recurrent, err);
}

/* Needs an input of that type and shape, if it is there. */
static enum weir_status check_input(struct lowering *lowering, const struct graph_node *node, int input,
                                    enum tensor_dtype dtype, const struct tensor_shape *shape, struct weir_error *err) {
    char is[96], wanted[96];
    const struct fact *fact = lower_input(lowering, node, input);
    if (!fact)
        return WEIR_OK;
    if (fact->dtype != dtype)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d is %s, not %s", input,
                         tensor_dtype_text(fact->dtype), tensor_dtype_text(dtype));
    if (!shapes_equal(&fact->shape, shape))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d is %s, not %s", input,
                         tensor_shape_text(&fact->shape, is, sizeof is),
                         tensor_shape_text(shape, wanted, sizeof wanted));
    return WEIR_OK;
}

static struct tensor_shape shape_of(int rank, int64_t a, int64_t b, int64_t c) {
    return (struct tensor_shape){rank, {a, b, c}};
}

struct recurrent_sizes {
    int64_t steps, batch, in, hidden;
};

static enum weir_status check_inputs(struct lowering *lowering, const struct graph_node *node,
                                     const struct recurrent *recurrent, struct recurrent_sizes *sizes,
                                     struct weir_error *err) {
    const struct fact *x, *w, *r;
    int64_t directions = recurrent->directions, wanted;
    if (lower_need_float(lowering, node, INPUT_X, &x, err) != WEIR_OK ||
        lower_need_float(lowering, node, INPUT_W, &w, err) != WEIR_OK ||
        lower_need_float(lowering, node, INPUT_R, &r, err) != WEIR_OK)
        return err->status;
    if (x->shape.rank != 3 || w->shape.rank != 3 || r->shape.rank != 3)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "X, W and R do not all have 3 dimensions");
    *sizes = (struct recurrent_sizes){x->shape.dims[recurrent->batch_first], x->shape.dims[!recurrent->batch_first],
                                      x->shape.dims[2], r->shape.dims[2]};
    wanted = sizes->hidden;
    if (node_int(lowering->graph, node, "hidden_size", &wanted, err) != WEIR_OK)
        return err->status;
    if (wanted != sizes->hidden || wanted == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "hidden_size is %lld, R has %lld", (long long)wanted,
                         (long long)sizes->hidden);
    int64_t gates = gate_count(recurrent->kind) * sizes->hidden;
    bool first = recurrent->batch_first;
    struct tensor_shape state =
        shape_of(3, first ? sizes->batch : directions, first ? directions : sizes->batch, sizes->hidden);
    const struct {
        int input;
        enum tensor_dtype dtype;
        struct tensor_shape shape;
    } expected[] = {{INPUT_W, TENSOR_F32, shape_of(3, directions, gates, sizes->in)},
                    {INPUT_R, TENSOR_F32, shape_of(3, directions, gates, sizes->hidden)},
                    {INPUT_B, TENSOR_F32, shape_of(2, directions, 2 * gates, 0)},
                    {INPUT_LENGTHS, TENSOR_I32, shape_of(1, sizes->batch, 0, 0)},
                    {INPUT_H, TENSOR_F32, state},
                    {INPUT_C, TENSOR_F32, state},
                    {INPUT_P, TENSOR_F32, shape_of(2, directions, 3 * sizes->hidden, 0)}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (check_input(lowering, node, expected[i].input, expected[i].dtype, &expected[i].shape, err) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}

static enum weir_status lower_cells(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_RECURRENT};
    struct recurrent *recurrent = &operation.recurrent;
    struct recurrent_sizes sizes = {0};
    int inputs[INPUT_COUNT], outputs[OUTPUT_COUNT];
    if (read_attributes(lowering->graph, node, recurrent, err) != WEIR_OK ||
        check_inputs(lowering, node, recurrent, &sizes, err) != WEIR_OK)
        return err->status;
    bool first = recurrent->batch_first;
    int64_t directions = recurrent->directions;
    struct tensor_shape y = {4, {sizes.steps, directions, sizes.batch, sizes.hidden}};
    if (first)
        y = (struct tensor_shape){4, {sizes.batch, sizes.steps, directions, sizes.hidden}};
    struct tensor_shape state =
        shape_of(3, first ? sizes.batch : directions, first ? directions : sizes.batch, sizes.hidden);
    for (int i = 0; i < INPUT_COUNT; i++)
        if (lower_input_buffer(lowering, node, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    for (int i = 0; i < OUTPUT_COUNT; i++) {
        if (lower_define(lowering, node, i, TENSOR_F32, i == 0 ? &y : &state, err) != WEIR_OK)
            return err->status;
        outputs[i] = lower_output_buffer(lowering, node, i);
    }
    struct lower_wires wires = {inputs, outputs, INPUT_COUNT, OUTPUT_COUNT};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static const struct operator_entry entries[] = {
    {"GRU",
     " activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset "
     "output_sequence ",
     3, 6, 2, lower_cells},
    {"LSTM",
     " activation_alpha activation_beta activations clip direction hidden_size input_forget layout output_sequence ", 3,
     8, 3, lower_cells},
    {"RNN", " activation_alpha activation_beta activations clip direction hidden_size layout output_sequence ", 3, 6, 2,
     lower_cells},
};

const struct operator_family lower_recurrent_family = {entries, sizeof entries / sizeof entries[0]};
