#include "engine/graph/lower_elementwise.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/lower_arithmetic.h"
#include "engine/graph/lower_convert.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"

enum takes { FLOATS, NUMBERS, BOOLS };

struct function {
    const char *op;
    enum unary_kind kind;
    enum takes takes;
    float a, b; /* where the attributes are absent */
    const char *a_attribute, *b_attribute;
};

/* Sorted by op. Defaults: ONNX, docs/Operators.md. */
static const struct function functions[] = {
    {"Abs", UNARY_ABSOLUTE, NUMBERS, 0, 0, NULL, NULL},
    {"Acos", UNARY_ACOS, FLOATS, 0, 0, NULL, NULL},
    {"Acosh", UNARY_ACOSH, FLOATS, 0, 0, NULL, NULL},
    {"Asin", UNARY_ASIN, FLOATS, 0, 0, NULL, NULL},
    {"Asinh", UNARY_ASINH, FLOATS, 0, 0, NULL, NULL},
    {"Atan", UNARY_ATAN, FLOATS, 0, 0, NULL, NULL},
    {"Atanh", UNARY_ATANH, FLOATS, 0, 0, NULL, NULL},
    {"Ceil", UNARY_CEIL, FLOATS, 0, 0, NULL, NULL},
    {"Celu", UNARY_CELU, FLOATS, 1, 0, "alpha", NULL},
    {"Cos", UNARY_COS, FLOATS, 0, 0, NULL, NULL},
    {"Cosh", UNARY_COSH, FLOATS, 0, 0, NULL, NULL},
    {"Elu", UNARY_ELU, FLOATS, 1, 0, "alpha", NULL},
    {"Erf", UNARY_ERF, FLOATS, 0, 0, NULL, NULL},
    {"Exp", UNARY_EXP, FLOATS, 0, 0, NULL, NULL},
    {"Floor", UNARY_FLOOR, FLOATS, 0, 0, NULL, NULL},
    {"Gelu", UNARY_GELU_ERF, FLOATS, 0, 0, NULL, NULL},
    {"HardSigmoid", UNARY_HARD_SIGMOID, FLOATS, 0.2f, 0.5f, "alpha", "beta"},
    {"HardSwish", UNARY_HARD_SWISH, FLOATS, 0, 0, NULL, NULL},
    {"IsInf", UNARY_IS_INF, FLOATS, 1, 1, NULL, NULL},
    {"IsNaN", UNARY_IS_NAN, FLOATS, 0, 0, NULL, NULL},
    {"LeakyRelu", UNARY_LEAKY_RELU, FLOATS, 0.01f, 0, "alpha", NULL},
    {"Log", UNARY_LOG, FLOATS, 0, 0, NULL, NULL},
    {"Mish", UNARY_MISH, FLOATS, 0, 0, NULL, NULL},
    {"Neg", UNARY_NEGATE, NUMBERS, 0, 0, NULL, NULL},
    {"Not", UNARY_NOT, BOOLS, 0, 0, NULL, NULL},
    {"Reciprocal", UNARY_RECIPROCAL, FLOATS, 0, 0, NULL, NULL},
    {"Relu", UNARY_RELU, NUMBERS, 0, 0, NULL, NULL},
    {"Round", UNARY_ROUND, FLOATS, 0, 0, NULL, NULL},
    {"Selu", UNARY_SELU, FLOATS, 1.67326319217681884765625f, 1.05070102214813232421875f, "alpha", "gamma"},
    {"Shrink", UNARY_SHRINK, FLOATS, 0.5f, 0, "lambd", "bias"},
    {"Sigmoid", UNARY_SIGMOID, FLOATS, 0, 0, NULL, NULL},
    {"Sign", UNARY_SIGN, NUMBERS, 0, 0, NULL, NULL},
    {"Sin", UNARY_SIN, FLOATS, 0, 0, NULL, NULL},
    {"Sinh", UNARY_SINH, FLOATS, 0, 0, NULL, NULL},
    {"Softplus", UNARY_SOFTPLUS, FLOATS, 0, 0, NULL, NULL},
    {"Softsign", UNARY_SOFTSIGN, FLOATS, 0, 0, NULL, NULL},
    {"Sqrt", UNARY_SQRT, FLOATS, 0, 0, NULL, NULL},
    {"Swish", UNARY_SILU, FLOATS, 1, 0, "alpha", NULL},
    {"Tan", UNARY_TAN, FLOATS, 0, 0, NULL, NULL},
    {"Tanh", UNARY_TANH, FLOATS, 0, 0, NULL, NULL},
    {"ThresholdedRelu", UNARY_THRESHOLDED_RELU, FLOATS, 1, 0, "alpha", NULL},
};

static int compare_function(const void *name, const void *entry) {
    return strcmp(name, ((const struct function *)entry)->op);
}

