#include "engine/graph/operators.h"

#include <string.h>

#include "engine/graph/lower_dense.h"
#include "engine/graph/lower_elementwise.h"
#include "engine/graph/lower_layout.h"
#include "engine/graph/node.h"

struct operator_entry {
    const char *name;
    const char *attributes; /* the known ones, between blanks */
    int min_inputs, max_inputs;
    lower_function lower;
};

static const struct operator_entry operators[] = {
    {"Add", " ", 2, 2, lower_elementwise_arithmetic},
    {"BatchNormalization", " epsilon momentum spatial training_mode ", 5, 5, lower_elementwise_batch_normalization},
    {"Cast", " to saturate ", 1, 1, lower_layout_cast},
    {"Clip", " min max ", 1, 3, lower_elementwise_activation},
    {"Concat", " axis ", 1, GRAPH_MAX_NODE_VALUES, lower_layout_concat},
    {"Div", " ", 2, 2, lower_elementwise_arithmetic},
    {"Dropout", " ratio seed ", 1, 3, lower_layout_dropout},
    {"Flatten", " axis ", 1, 1, lower_layout_reshape},
    {"Gemm", " alpha beta transA transB ", 2, 3, lower_dense_gemm},
    {"Identity", " ", 1, 1, lower_layout_identity},
    {"LeakyRelu", " alpha ", 1, 1, lower_elementwise_activation},
    {"LogSoftmax", " axis ", 1, 1, lower_elementwise_softmax},
    {"MatMul", " ", 2, 2, lower_dense_matmul},
    {"Mul", " ", 2, 2, lower_elementwise_arithmetic},
    {"Relu", " ", 1, 1, lower_elementwise_activation},
    {"Reshape", " allowzero ", 2, 2, lower_layout_reshape},
    {"Sigmoid", " ", 1, 1, lower_elementwise_activation},
    {"Softmax", " axis ", 1, 1, lower_elementwise_softmax},
    {"Squeeze", " axes ", 1, 2, lower_layout_reshape},
    {"Sub", " ", 2, 2, lower_elementwise_arithmetic},
    {"Tanh", " ", 1, 1, lower_elementwise_activation},
    {"Transpose", " perm ", 1, 1, lower_layout_reshape},
    {"Unsqueeze", " axes ", 1, 2, lower_layout_reshape},
};

/* What an unsupported operator could be written as. */
static const struct {
    const char *name;
    const char *nearest;
} nearest_forms[] = {
    {"Conv", "Gemm or MatMul"},
    {"Einsum", "MatMul"},
    {"FusedGemm", "Gemm with an activation behind it"},
    {"FusedMatMul", "MatMul"},
    {"Elu", "LeakyRelu"},
    {"PRelu", "LeakyRelu"},
    {"Selu", "LeakyRelu"},
    {"Celu", "LeakyRelu"},
    {"ThresholdedRelu", "Relu"},
    {"HardSigmoid", "Mul, Add, Clip"},
    {"HardSwish", "Mul, Add, Clip"},
    {"Gelu", "Sigmoid or Tanh with Mul"},
    {"Softplus", "Relu"},
    {"Softsign", "Tanh"},
    {"Hardmax", "Softmax"},
    {"Min", "Clip"},
    {"Max", "Clip or Relu"},
    {"Sum", "Add"},
    {"Pow", "Mul"},
    {"Reciprocal", "Div"},
    {"Neg", "Mul by -1"},
    {"LayerNormalization", "BatchNormalization"},
    {"InstanceNormalization", "BatchNormalization"},
    {"ImageScaler", "Mul and Add"},
};

static const struct operator_entry *find(const char *name) {
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strcmp(operators[i].name, name) == 0)
            return &operators[i];
    return NULL;
}

static enum weir_status refuse(const struct graph *graph, const struct graph_node *node, struct weir_error *err) {
    for (size_t i = 0; node->domain[0] == 0 && i < sizeof nearest_forms / sizeof nearest_forms[0]; i++)
        if (strcmp(nearest_forms[i].name, node->op) == 0)
            return node_fail(graph, node, err, WEIR_UNSUPPORTED, "this operator is not supported; nearest: %s",
                             nearest_forms[i].nearest);
    return node_fail(graph, node, err, WEIR_UNSUPPORTED, "this operator is not supported%s",
                     node->domain[0] ? "; supported: operators of ai.onnx" : "");
}

static bool listed(const char *list, const char *name) {
    size_t size = strlen(name);
    for (const char *at = list; size > 0 && (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[size] == ' ')
            return true;
    return false;
}

enum weir_status operators_check(const struct graph *graph, const struct graph_node *node, struct weir_error *err) {
    const struct operator_entry *entry = node->domain[0] ? NULL : find(node->op);
    if (!entry)
        return refuse(graph, node, err);
    if (node->input_count < entry->min_inputs || node->input_count > entry->max_inputs)
        return node_fail(graph, node, err, WEIR_INVALID, "%d inputs; it takes %d to %d", node->input_count,
                         entry->min_inputs, entry->max_inputs);
    if (!node_output(graph, node, 0))
        return node_fail(graph, node, err, WEIR_INVALID, "its output is missing");
    for (int i = 0; i < node->attribute_count; i++)
        if (!listed(entry->attributes, node->attributes[i].name))
            return node_fail(graph, node, err, WEIR_UNSUPPORTED, "attribute '%.64s'; known:%s",
                             node->attributes[i].name, entry->attributes);
    return WEIR_OK;
}

enum weir_status operators_lower(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    return find(node->op)->lower(lowering, node, err);
}
