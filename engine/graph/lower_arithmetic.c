#include "engine/graph/lower_arithmetic.h"

#include <string.h>

#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

enum takes { NUMBERS, BOOLS, ANYTHING };

static enum weir_status check_type(struct lowering *lowering, const struct graph_node *node, enum tensor_dtype dtype,
                                   enum takes takes, struct weir_error *err) {
    if (takes == ANYTHING || (dtype == TENSOR_BOOL) == (takes == BOOLS))
        return WEIR_OK;
    return node_fail(lowering->graph, node, err, WEIR_INVALID, "its inputs are %s, expected %s",
                     tensor_dtype_text(dtype), takes == BOOLS ? "bool" : "numbers");
}

static enum weir_status check_same(struct lowering *lowering, const struct graph_node *node, const struct fact *a,
                                   const struct fact *b, struct weir_error *err) {
    if (a->dtype == b->dtype)
        return WEIR_OK;
    return node_fail(lowering->graph, node, err, WEIR_INVALID, "its inputs are %s and %s; expected one type",
                     tensor_dtype_text(a->dtype), tensor_dtype_text(b->dtype));
}

/* *shape becomes what it and the input broadcast to. */
static enum weir_status broadcast(struct lowering *lowering, const struct graph_node *node,
                                  const struct tensor_shape *other, struct tensor_shape *shape,
                                  struct weir_error *err) {
    char left[160], right[160];
    struct tensor_shape out;
    if (!shapes_broadcast(shape, other, &out))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "shapes %s and %s do not broadcast",
                         tensor_shape_text(shape, left, sizeof left), tensor_shape_text(other, right, sizeof right));
    *shape = out;
    return WEIR_OK;
}

/* Before opset 7 a smaller second input fits the first from dimension `axis` on (a slope, from the channels on): it
 * gets dimensions of 1 behind. Source: ONNX, docs/Changelog.md, Add-6 and PRelu-6. */
static enum weir_status place_right(struct lowering *lowering, const struct graph_node *node, enum binary_kind kind,
                                    const struct fact *a, struct tensor_shape *right, struct weir_error *err) {
    bool by_channel = kind == BINARY_PRELU && right->rank == 1 && right->dims[0] > 1;
    int64_t axis = by_channel && a->shape.rank > 1 ? 1 : (int64_t)a->shape.rank - right->rank, broadcast = 0;
    if (node_int(lowering->graph, node, "broadcast", &broadcast, err) != WEIR_OK ||
        node_int(lowering->graph, node, "axis", &axis, err) != WEIR_OK)
        return err->status;
    if (axis < 0)
        axis += a->shape.rank;
    if (axis < 0 || axis + right->rank > a->shape.rank)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld does not fit its inputs",
                         (long long)axis);
    while (axis + right->rank < a->shape.rank)
        right->dims[right->rank++] = 1;
    return WEIR_OK;
}