/* Attributes that are not two numbers. */
static enum weir_status read_special(struct lowering *lowering, const struct graph_node *node, struct unary *unary,
                                     struct weir_error *err) {
    static const char *const approximations[] = {"none", "tanh", NULL};
    int approximation = 0;
    int64_t negative = 1, positive = 1;
    if (unary->kind == UNARY_GELU_ERF) {
        if (node_word(lowering->graph, node, "approximate", approximations, &approximation, err) != WEIR_OK)
            return err->status;
        unary->kind = approximation == 1 ? UNARY_GELU_TANH : UNARY_GELU_ERF;
    } else if (unary->kind == UNARY_IS_INF) {
        if (node_int(lowering->graph, node, "detect_negative", &negative, err) != WEIR_OK ||
            node_int(lowering->graph, node, "detect_positive", &positive, err) != WEIR_OK)
            return err->status;
        unary->a = negative != 0;
        unary->b = positive != 0;
    }
    return WEIR_OK;
}

static enum weir_status need_input(struct lowering *lowering, const struct graph_node *node, enum takes takes,
                                   const struct fact **x, struct weir_error *err) {
    const struct fact *fact;
    if (takes == FLOATS)
        return lower_need_float(lowering, node, 0, x, err);
    if (lower_need(lowering, node, 0, &fact, err) != WEIR_OK)
        return err->status;
    if ((fact->dtype == TENSOR_BOOL) != (takes == BOOLS))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its input is %s, expected %s",
                         tensor_dtype_text(fact->dtype), takes == BOOLS ? "bool" : "a number");
    *x = fact;
    return WEIR_OK;
}

