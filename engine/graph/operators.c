#include "engine/graph/operators.h"

#include <string.h>

#include "engine/graph/node.h"

static const struct operator_family *const families[] = {
    &lower_elementwise_family, &lower_layout_family,    &lower_move_family,   &lower_make_family,
    &lower_reduce_family,      &lower_norm_family,      &lower_matrix_family, &lower_window_family,
    &lower_quantize_family,    &lower_recurrent_family,
};

/* Why some of ONNX's own operators cannot be served. */
static const struct {
    const char *name;
    const char *why;
} refusals[] = {
    {"Loop", "control flow with a computed end is not supported"},
    {"Scan", "control flow with a computed end is not supported"},
    {"NonMaxSuppression", "its output's size depends on the numbers, not on the shapes"},
    {"Unique", "its output's size depends on the numbers, not on the shapes"},
    {"Compress", "its output's size depends on the numbers, not on the shapes"},
    {"RandomNormal", "its results differ from run to run"},
    {"RandomNormalLike", "its results differ from run to run"},
    {"RandomUniform", "its results differ from run to run"},
    {"RandomUniformLike", "its results differ from run to run"},
    {"Multinomial", "its results differ from run to run"},
    {"Bernoulli", "its results differ from run to run"},
    {"SequenceAt", "sequences are not supported"},
    {"SequenceConstruct", "sequences are not supported"},
    {"SplitToSequence", "sequences are not supported"},
    {"ConcatFromSequence", "sequences are not supported"},
    {"StringNormalizer", "strings are not supported"},
    {"TfIdfVectorizer", "strings are not supported"},
};

/* Operators that meant the same before opset 7, from the given one on; others changed (most by how they broadcast).
 * Attributes that only the old form had are unknown to the tables, so that a node which uses them is refused. Source:
 * ONNX, docs/Changelog.md. */
static const struct {
    const char *name;
    int since;
} old_forms[] = {
    {"Abs", 6},
    {"Add", 6},
    {"And", 1},
    {"ArgMax", 1},
    {"ArgMin", 1},
    {"AveragePool", 1},
    {"BatchNormalization", 6},
    {"Cast", 6},
    {"Ceil", 6},
    {"Clip", 6},
    {"Concat", 4},
    {"Constant", 1},
    {"Conv", 1},
    {"ConvTranspose", 1},
    {"DepthToSpace", 1},
    {"Div", 6},
    {"Dropout", 6},
    {"Elu", 6},
    {"Exp", 6},
    {"Flatten", 1},
    {"Floor", 6},
    {"Gather", 1},
    {"Gemm", 6},
    {"GlobalAveragePool", 1},
    {"GlobalMaxPool", 1},
    {"HardSigmoid", 6},
    {"Hardmax", 1},
    {"Identity", 1},
    {"InstanceNormalization", 6},
    {"LRN", 1},
    {"LeakyRelu", 6},
    {"Log", 6},
    {"LogSoftmax", 1},
    {"LpNormalization", 1},
    {"MatMul", 1},
    {"MaxPool", 1},
    {"Mul", 6},
    {"Neg", 6},
    {"Not", 1},
    {"Pad", 2},
    {"Reciprocal", 6},
    {"ReduceL1", 1},
    {"ReduceL2", 1},
    {"ReduceLogSum", 1},
    {"ReduceLogSumExp", 1},
    {"ReduceMax", 1},
    {"ReduceMean", 1},
    {"ReduceMin", 1},
    {"ReduceProd", 1},
    {"ReduceSum", 1},
    {"ReduceSumSquare", 1},
    {"Relu", 6},
    {"Reshape", 5},
    {"Selu", 6},
    {"Shape", 1},
    {"Sigmoid", 6},
    {"Size", 1},
    {"Slice", 1},
    {"Softmax", 1},
    {"Softplus", 1},
    {"Softsign", 1},
    {"SpaceToDepth", 1},
    {"Split", 2},
    {"Sqrt", 6},
    {"Squeeze", 1},
    {"Sub", 6},
    {"Sum", 6},
    {"Tanh", 6},
    {"Tile", 6},
    {"Transpose", 1},
    {"Unsqueeze", 1},
    {"Xor", 1},
    {"Or", 1},
    {"PRelu", 6},
    {"Max", 6},
    {"Min", 6},
    {"Mean", 6},
    {"Equal", 1},
    {"Greater", 1},
    {"Less", 1},
    {"Pow", 1},
};

