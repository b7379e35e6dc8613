#include "engine/graph/lower_elementwise.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

/* Since opset 11 the bounds are inputs, before they are attributes. */
static enum weir_status clip_bounds(struct lowering *lowering, const struct graph_node *node,
                                    struct activation *activation, struct weir_error *err) {
    const struct graph_constant *bounds[2];
    bool attributes = lowering->graph->opset < 11;
    activation->low = -FLT_MAX;
    activation->high = FLT_MAX;
    if (attributes ? node->input_count > 1 : node->attribute_count > 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its bounds are %s in this opset",
                         attributes ? "attributes" : "inputs");
    if (attributes) {
        if (node_float(lowering->graph, node, "min", &activation->low, err) != WEIR_OK ||
            node_float(lowering->graph, node, "max", &activation->high, err) != WEIR_OK)
            return err->status;
        return WEIR_OK;
    }
    for (int i = 0; i < 2; i++) {
        if (lower_constant(lowering, node, i + 1, &bounds[i], err) != WEIR_OK)
            return err->status;
        if (bounds[i] && bounds[i]->elements != 1)
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "a bound is not a scalar");
        if (bounds[i])
            *(i == 0 ? &activation->low : &activation->high) = constant_element(bounds[i], 0);
    }
    return WEIR_OK;
}

static enum weir_status make_activation(struct lowering *lowering, const struct graph_node *node,
                                        struct activation *activation, struct weir_error *err) {
    static const struct {
        const char *op;
        enum activation_kind kind;
    } kinds[] = {{"Relu", ACTIVATION_RELU},
                 {"LeakyRelu", ACTIVATION_LEAKY_RELU},
                 {"Clip", ACTIVATION_CLIP},
                 {"Sigmoid", ACTIVATION_SIGMOID},
                 {"Tanh", ACTIVATION_TANH}};
    *activation = (struct activation){ACTIVATION_NONE, 0, 0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].op, node->op) == 0)
            activation->kind = kinds[i].kind;
    if (activation->kind == ACTIVATION_CLIP)
        return clip_bounds(lowering, node, activation, err);
    if (activation->kind == ACTIVATION_LEAKY_RELU) {
        activation->low = 0.01f;
        return node_float(lowering->graph, node, "alpha", &activation->low, err);
    }
    return WEIR_OK;
}

enum weir_status lower_elementwise_activation(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) {
    struct activation activation;
    struct graph_value *x;
    struct program_step *step;
    int y = GRAPH_NONE;
    if (make_activation(lowering, node, &activation, err) != WEIR_OK ||
        lower_computed(lowering, node, 0, &x, err) != WEIR_OK ||
        !(step = lower_step(lowering, node, PROGRAM_ACTIVATE, x->buffer, &y, err)))
        return err->status;
    step->activation = activation;
    return lower_define(lowering, node, &x->shape, y, err);
}

/* Spreads a constant over one row of shape, by NumPy's rules; shapes_broadcast has checked that it fits. */
static void spread(const struct graph_constant *constant, const struct tensor_shape *shape, float *out) {
    size_t strides[TENSOR_MAX_RANK] = {0}, at[TENSOR_MAX_RANK] = {0}, stride = 1, from = 0;
    size_t count = shapes_product(shape, 1, shape->rank);
    int lead = shape->rank - constant->shape.rank;
    for (int i = constant->shape.rank - 1; i >= 0; i--) {
        size_t dim = (size_t)constant->shape.dims[i];
        strides[lead + i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = constant_element(constant, from);
        for (int d = shape->rank - 1; d > 0; d--) {
            from += strides[d];
            if (++at[d] < (size_t)shape->dims[d])
                break;
            from -= strides[d] * at[d];
            at[d] = 0;
        }
    }
}

struct operand {
    enum combination op;
    bool on_left;
    const struct graph_constant *constant;
};

/* x op constant, or constant op x, for an x of that shape. *buffer is x's before and the result's after. */
static enum weir_status combine_constant(struct lowering *lowering, const struct graph_node *node,
                                         const struct tensor_shape *shape, const struct operand *operand, int *buffer,
                                         struct weir_error *err) {
    const char *fault = "";
    struct program_step *step;
    float *values;
    size_t period, row = lowering->program->buffers[*buffer].row_elements;
    int y = GRAPH_NONE;
    enum weir_status status = shapes_broadcast(shape, &operand->constant->shape, &period, &fault);
    if (status != WEIR_OK)
        return node_fail(lowering->graph, node, err, status, "%s", fault);
    if (operand->constant->elements == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its constant is empty");
    bool whole_row = period == 0;
    if (whole_row)
        period = row;
    if (lower_floats(lowering, node, period, &values, err) != WEIR_OK ||
        !(step = lower_step(lowering, node, PROGRAM_COMBINE_CONSTANT, *buffer, &y, err)))
        return err->status;
    if (whole_row)
        spread(operand->constant, shape, values);
    else
        constant_floats(operand->constant, values);
    step->combine = (struct program_combine){operand->op, operand->on_left, period, values};
    *buffer = y;
    return WEIR_OK;
}

static enum combination combination_of(const char *op) {
    return strcmp(op, "Add") == 0   ? COMBINATION_ADD
           : strcmp(op, "Sub") == 0 ? COMBINATION_SUBTRACT
           : strcmp(op, "Mul") == 0 ? COMBINATION_MULTIPLY
                                    : COMBINATION_DIVIDE;
}

static enum weir_status combine_computed(struct lowering *lowering, const struct graph_node *node,
                                         const struct graph_value *a, const struct graph_value *b,
                                         struct weir_error *err) {
    char left[96], right[96];
    struct program_step *step;
    int y = GRAPH_NONE;
    if (!shapes_equal(&a->shape, &b->shape))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "computed values of shapes %s and %s; supported: equal shapes, or a constant",
                         tensor_shape_text(&a->shape, left, sizeof left),
                         tensor_shape_text(&b->shape, right, sizeof right));
    if (!(step = lower_step(lowering, node, PROGRAM_COMBINE, a->buffer, &y, err)))
        return err->status;
    step->x2 = b->buffer;
    step->combine.op = combination_of(node->op);
    return lower_define(lowering, node, &a->shape, y, err);
}

enum weir_status lower_elementwise_arithmetic(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) {
    struct graph_value *a = node_input(lowering->graph, node, 0), *b = node_input(lowering->graph, node, 1);
    if (!a || !b)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "an input is missing");
    if (!a->constant && !b->constant)
        return combine_computed(lowering, node, a, b, err);
    if (a->constant && b->constant)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "both inputs are constants; supported: at least one computed from the input");
    struct operand operand = {.op = combination_of(node->op), .on_left = a->constant};
    const struct graph_value *x = a->constant ? b : a;
    int buffer = x->buffer;
    if (lower_constant(lowering, node, a->constant ? 0 : 1, &operand.constant, err) != WEIR_OK ||
        combine_constant(lowering, node, &x->shape, &operand, &buffer, err) != WEIR_OK)
        return err->status;
    return lower_define(lowering, node, &x->shape, buffer, err);
}