enum weir_status lower_elementwise_unary(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    const struct function *function =
        bsearch(node->op, functions, sizeof functions / sizeof functions[0], sizeof functions[0], compare_function);
    struct operation operation = {.kind = OPERATION_UNARY};
    const struct fact *x;
    if (!function)
        return node_fail(lowering->graph, node, err, WEIR_INTERNAL, "not a function of one number");
    operation.unary = (struct unary){function->kind, function->a, function->b};
    if (need_input(lowering, node, function->takes, &x, err) != WEIR_OK ||
        (function->a_attribute &&
         node_float(lowering->graph, node, function->a_attribute, &operation.unary.a, err) != WEIR_OK) ||
        (function->b_attribute &&
         node_float(lowering->graph, node, function->b_attribute, &operation.unary.b, err) != WEIR_OK) ||
        read_special(lowering, node, &operation.unary, err) != WEIR_OK)
        return err->status;
    bool gives_bool = function->kind == UNARY_IS_NAN || function->kind == UNARY_IS_INF;
    if (lower_define(lowering, node, 0, gives_bool ? TENSOR_BOOL : x->dtype, &x->shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}

/* Is the bound there, and of x's type and one element? */
static enum weir_status check_bound(struct lowering *lowering, const struct graph_node *node, int input,
                                    enum tensor_dtype dtype, const struct fact **bound, struct weir_error *err) {
    const struct fact *fact = lower_input(lowering, node, input);
    if (fact && fact->elements != 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "a bound is not a scalar");
    if (fact && fact->dtype != dtype)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "a bound is %s, its input %s",
                         tensor_dtype_text(fact->dtype), tensor_dtype_text(dtype));
    *bound = fact;
    return WEIR_OK;
}

/* max(x, low), then min(that, high): for integers, and for bounds that the program computes. */
static enum weir_status clip_in_steps(struct lowering *lowering, const struct graph_node *node, const struct fact *x,
                                      const struct fact *const bounds[2], struct weir_error *err) {
    static const enum binary_kind kinds[2] = {BINARY_MAXIMUM, BINARY_MINIMUM};
    static const struct tensor_shape scalar = {.rank = 0};
    int inputs[2], output;
    if (lower_define(lowering, node, 0, x->dtype, &x->shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < 2; i++) {
        struct operation operation = {.kind = OPERATION_BINARY, .binary = kinds[i]};
        struct lower_wires wires = {inputs, &output, 2, 1};
        int bound;
        if (!bounds[i])
            continue;
        output = lower_output_buffer(lowering, node, 0);
        if (i == 0 && bounds[1] && lower_temporary(lowering, node, x->dtype, &x->shape, &output, err) != WEIR_OK)
            return err->status;
        if (lower_input_buffer(lowering, node, i + 1, &bound, err) != WEIR_OK ||
            lower_temporary_alias(lowering, node, bound, &scalar, &inputs[1], err) != WEIR_OK ||
            lower_wired_step(lowering, node, &operation, &wires, err) != WEIR_OK)
            return err->status;
        inputs[0] = output;
    }
    return WEIR_OK;
}

static enum weir_status clip_step(struct lowering *lowering, const struct graph_node *node, const struct fact *x,
                                  float low, float high, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_UNARY, .unary = {UNARY_CLIP, low, high}};
    int input, output;
    struct lower_wires wires = {&input, &output, 1, 1};
    if (lower_define(lowering, node, 0, x->dtype, &x->shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &input, err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

enum weir_status lower_elementwise_clip(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    bool attributes = lowering->graph->opset < 11;
    const struct fact *x, *bounds[2] = {NULL, NULL};
    float low = -FLT_MAX, high = FLT_MAX;
    if (attributes ? node->input_count > 1 : node->attribute_count > 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its bounds are %s in this opset",
                         attributes ? "attributes" : "inputs");
    if (attributes) {
        if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
            node_float(lowering->graph, node, "min", &low, err) != WEIR_OK ||
            node_float(lowering->graph, node, "max", &high, err) != WEIR_OK)
            return err->status;
        return clip_step(lowering, node, x, low, high, err);
    }
    if (need_input(lowering, node, NUMBERS, &x, err) != WEIR_OK ||
        check_bound(lowering, node, 1, x->dtype, &bounds[0], err) != WEIR_OK ||
        check_bound(lowering, node, 2, x->dtype, &bounds[1], err) != WEIR_OK)
        return err->status;
    if (!bounds[0] && !bounds[1])
        return lower_alias(lowering, node, 0, 0, &x->shape, err);
    if (x->dtype != TENSOR_F32 || (bounds[0] && !bounds[0]->known) || (bounds[1] && !bounds[1]->known))
        return clip_in_steps(lowering, node, x, bounds, err);
    double from = -(double)FLT_MAX, to = (double)FLT_MAX;
    if (lower_scalar(lowering, node, 1, &from, err) != WEIR_OK || lower_scalar(lowering, node, 2, &to, err) != WEIR_OK)
        return err->status;
    return clip_step(lowering, node, x, (float)from, (float)to, err);
}

#define FUNCTION(name, attributes)                                                                                     \
    { name, attributes, 1, 1, 1, lower_elementwise_unary }
#define BINARY(name)                                                                                                   \
    { name, " ", 2, 2, 1, lower_arithmetic_binary }
#define LIST(name)                                                                                                     \
    { name, " ", 1, GRAPH_MAX_NODE_VALUES, 1, lower_arithmetic_list }

static const struct operator_entry entries[] = {
    FUNCTION("Abs", " "),
    FUNCTION("Acos", " "),
    FUNCTION("Acosh", " "),
    BINARY("Add"),
    BINARY("And"),
    FUNCTION("Asin", " "),
    FUNCTION("Asinh", " "),
    FUNCTION("Atan", " "),
    FUNCTION("Atanh", " "),
    {"BitShift", " direction ", 2, 2, 1, lower_arithmetic_shift},
    {"Cast", " saturate to ", 1, 1, 1, lower_convert_cast},
    {"CastLike", " saturate ", 2, 2, 1, lower_convert_cast},
    FUNCTION("Ceil", " "),
    FUNCTION("Celu", " alpha "),
    {"Clip", " max min ", 1, 3, 1, lower_elementwise_clip},
    {"Constant", " value value_float value_floats value_int value_ints ", 0, 0, 1, lower_convert_constant},
    FUNCTION("Cos", " "),
    FUNCTION("Cosh", " "),
    BINARY("Div"),
    {"Dropout", " ratio seed ", 1, 3, 2, lower_convert_dropout},
    FUNCTION("Elu", " alpha "),
    BINARY("Equal"),
    FUNCTION("Erf", " "),
    FUNCTION("Exp", " "),
    FUNCTION("Floor", " "),
    FUNCTION("Gelu", " approximate "),
    BINARY("Greater"),
    BINARY("GreaterOrEqual"),
    FUNCTION("HardSigmoid", " alpha beta "),
    FUNCTION("HardSwish", " "),
    {"Identity", " ", 1, 1, 1, lower_convert_identity},
    FUNCTION("IsInf", " detect_negative detect_positive "),
    FUNCTION("IsNaN", " "),
    FUNCTION("LeakyRelu", " alpha "),
    BINARY("Less"),
    BINARY("LessOrEqual"),
    FUNCTION("Log", " "),
    LIST("Max"),
    LIST("Mean"),
    LIST("Min"),
    FUNCTION("Mish", " "),
    {"Mod", " fmod ", 2, 2, 1, lower_arithmetic_modulo},
    BINARY("Mul"),
    FUNCTION("Neg", " "),
    FUNCTION("Not", " "),
    BINARY("Or"),
    BINARY("PRelu"),
    {"Pow", " ", 2, 2, 1, lower_arithmetic_power},
    FUNCTION("Reciprocal", " "),
    FUNCTION("Relu", " "),
    FUNCTION("Round", " "),
    FUNCTION("Selu", " alpha gamma "),
    FUNCTION("Shrink", " bias lambd "),
    FUNCTION("Sigmoid", " "),
    FUNCTION("Sign", " "),
    FUNCTION("Sin", " "),
    FUNCTION("Sinh", " "),
    FUNCTION("Softplus", " "),
    FUNCTION("Softsign", " "),
    FUNCTION("Sqrt", " "),
    BINARY("Sub"),
    LIST("Sum"),
    FUNCTION("Swish", " alpha "),
    FUNCTION("Tan", " "),
    FUNCTION("Tanh", " "),
    FUNCTION("ThresholdedRelu", " alpha "),
    {"Where", " ", 3, 3, 1, lower_arithmetic_where},
    BINARY("Xor"),
};

const struct operator_family lower_elementwise_family = {entries, sizeof entries / sizeof entries[0]};
