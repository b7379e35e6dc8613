#include "engine/graph/lower_layout.h"

#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

enum weir_status lower_layout_identity(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    struct graph_value *x;
    if (lower_computed(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    return lower_define(lowering, node, &x->shape, x->buffer, err);
}

enum weir_status lower_layout_cast(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    int64_t to = 0;
    struct graph_constant wanted = {0};
    if (node_int(lowering->graph, node, "to", &to, err) != WEIR_OK)
        return err->status;
    if (to <= 0 || to > INT32_MAX || !tensor_dtype_from_onnx((int32_t)to, &wanted.dtype) || !constant_is_float(&wanted))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "to ONNX type %lld; supported: float32, float16, bfloat16, float64 (all computed in float32)",
                         (long long)to);
    return lower_layout_identity(lowering, node, err);
}

enum weir_status lower_layout_dropout(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct graph_value *training = node_input(lowering->graph, node, 2);
    if (training && (!training->constant || training->constant->elements != 1 || training->constant->bytes[0] != 0))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "training_mode; supported: inference, with a constant false");
    return lower_layout_identity(lowering, node, err);
}

/* The list that the operator takes: as an input in newer opsets, as an attribute in older ones. */
static enum weir_status read_list(struct lowering *lowering, const struct graph_node *node, struct shapes_list *list,
                                  struct weir_error *err) {
    bool reshape = strcmp(node->op, "Reshape") == 0, transpose = strcmp(node->op, "Transpose") == 0;
    list->count = -1;
    if (strcmp(node->op, "Flatten") == 0)
        return WEIR_OK;
    if (node_list(lowering->graph, node, transpose ? -1 : 1,
                  reshape     ? NULL
                  : transpose ? "perm"
                              : "axes",
                  list, err) != WEIR_OK)
        return err->status;
    if (reshape && list->count < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its shape is missing");
    return WEIR_OK;
}

enum weir_status lower_layout_reshape(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    struct graph_value *x;
    struct shapes_list list;
    struct tensor_shape shape = {0};
    int64_t axis = 1, allow_zero = 0;
    int order[TENSOR_MAX_RANK];
    uint32_t fixed = lowering->graph->fixed_batch;
    const char *fault = "";
    char text[96];
    enum weir_status status;
    if (lower_computed(lowering, node, 0, &x, err) != WEIR_OK || read_list(lowering, node, &list, err) != WEIR_OK ||
        node_int(lowering->graph, node, "axis", &axis, err) != WEIR_OK ||
        node_int(lowering->graph, node, "allowzero", &allow_zero, err) != WEIR_OK)
        return err->status;
    if (strcmp(node->op, "Reshape") == 0)
        status = shapes_reshape(&x->shape, &list, allow_zero != 0, fixed, &shape, &fault);
    else if (strcmp(node->op, "Flatten") == 0)
        status = shapes_flatten(&x->shape, axis, &shape, &fault);
    else if (strcmp(node->op, "Squeeze") == 0)
        status = shapes_squeeze(&x->shape, &list, fixed, &shape, &fault);
    else if (strcmp(node->op, "Unsqueeze") == 0)
        status = shapes_unsqueeze(&x->shape, &list, &shape, &fault);
    else
        status = shapes_transpose(&x->shape, &list, order, &shape, &fault);
    if (status != WEIR_OK)
        return node_fail(lowering->graph, node, err, status, "of %s: %s",
                         tensor_shape_text(&x->shape, text, sizeof text), fault);
    return lower_define(lowering, node, &shape, x->buffer, err);
}

/* Checks that the inputs fit and gives the result's shape and axis. */
static enum weir_status concat_shape(struct lowering *lowering, const struct graph_node *node,
                                     struct tensor_shape *shape, int *axis, struct weir_error *err) {
    struct graph_value *x;
    int64_t wanted = 0, sum = 0;
    if (!graph_attribute(node, "axis"))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its axis is missing");
    if (node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK ||
        lower_computed(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    *shape = x->shape;
    if (!shapes_axis(wanted, shape->rank, axis))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions", (long long)wanted,
                         shape->rank);
    if (*axis == 0)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "axis 0 is the batch; supported: the other axes");
    for (int i = 0; i < node->input_count; i++) {
        if (lower_computed(lowering, node, i, &x, err) != WEIR_OK)
            return err->status;
        bool fits = x->shape.rank == shape->rank;
        for (int d = 0; fits && d < shape->rank; d++)
            fits = d == *axis || x->shape.dims[d] == shape->dims[d];
        if (!fits)
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d '%.64s' does not fit the first", i,
                             x->name);
        sum += x->shape.dims[*axis];
    }
    shape->dims[*axis] = sum;
    return WEIR_OK;
}

enum weir_status lower_layout_concat(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct tensor_shape shape;
    struct program_step *step;
    struct graph_value *x;
    int axis;
    if (concat_shape(lowering, node, &shape, &axis, err) != WEIR_OK ||
        lower_define(lowering, node, &shape, GRAPH_NONE, err) != WEIR_OK)
        return err->status;
    int y = node_output(lowering->graph, node, 0)->buffer;
    size_t offset = 0;
    for (int i = 0; i < node->input_count; i++) {
        if (lower_computed(lowering, node, i, &x, err) != WEIR_OK ||
            !(step = lower_step(lowering, node, PROGRAM_COPY, x->buffer, &y, err)))
            return err->status;
        size_t chunk = shapes_product(&x->shape, axis, shape.rank);
        step->copy = (struct program_copy){.outer = shapes_product(&shape, 1, axis),
                                           .chunk = chunk,
                                           .stride = shapes_product(&shape, axis, shape.rank),
                                           .offset = offset};
        offset += chunk;
    }
    return WEIR_OK;
}