/* y = x * factor + shift with factor = scale / sqrt(var + epsilon), shift = B - mean * factor; both per channel.
 * parameters are scale, B, mean, var. */
static enum weir_status channel_constants(struct lowering *lowering, const struct graph_node *node,
                                          const struct tensor_shape *shape,
                                          const struct graph_constant *const parameters[4],
                                          const struct graph_constant *made[2], struct weir_error *err) {
    struct tensor_shape channels = {.rank = shape->rank - 1};
    unsigned char *memory[2];
    float epsilon = 1e-5f;
    if (node_float(lowering->graph, node, "epsilon", &epsilon, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < channels.rank; i++)
        channels.dims[i] = i == 0 ? shape->dims[1] : 1;
    for (int i = 0; i < 2; i++)
        if (!(made[i] = constant_make(&lowering->graph->region, TENSOR_F32, &channels, &memory[i])))
            return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
    for (size_t i = 0; i < (size_t)shape->dims[1]; i++) {
        double factor = constant_element(parameters[0], i) / sqrt((double)constant_element(parameters[3], i) + epsilon);
        ((float *)(void *)memory[0])[i] = (float)factor;
        ((float *)(void *)memory[1])[i] =
            (float)(constant_element(parameters[1], i) - constant_element(parameters[2], i) * factor);
    }
    return WEIR_OK;
}

enum weir_status lower_elementwise_batch_normalization(struct lowering *lowering, const struct graph_node *node,
                                                       struct weir_error *err) {
    struct graph_value *x;
    int64_t training = 0, spatial = 1;
    const struct graph_constant *parameters[4], *made[2] = {NULL, NULL};
    if (node_int(lowering->graph, node, "training_mode", &training, err) != WEIR_OK ||
        node_int(lowering->graph, node, "spatial", &spatial, err) != WEIR_OK ||
        lower_computed(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    if (training != 0 || spatial != 1)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "%s; supported: training_mode=0, spatial=1",
                         training ? "training_mode=1" : "spatial=0");
    if (x->shape.rank < 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its input has no channels");
    for (int i = 0; i < 4; i++) {
        if (lower_constant(lowering, node, i + 1, &parameters[i], err) != WEIR_OK)
            return err->status;
        if (!parameters[i] || parameters[i]->shape.rank != 1 || parameters[i]->shape.dims[0] != x->shape.dims[1])
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d does not have %lld elements", i + 1,
                             (long long)x->shape.dims[1]);
    }
    int buffer = x->buffer;
    if (channel_constants(lowering, node, &x->shape, parameters, made, err) != WEIR_OK)
        return err->status;
    struct operand factor = {COMBINATION_MULTIPLY, false, made[0]}, shift = {COMBINATION_ADD, false, made[1]};
    if (combine_constant(lowering, node, &x->shape, &factor, &buffer, err) != WEIR_OK ||
        combine_constant(lowering, node, &x->shape, &shift, &buffer, err) != WEIR_OK)
        return err->status;
    return lower_define(lowering, node, &x->shape, buffer, err);
}

enum weir_status lower_elementwise_softmax(struct lowering *lowering, const struct graph_node *node,
                                           struct weir_error *err) {
    bool one_axis = lowering->graph->opset >= 13;
    int64_t wanted = one_axis ? -1 : 1;
    struct graph_value *x;
    struct program_step *step;
    int y = GRAPH_NONE, axis;
    if (node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK ||
        lower_computed(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    if (!shapes_axis(wanted, x->shape.rank, &axis))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions", (long long)wanted,
                         x->shape.rank);
    if (axis == 0)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "axis 0 would mix the rows of a batch; supported: the other axes");
    if (!(step = lower_step(lowering, node, PROGRAM_SOFTMAX, x->buffer, &y, err)))
        return err->status;
    int rank = x->shape.rank;
    step->softmax.outer = shapes_product(&x->shape, 1, axis);
    step->softmax.length = one_axis ? (size_t)x->shape.dims[axis] : shapes_product(&x->shape, axis, rank);
    step->softmax.inner = one_axis ? shapes_product(&x->shape, axis + 1, rank) : 1;
    step->softmax.log = strcmp(node->op, "LogSoftmax") == 0;
    return lower_define(lowering, node, &x->shape, y, err);
}