/* Attributes of the old forms. "is_test" must say that this is no training. */
static const struct {
    const char *operators, *attributes; /* between blanks */
} old_attributes[] = {
    {" Add And Div Equal Greater Less Mul Or Pow Sub Xor ", " broadcast axis "},
    {" Gemm ", " broadcast "},
    {" BatchNormalization Dropout ", " is_test "},
};

static bool known_before_opset_7(const char *name, int64_t opset) {
    for (size_t i = 0; i < sizeof old_forms / sizeof old_forms[0]; i++)
        if (strcmp(old_forms[i].name, name) == 0)
            return opset >= old_forms[i].since;
    return false;
}

static const struct operator_entry *find(const char *name) {
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (size_t i = 0; i < families[f]->count; i++)
            if (strcmp(families[f]->entries[i].name, name) == 0)
                return &families[f]->entries[i];
    return NULL;
}

const char *operators_name(size_t index) {
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        if (index < families[f]->count)
            return families[f]->entries[index].name;
        index -= families[f]->count;
    }
    return NULL;
}

static enum weir_status refuse(const struct graph *graph, const struct graph_node *node, struct weir_error *err) {
    for (size_t i = 0; node->domain[0] == 0 && i < sizeof refusals / sizeof refusals[0]; i++)
        if (strcmp(refusals[i].name, node->op) == 0)
            return node_fail(graph, node, err, WEIR_UNSUPPORTED, "this operator is not supported: %s", refusals[i].why);
    return node_fail(graph, node, err, WEIR_UNSUPPORTED, "this operator is not supported%s",
                     node->domain[0] ? "; supported: operators of ai.onnx" : "");
}

/* Is name a word of the blank-separated list? */
static bool listed(const char *list, const char *name) {
    size_t size = strlen(name);
    for (const char *at = strstr(list, name); at && size > 0; at = strstr(at + 1, name))
        if (at > list && at[-1] == ' ' && at[size] == ' ')
            return true;
    return false;
}

static bool is_old_attribute(const struct graph *graph, const struct graph_node *node, const char *name) {
    for (size_t i = 0; graph->opset < 7 && i < sizeof old_attributes / sizeof old_attributes[0]; i++)
        if (listed(old_attributes[i].operators, node->op) && listed(old_attributes[i].attributes, name))
            return true;
    return false;
}

static enum weir_status check_attributes(const struct graph *graph, const struct graph_node *node,
                                         const char *attributes, struct weir_error *err) {
    int64_t is_test = 0;
    for (int i = 0; i < node->attribute_count; i++)
        if (!listed(attributes, node->attributes[i].name) && !is_old_attribute(graph, node, node->attributes[i].name))
            return node_fail(graph, node, err, WEIR_UNSUPPORTED, "attribute '%.64s'; known:%s",
                             node->attributes[i].name, attributes);
    if (graph->opset >= 7 || !listed(old_attributes[2].operators, node->op))
        return WEIR_OK;
    if (node_int(graph, node, "is_test", &is_test, err) != WEIR_OK)
        return err->status;
    return is_test ? WEIR_OK
                   : node_fail(graph, node, err, WEIR_UNSUPPORTED, "it is in training mode; supported: is_test 1");
}

/* May a node of it leave out its first output, and yet have others? */
static bool does_without_first(const struct graph_node *node) {
    return listed(" GRU LSTM RNN Split TopK ", node->op);
}

enum weir_status operators_check(const struct graph *graph, const struct graph_node *node, struct weir_error *err) {
    const struct operator_entry *entry = node->domain[0] ? NULL : find(node->op);
    if (!entry)
        return refuse(graph, node, err);
    if (graph->opset < 7 && !known_before_opset_7(node->op, graph->opset))
        return node_fail(graph, node, err, WEIR_UNSUPPORTED, "this operator in its form before opset 7");
    if (node->input_count < entry->min_inputs || node->input_count > entry->max_inputs)
        return node_fail(graph, node, err, WEIR_INVALID, "%d inputs; it takes %d to %d", node->input_count,
                         entry->min_inputs, entry->max_inputs);
    if (node->output_count < 1 || (node->outputs[0] == GRAPH_NONE && !does_without_first(node)))
        return node_fail(graph, node, err, WEIR_INVALID, "its output is missing");
    if (node->output_count > entry->max_outputs)
        return node_fail(graph, node, err, WEIR_INVALID, "%d outputs; it has at most %d", node->output_count,
                         entry->max_outputs);
    return check_attributes(graph, node, entry->attributes, err);
}

enum weir_status operators_lower(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    return find(node->op)->lower(lowering, node, err);
}
