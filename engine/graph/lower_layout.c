/* Operators that leave every element where it is: the result is the input under another shape, or the shape itself. */
#include <string.h>

#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/shapes.h"

static enum weir_status fail_shape(const struct lowering *lowering, const struct graph_node *node, const struct fact *x,
                                   const char *what, struct weir_error *err) {
    char text[160];
    return node_fail(lowering->graph, node, err, WEIR_INVALID, "of %s: %s",
                     tensor_shape_text(&x->shape, text, sizeof text), what);
}

/* A file exported with a fixed batch holds that number in its wanted shapes. The first dimension that differs from x's
 * is taken for it (or for a multiple: heads of attention behind the batch) where the elements fit only so, and beside
 * a -1 where it multiplies up to x's dimension with what follows. */
static void exchange_batch(const struct lowering *lowering, const struct fact *x, int inferred,
                           struct tensor_shape *shape) {
    int first = 0;
    int64_t fixed = lowering->graph->fixed_batch, product;
    size_t elements;
    while (first < shape->rank && first < x->shape.rank && shape->dims[first] == x->shape.dims[first])
        first++;
    if (fixed == 0 || lowering->rows == 0 || first == shape->rank || first == inferred ||
        shape->dims[first] % fixed != 0 ||
        __builtin_mul_overflow(shape->dims[first] / fixed, (int64_t)lowering->rows, &product))
        return;
    int64_t exchanged = product;
    if (inferred < 0) {
        if (!tensor_shape_elements(shape, 0, &elements) || elements != x->elements)
            shape->dims[first] = exchanged;
        return;
    }
    for (int i = first + 1; first < x->shape.rank; i++) {
        if (product == x->shape.dims[first]) {
            shape->dims[first] = exchanged;
            return;
        }
        if (i >= shape->rank || i == inferred || product > x->shape.dims[first] ||
            __builtin_mul_overflow(product, shape->dims[i], &product))
            return;
    }
}

/* Gives the dimension that was -1 its size, or checks that the sizes fit. */
static bool fit_elements(const struct fact *x, int inferred, struct tensor_shape *shape) {
    size_t others;
    if (inferred >= 0)
        shape->dims[inferred] = 1;
    if (!tensor_shape_elements(shape, 0, &others))
        return false;
    if (inferred < 0)
        return others == x->elements;
    if (others == 0 || x->elements % others != 0)
        return false;
    shape->dims[inferred] = (int64_t)(x->elements / others);
    return true;
}

static enum weir_status lower_reshape(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *x;
    struct shapes_list wanted = {.count = -1};
    int64_t allow_zero = 0;
    int inferred = -1;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, NULL, &wanted, err) != WEIR_OK ||
        node_int(lowering->graph, node, "allowzero", &allow_zero, err) != WEIR_OK)
        return err->status;
    if (wanted.count < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its shape is missing");
    struct tensor_shape shape = {.rank = wanted.count};
    for (int i = 0; i < wanted.count; i++) {
        int64_t dim = wanted.items[i];
        if (dim < -1 || (dim == -1 && inferred >= 0) || (dim == 0 && !allow_zero && i >= x->shape.rank))
            return fail_shape(lowering, node, x, "the wanted shape is wrong", err);
        if (dim == -1)
            inferred = i;
        shape.dims[i] = dim == 0 && !allow_zero ? x->shape.dims[i] : dim;
    }
    const struct graph_value *list = node_input(lowering->graph, node, 1);
    if (list && list->constant && lowering->rows != lowering->graph->fixed_batch)
        exchange_batch(lowering, x, inferred, &shape);
    if (!fit_elements(x, inferred, &shape)) {
        char text[160];
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "%zu elements do not fit the wanted shape %s",
                         x->elements, tensor_shape_text(&shape, text, sizeof text));
    }
    return lower_alias(lowering, node, 0, 0, &shape, err);
}

static enum weir_status lower_flatten(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *x;
    int64_t axis = 1;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "axis", &axis, err) != WEIR_OK)
        return err->status;
    int rank = x->shape.rank;
    if (axis < -(int64_t)rank || axis > rank)
        return fail_shape(lowering, node, x, "the axis is outside the rank", err);
    int at = (int)(axis < 0 ? axis + rank : axis);
    struct tensor_shape shape = {
        .rank = 2, .dims = {(int64_t)shapes_product(&x->shape, 0, at), (int64_t)shapes_product(&x->shape, at, rank)}};
    return lower_alias(lowering, node, 0, 0, &shape, err);
}