/* One step from the node's two inputs to its output. */
static enum weir_status combine(struct lowering *lowering, const struct graph_node *node, enum binary_kind kind,
                                enum tensor_dtype result, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_BINARY, .binary = kind};
    const struct fact *a, *b;
    if (lower_need(lowering, node, 0, &a, err) != WEIR_OK || lower_need(lowering, node, 1, &b, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = a->shape, right = b->shape;
    int buffers[2], output;
    bool old = lowering->graph->opset < 7;
    if ((old && place_right(lowering, node, kind, a, &right, err) != WEIR_OK) ||
        broadcast(lowering, node, &right, &shape, err) != WEIR_OK)
        return err->status;
    if (kind == BINARY_PRELU && !shapes_equal(&shape, &a->shape))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "the slope has more elements than its input");
    bool reshaped = right.rank != b->shape.rank;
    if (lower_define(lowering, node, 0, result, &shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &buffers[0], err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 1, &buffers[1], err) != WEIR_OK ||
        (reshaped && lower_temporary_alias(lowering, node, buffers[1], &right, &buffers[1], err) != WEIR_OK))
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {buffers, &output, 2, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static enum weir_status need_pair(struct lowering *lowering, const struct graph_node *node, enum takes takes,
                                  enum tensor_dtype *dtype, struct weir_error *err) {
    const struct fact *a, *b;
    if (lower_need(lowering, node, 0, &a, err) != WEIR_OK || lower_need(lowering, node, 1, &b, err) != WEIR_OK ||
        check_same(lowering, node, a, b, err) != WEIR_OK || check_type(lowering, node, a->dtype, takes, err) != WEIR_OK)
        return err->status;
    *dtype = a->dtype;
    return WEIR_OK;
}

enum weir_status lower_arithmetic_binary(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    static const struct {
        const char *op;
        enum binary_kind kind;
        enum takes takes;
        bool gives_bool;
    } kinds[] = {
        {"Add", BINARY_ADD, NUMBERS, false},        {"And", BINARY_AND, BOOLS, true},
        {"Div", BINARY_DIVIDE, NUMBERS, false},     {"Equal", BINARY_EQUAL, ANYTHING, true},
        {"Greater", BINARY_GREATER, NUMBERS, true}, {"GreaterOrEqual", BINARY_GREATER_EQUAL, NUMBERS, true},
        {"Less", BINARY_LESS, NUMBERS, true},       {"LessOrEqual", BINARY_LESS_EQUAL, NUMBERS, true},
        {"Mul", BINARY_MULTIPLY, NUMBERS, false},   {"Or", BINARY_OR, BOOLS, true},
        {"PRelu", BINARY_PRELU, NUMBERS, false},    {"Sub", BINARY_SUBTRACT, NUMBERS, false},
        {"Xor", BINARY_XOR, BOOLS, true},
    };
    enum tensor_dtype dtype;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].op, node->op) != 0)
            continue;
        if (need_pair(lowering, node, kinds[i].takes, &dtype, err) != WEIR_OK)
            return err->status;
        return combine(lowering, node, kinds[i].kind, kinds[i].gives_bool ? TENSOR_BOOL : dtype, err);
    }
    return node_fail(lowering->graph, node, err, WEIR_INTERNAL, "not an operation of two tensors");
}

/* The number of elements that a mean is over, as a scalar. */
static enum weir_status make_count(struct lowering *lowering, const struct graph_node *node, int *buffer,
                                   struct weir_error *err) {
    static const struct tensor_shape scalar = {.rank = 0};
    void *bytes;
    if (lower_temporary_known(lowering, node, TENSOR_F32, &scalar, buffer, &bytes, err) != WEIR_OK)
        return err->status;
    *(float *)bytes = (float)node->input_count;
    return WEIR_OK;
}

/* The first input, combined with each other one in turn, and for Mean divided by their number. */
static enum weir_status chain(struct lowering *lowering, const struct graph_node *node, enum binary_kind kind,
                              bool mean, struct weir_error *err) {
    const struct fact *first = lower_input(lowering, node, 0);
    struct tensor_shape shape = first->shape;
    int steps = node->input_count - 1 + (mean ? 1 : 0), inputs[2], output;
    if (lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK)
        return err->status;
    for (int i = 1; i <= steps; i++) {
        struct operation operation = {.kind = OPERATION_BINARY, .binary = i < node->input_count ? kind : BINARY_DIVIDE};
        struct lower_wires wires = {inputs, &output, 2, 1};
        if (i == node->input_count) {
            if (make_count(lowering, node, &inputs[1], err) != WEIR_OK)
                return err->status;
        } else if (broadcast(lowering, node, &lower_input(lowering, node, i)->shape, &shape, err) != WEIR_OK ||
                   lower_input_buffer(lowering, node, i, &inputs[1], err) != WEIR_OK) {
            return err->status;
        }
        if (i < steps) {
            if (lower_temporary(lowering, node, first->dtype, &shape, &output, err) != WEIR_OK)
                return err->status;
        } else {
            if (lower_define(lowering, node, 0, first->dtype, &shape, err) != WEIR_OK)
                return err->status;
            output = lower_output_buffer(lowering, node, 0);
        }
        if (lower_wired_step(lowering, node, &operation, &wires, err) != WEIR_OK)
            return err->status;
        inputs[0] = output;
    }
    return WEIR_OK;
}

enum weir_status lower_arithmetic_list(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    bool mean = strcmp(node->op, "Mean") == 0, sums = mean || strcmp(node->op, "Sum") == 0;
    enum binary_kind kind = sums ? BINARY_ADD : strcmp(node->op, "Min") == 0 ? BINARY_MINIMUM : BINARY_MAXIMUM;
    const struct fact *first = NULL, *fact;
    for (int i = 0; i < node->input_count; i++) {
        if ((sums ? lower_need_float(lowering, node, i, &fact, err) : lower_need(lowering, node, i, &fact, err)) !=
            WEIR_OK)
            return err->status;
        first = first ? first : fact;
        if (check_same(lowering, node, first, fact, err) != WEIR_OK ||
            check_type(lowering, node, fact->dtype, NUMBERS, err) != WEIR_OK)
            return err->status;
    }
    if (node->input_count == 1)
        return lower_alias(lowering, node, 0, 0, &first->shape, err);
    return chain(lowering, node, kind, mean, err);
}

