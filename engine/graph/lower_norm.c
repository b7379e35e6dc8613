/* Lowering of softmax and the normalizations: the table lower_norm_family. */

#include <string.h>

#include "engine/graph/lower_reduce.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"

/* Before opset 13 the dimensions from axis on are normalized together; since then the one dimension is. */
static enum weir_status lower_softmax(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *x;
    bool one = lowering->graph->opset >= 13;
    struct operation operation = {
        .kind = OPERATION_SOFTMAX,
        .softmax = {.log = strcmp(node->op, "LogSoftmax") == 0, .hard = strcmp(node->op, "Hardmax") == 0}};
    struct softmax *softmax = &operation.softmax;
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_reduce_read_axis(lowering, node, x, one ? -1 : 1, &softmax->axis, err) != WEIR_OK)
        return err->status;
    softmax->flat = !one && softmax->axis != x->shape.rank - 1;
    if (lower_define(lowering, node, 0, TENSOR_F32, &x->shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}

/* The buffer of an input that broadcasts to shape, with all of shape's elements; -1 if the input is omitted. */
static enum weir_status spread(struct lowering *lowering, const struct graph_node *node, int input,
                               const struct tensor_shape *shape, int *buffer, struct weir_error *err) {
    char is[96], wanted[96];
    const struct fact *fact;
    struct tensor_shape both;
    struct operation expand = {.kind = OPERATION_EXPAND};
    int from;
    *buffer = GRAPH_NONE;
    if (!lower_input(lowering, node, input))
        return WEIR_OK;
    if (lower_need_float(lowering, node, input, &fact, err) != WEIR_OK)
        return err->status;
    if (!shapes_broadcast(&fact->shape, shape, &both) || !shapes_equal(&both, shape))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input %d is %s; supported: what broadcasts to the normalized dimensions %s", input,
                         tensor_shape_text(&fact->shape, is, sizeof is),
                         tensor_shape_text(shape, wanted, sizeof wanted));
    if (fact->elements == shapes_product(shape, 0, shape->rank))
        return lower_input_buffer(lowering, node, input, buffer, err);
    if (lower_input_buffer(lowering, node, input, &from, err) != WEIR_OK ||
        lower_temporary(lowering, node, TENSOR_F32, shape, buffer, err) != WEIR_OK)
        return err->status;
    struct lower_wires wires = {&from, buffer, 1, 1};
    return lower_wired_step(lowering, node, &expand, &wires, err);
}