static enum weir_status lower_squeeze(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *x;
    struct shapes_list axes = {.count = -1};
    bool drop[TENSOR_MAX_RANK] = {false};
    struct tensor_shape shape = {0};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, "axes", &axes, err) != WEIR_OK)
        return err->status;
    for (int i = 0; axes.count < 0 && i < x->shape.rank; i++)
        drop[i] = x->shape.dims[i] == 1;
    for (int i = 0; i < axes.count; i++) {
        int axis;
        if (!shapes_axis(axes.items[i], x->shape.rank, &axis))
            return fail_shape(lowering, node, x, "an axis is outside the rank", err);
        if (x->shape.dims[axis] != 1)
            return fail_shape(lowering, node, x, "a dropped dimension is not 1", err);
        drop[axis] = true;
    }
    for (int i = 0; i < x->shape.rank; i++)
        if (!drop[i])
            shape.dims[shape.rank++] = x->shape.dims[i];
    return lower_alias(lowering, node, 0, 0, &shape, err);
}

static enum weir_status lower_unsqueeze(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    const struct fact *x;
    struct shapes_list axes = {.count = -1};
    bool added[TENSOR_MAX_RANK] = {false};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, "axes", &axes, err) != WEIR_OK)
        return err->status;
    if (axes.count < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its axes are missing");
    struct tensor_shape shape = {.rank = x->shape.rank + axes.count};
    if (shape.rank > TENSOR_MAX_RANK)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "%d dimensions; supported: at most %d",
                         shape.rank, TENSOR_MAX_RANK);
    for (int i = 0; i < axes.count; i++) {
        int axis;
        if (!shapes_axis(axes.items[i], shape.rank, &axis) || added[axis])
            return fail_shape(lowering, node, x, "an axis is outside the rank, or there twice", err);
        added[axis] = true;
    }
    for (int i = 0, from = 0; i < shape.rank; i++)
        shape.dims[i] = added[i] ? 1 : x->shape.dims[from++];
    return lower_alias(lowering, node, 0, 0, &shape, err);
}

/* A possibly negative end of Shape's range, brought into 0..rank. */
static int clamp_end(int64_t end, int rank) {
    end += end < 0 ? rank : 0;
    return (int)(end < 0 ? 0 : end > rank ? rank : end);
}

static enum weir_status lower_shape(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    int64_t start = 0, end = INT64_MAX;
    void *bytes;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "start", &start, err) != WEIR_OK ||
        node_int(lowering->graph, node, "end", &end, err) != WEIR_OK)
        return err->status;
    int from = clamp_end(start, x->shape.rank), to = clamp_end(end, x->shape.rank);
    struct tensor_shape shape = {.rank = 1, .dims = {to > from ? to - from : 0}};
    if (lower_known(lowering, node, 0, TENSOR_I64, &shape, &bytes, err) != WEIR_OK)
        return err->status;
    if (to > from)
        memcpy(bytes, x->shape.dims + from, (size_t)(to - from) * sizeof x->shape.dims[0]);
    return WEIR_OK;
}

static enum weir_status lower_size(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct tensor_shape scalar = {0};
    void *bytes;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_known(lowering, node, 0, TENSOR_I64, &scalar, &bytes, err) != WEIR_OK)
        return err->status;
    *(int64_t *)bytes = (int64_t)x->elements;
    return WEIR_OK;
}

static const struct operator_entry entries[] = {
    {"Flatten", " axis ", 1, 1, 1, lower_flatten},  {"Reshape", " allowzero ", 2, 2, 1, lower_reshape},
    {"Shape", " start end ", 1, 1, 1, lower_shape}, {"Size", " ", 1, 1, 1, lower_size},
    {"Squeeze", " axes ", 1, 2, 1, lower_squeeze},  {"Unsqueeze", " axes ", 1, 2, 1, lower_unsqueeze},
};

const struct operator_family lower_layout_family = {entries, sizeof entries / sizeof entries[0]};