enum weir_status lower_arithmetic_modulo(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    enum tensor_dtype dtype;
    int64_t as_c = 0;
    if (need_pair(lowering, node, NUMBERS, &dtype, err) != WEIR_OK ||
        node_int(lowering->graph, node, "fmod", &as_c, err) != WEIR_OK)
        return err->status;
    if (!as_c && dtype == TENSOR_F32)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "of floats, but without fmod=1");
    return combine(lowering, node, as_c ? BINARY_REMAINDER : BINARY_MODULO, dtype, err);
}

/* A known integer exponent of a float base becomes float, which there are faster kernels for. */
static enum weir_status power_of_known(struct lowering *lowering, const struct graph_node *node,
                                       const struct fact *base, const struct fact *exponent, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_BINARY, .binary = BINARY_POWER};
    struct tensor_shape shape = base->shape;
    int inputs[2], output;
    struct lower_wires wires = {inputs, &output, 2, 1};
    double number = 0;
    void *bytes;
    if (broadcast(lowering, node, &exponent->shape, &shape, err) != WEIR_OK ||
        lower_scalar(lowering, node, 1, &number, err) != WEIR_OK ||
        lower_define(lowering, node, 0, base->dtype, &shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK ||
        lower_temporary_known(lowering, node, TENSOR_F32, &exponent->shape, &inputs[1], &bytes, err) != WEIR_OK)
        return err->status;
    *(float *)bytes = (float)number;
    output = lower_output_buffer(lowering, node, 0);
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

enum weir_status lower_arithmetic_power(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    const struct fact *base, *exponent;
    if (lower_need(lowering, node, 0, &base, err) != WEIR_OK ||
        lower_need(lowering, node, 1, &exponent, err) != WEIR_OK ||
        check_type(lowering, node, base->dtype, NUMBERS, err) != WEIR_OK ||
        check_type(lowering, node, exponent->dtype, NUMBERS, err) != WEIR_OK)
        return err->status;
    if (lowering->graph->opset < 12 && check_same(lowering, node, base, exponent, err) != WEIR_OK)
        return err->status;
    if (base->dtype == TENSOR_F32 && exponent->dtype != TENSOR_F32 && exponent->known && exponent->elements == 1)
        return power_of_known(lowering, node, base, exponent, err);
    return combine(lowering, node, BINARY_POWER, base->dtype, err);
}

enum weir_status lower_arithmetic_shift(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    static const char *const directions[] = {"LEFT", "RIGHT", NULL};
    enum tensor_dtype dtype;
    int direction = -1;
    if (need_pair(lowering, node, NUMBERS, &dtype, err) != WEIR_OK ||
        node_word(lowering->graph, node, "direction", directions, &direction, err) != WEIR_OK)
        return err->status;
    if (direction < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its direction is missing");
    if (dtype != TENSOR_U8)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its inputs are %s, expected an unsigned integer",
                         tensor_dtype_text(dtype));
    return combine(lowering, node, direction == 0 ? BINARY_SHIFT_LEFT : BINARY_SHIFT_RIGHT, dtype, err);
}

enum weir_status lower_arithmetic_where(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_WHERE};
    const struct fact *condition, *a, *b;
    if (lower_need(lowering, node, 0, &condition, err) != WEIR_OK ||
        lower_need(lowering, node, 1, &a, err) != WEIR_OK || lower_need(lowering, node, 2, &b, err) != WEIR_OK ||
        check_same(lowering, node, a, b, err) != WEIR_OK)
        return err->status;
    if (condition->dtype != TENSOR_BOOL)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its condition is %s, expected bool",
                         tensor_dtype_text(condition->dtype));
    struct tensor_shape shape = condition->shape;
    if (broadcast(lowering, node, &a->shape, &shape, err) != WEIR_OK ||
        broadcast(lowering, node, &b->shape, &shape, err) != WEIR_OK ||
        lower_define(lowering, node, 0, a->dtype, &shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}