static enum weir_status lower_layer_norm(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    const struct fact *x, *scale;
    struct operation operation = {.kind = OPERATION_LAYER_NORM, .norm = {.epsilon = 1e-5f}};
    struct norm *norm = &operation.norm;
    struct tensor_shape normalized = {0};
    int64_t stash = 1;
    int inputs[3], outputs[3];
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_need_float(lowering, node, 1, &scale, err) != WEIR_OK ||
        lower_reduce_read_axis(lowering, node, x, -1, &norm->axis, err) != WEIR_OK ||
        node_float(lowering->graph, node, "epsilon", &norm->epsilon, err) != WEIR_OK ||
        node_int(lowering->graph, node, "stash_type", &stash, err) != WEIR_OK)
        return err->status;
    if (stash != 1)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "stash_type=%lld; supported: 1 (float32)",
                         (long long)stash);
    struct tensor_shape shape = x->shape, rows = x->shape;
    for (int i = norm->axis; i < shape.rank; i++) {
        normalized.dims[normalized.rank++] = shape.dims[i];
        rows.dims[i] = 1;
    }
    if (lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK ||
        spread(lowering, node, 1, &normalized, &inputs[1], err) != WEIR_OK ||
        spread(lowering, node, 2, &normalized, &inputs[2], err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < 3; i++) {
        if (lower_define(lowering, node, i, TENSOR_F32, i == 0 ? &shape : &rows, err) != WEIR_OK)
            return err->status;
        outputs[i] = lower_output_buffer(lowering, node, i);
    }
    struct lower_wires wires = {inputs, outputs, 3, 3};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

/* Needs input 0 with channels (dimension 1), and the inputs 1..count, each with `elements` elements (0: as many as
 * there are channels). */
static enum weir_status need_channels(struct lowering *lowering, const struct graph_node *node, int count,
                                      int64_t elements, const struct fact **x, struct weir_error *err) {
    const struct fact *parameter;
    if (lower_need_float(lowering, node, 0, x, err) != WEIR_OK)
        return err->status;
    if ((*x)->shape.rank < 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its input has no channels");
    if (elements == 0)
        elements = (*x)->shape.dims[1];
    for (int i = 1; i <= count; i++) {
        if (lower_need_float(lowering, node, i, &parameter, err) != WEIR_OK)
            return err->status;
        if (parameter->shape.rank != 1 || parameter->shape.dims[0] != elements)
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d does not have %lld elements", i,
                             (long long)elements);
    }
    return WEIR_OK;
}

static enum weir_status lower_batch_norm(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_BATCH_NORM, .norm = {.axis = 1, .epsilon = 1e-5f}};
    int64_t training = 0, spatial = 1;
    int inputs[5];
    if (need_channels(lowering, node, 4, 0, &x, err) != WEIR_OK ||
        node_float(lowering->graph, node, "epsilon", &operation.norm.epsilon, err) != WEIR_OK ||
        node_int(lowering->graph, node, "training_mode", &training, err) != WEIR_OK ||
        node_int(lowering->graph, node, "spatial", &spatial, err) != WEIR_OK)
        return err->status;
    if (training != 0 || spatial != 1)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "%s; supported: training_mode=0, spatial=1",
                         training ? "training_mode=1" : "spatial=0");
    for (int i = 1; i < node->output_count; i++)
        if (node_output(lowering->graph, node, i))
            return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                             "it has outputs of training; supported: one output");
    if (lower_define(lowering, node, 0, TENSOR_F32, &x->shape, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < 5; i++)
        if (lower_input_buffer(lowering, node, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    int output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {inputs, &output, 5, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static enum weir_status lower_instance_norm(struct lowering *lowering, const struct graph_node *node,
                                            struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_INSTANCE_NORM, .norm = {.axis = 1, .epsilon = 1e-5f}};
    if (need_channels(lowering, node, 2, 0, &x, err) != WEIR_OK ||
        node_float(lowering->graph, node, "epsilon", &operation.norm.epsilon, err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &x->shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}

/* From one number for each group (opset 18) to one for each of its channels. */
static enum weir_status spread_groups(struct lowering *lowering, const struct graph_node *node, int input,
                                      int64_t channels, int *buffer, struct weir_error *err) {
    int64_t groups = lower_input(lowering, node, input)->shape.dims[0];
    struct tensor_shape column = {2, {groups, 1}}, table = {2, {groups, channels / groups}}, list = {1, {channels}};
    struct operation expand = {.kind = OPERATION_EXPAND};
    int from, as_column, expanded;
    if (lower_input_buffer(lowering, node, input, &from, err) != WEIR_OK)
        return err->status;
    *buffer = from;
    if (groups == channels)
        return WEIR_OK;
    if (lower_temporary_alias(lowering, node, from, &column, &as_column, err) != WEIR_OK ||
        lower_temporary(lowering, node, TENSOR_F32, &table, &expanded, err) != WEIR_OK)
        return err->status;
    struct lower_wires wires = {&as_column, &expanded, 1, 1};
    if (lower_wired_step(lowering, node, &expand, &wires, err) != WEIR_OK)
        return err->status;
    return lower_temporary_alias(lowering, node, expanded, &list, buffer, err);
}

/* Scale and bias have one number for each group in opset 18, for each channel in 21. */
static enum weir_status lower_group_norm(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_INSTANCE_NORM, .norm = {.axis = 1, .epsilon = 1e-5f}};
    int64_t groups = 0;
    int inputs[3], output;
    if (node_int(lowering->graph, node, "num_groups", &groups, err) != WEIR_OK ||
        node_float(lowering->graph, node, "epsilon", &operation.norm.epsilon, err) != WEIR_OK)
        return err->status;
    if (groups < 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "num_groups is %lld", (long long)groups);
    if (need_channels(lowering, node, 2, lowering->graph->opset < 21 ? groups : 0, &x, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = x->shape;
    if (shape.dims[1] % groups != 0 || shape.dims[1] == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "%lld channels are not a multiple of %lld groups",
                         (long long)shape.dims[1], (long long)groups);
    operation.norm.groups = (size_t)groups;
    if (lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK ||
        spread_groups(lowering, node, 1, shape.dims[1], &inputs[1], err) != WEIR_OK ||
        spread_groups(lowering, node, 2, shape.dims[1], &inputs[2], err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &shape, err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {inputs, &output, 3, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static enum weir_status lower_lrn(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_LRN,
                                  .norm = {.axis = 1, .alpha = 1e-4f, .beta = 0.75f, .bias = 1.0f}};
    struct norm *norm = &operation.norm;
    if (need_channels(lowering, node, 0, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "size", &norm->size, err) != WEIR_OK ||
        node_float(lowering->graph, node, "alpha", &norm->alpha, err) != WEIR_OK ||
        node_float(lowering->graph, node, "beta", &norm->beta, err) != WEIR_OK ||
        node_float(lowering->graph, node, "bias", &norm->bias, err) != WEIR_OK)
        return err->status;
    if (norm->size < 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "size is %lld", (long long)norm->size);
    if (lower_define(lowering, node, 0, TENSOR_F32, &x->shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}

static enum weir_status lower_lp_norm(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_LP_NORM, .norm = {.size = 2}};
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_reduce_read_axis(lowering, node, x, -1, &operation.norm.axis, err) != WEIR_OK ||
        node_int(lowering->graph, node, "p", &operation.norm.size, err) != WEIR_OK)
        return err->status;
    if (operation.norm.size != 1 && operation.norm.size != 2)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "p=%lld; supported: 1 and 2",
                         (long long)operation.norm.size);
    if (lower_define(lowering, node, 0, TENSOR_F32, &x->shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}

/* Buffers of one MeanVarianceNormalization. */
struct mean_variance {
    uint32_t axes;
    int x, mean, centred, squares, variance, y;
};

/* (x - mean) / (sqrt(mean of (x - mean)^2) + 1e-9). */
static enum weir_status add_mean_variance(struct lowering *lowering, const struct graph_node *node,
                                          const struct mean_variance *of, struct weir_error *err) {
    const struct operation mean = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_MEAN, of->axes}};
    const struct operation subtract = {.kind = OPERATION_BINARY, .binary = BINARY_SUBTRACT};
    const struct operation multiply = {.kind = OPERATION_BINARY, .binary = BINARY_MULTIPLY};
    const struct operation root = {.kind = OPERATION_UNARY, .unary = {UNARY_SQRT, 0, 0}};
    const struct operation shift = {.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 1, 1e-9f}};
    const struct operation divide = {.kind = OPERATION_BINARY, .binary = BINARY_DIVIDE};
    const struct {
        const struct operation *operation;
        int a, b, y;
    } steps[] = {
        {&mean, of->x, GRAPH_NONE, of->mean},
        {&subtract, of->x, of->mean, of->centred},
        {&multiply, of->centred, of->centred, of->squares},
        {&mean, of->squares, GRAPH_NONE, of->variance},
        {&root, of->variance, GRAPH_NONE, of->mean},
        {&shift, of->mean, GRAPH_NONE, of->variance},
        {&divide, of->centred, of->variance, of->y},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int inputs[2] = {steps[i].a, steps[i].b};
        struct lower_wires wires = {inputs, &steps[i].y, steps[i].b < 0 ? 1 : 2, 1};
        if (lower_wired_step(lowering, node, steps[i].operation, &wires, err) != WEIR_OK)
            return err->status;
    }
    return WEIR_OK;
}

static enum weir_status lower_mean_variance(struct lowering *lowering, const struct graph_node *node,
                                            struct weir_error *err) {
    const struct fact *x;
    struct shapes_list list;
    struct mean_variance of = {0};
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, -1, "axes", &list, err) != WEIR_OK)
        return err->status;
    if (list.count < 0)
        list = (struct shapes_list){{0, 2, 3}, 3};
    struct tensor_shape shape = x->shape, reduced = x->shape;
    for (int i = 0; i < list.count; i++) {
        int axis;
        if (!shapes_axis(list.items[i], shape.rank, &axis))
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions",
                             (long long)list.items[i], shape.rank);
        of.axes |= 1u << axis;
        reduced.dims[axis] = 1;
    }
    if (lower_input_buffer(lowering, node, 0, &of.x, err) != WEIR_OK ||
        lower_temporary(lowering, node, TENSOR_F32, &reduced, &of.mean, err) != WEIR_OK ||
        lower_temporary(lowering, node, TENSOR_F32, &reduced, &of.variance, err) != WEIR_OK ||
        lower_temporary(lowering, node, TENSOR_F32, &shape, &of.centred, err) != WEIR_OK ||
        lower_temporary(lowering, node, TENSOR_F32, &shape, &of.squares, err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &shape, err) != WEIR_OK)
        return err->status;
    of.y = lower_output_buffer(lowering, node, 0);
    return add_mean_variance(lowering, node, &of, err);
}

static const struct operator_entry entries[] = {
    {"BatchNormalization", " epsilon momentum spatial training_mode ", 5, 5, 5, lower_batch_norm},
    {"GroupNormalization", " epsilon num_groups stash_type ", 3, 3, 1, lower_group_norm},
    {"Hardmax", " axis ", 1, 1, 1, lower_softmax},
    {"InstanceNormalization", " epsilon ", 3, 3, 1, lower_instance_norm},
    {"LRN", " alpha beta bias size ", 1, 1, 1, lower_lrn},
    {"LayerNormalization", " axis epsilon stash_type ", 2, 3, 3, lower_layer_norm},
    {"LogSoftmax", " axis ", 1, 1, 1, lower_softmax},
    {"LpNormalization", " axis p ", 1, 1, 1, lower_lp_norm},
    {"MeanVarianceNormalization", " axes ", 1, 1, 1, lower_mean_variance},
    {"Softmax", " axis ", 1, 1, 1, lower_softmax},
};

const struct operator_family lower_norm_family = {entries, sizeof entries / sizeof entries[0]};
