#include "engine/graph/lower_move.h"

#include <string.h>

#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/shapes.h"

enum weir_status lower_move_step(struct lowering *lowering, const struct graph_node *node,
                                 const struct operation *operation, const struct tensor_shape *shape, int inputs,
                                 struct weir_error *err) {
    enum { MOST_INPUTS = 3 };
    const struct fact *x;
    int buffers[MOST_INPUTS] = {-1, -1, -1};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_define(lowering, node, 0, x->dtype, shape, err) != WEIR_OK)
        return err->status;
    int output = lower_output_buffer(lowering, node, 0);
    if (output < 0)
        return WEIR_OK;
    for (int i = 0; i < inputs; i++)
        if (lower_input_buffer(lowering, node, i, &buffers[i], err) != WEIR_OK)
            return err->status;
    return lower_wired_step(lowering, node, operation, &(struct lower_wires){buffers, &output, inputs, 1}, err);
}

enum weir_status lower_move_axis(const struct lowering *lowering, const struct graph_node *node, int64_t axis, int rank,
                                 int *out, struct weir_error *err) {
    if (!shapes_axis(axis, rank, out))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions", (long long)axis, rank);
    return WEIR_OK;
}

enum weir_status lower_move_axes(const struct lowering *lowering, const struct graph_node *node, int input, int rank,
                                 struct shapes_list *axes, struct weir_error *err) {
    bool seen[TENSOR_MAX_RANK] = {false};
    if (lower_list(lowering, node, input, "axes", axes, err) != WEIR_OK)
        return err->status;
    if (axes->count < 0) {
        axes->count = rank;
        for (int i = 0; i < rank; i++)
            axes->items[i] = i;
    }
    for (int i = 0; i < axes->count; i++) {
        int axis;
        if (lower_move_axis(lowering, node, axes->items[i], rank, &axis, err) != WEIR_OK)
            return err->status;
        if (seen[axis])
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %d is there twice", axis);
        seen[axis] = true;
        axes->items[i] = axis;
    }
    return WEIR_OK;
}

enum weir_status lower_move_list(const struct lowering *lowering, const struct graph_node *node, int input,
                                 const char *attribute, struct lower_move_list *list, struct weir_error *err) {
    const struct fact *fact = lower_input(lowering, node, input);
    const struct graph_attribute *found = attribute && !fact ? graph_attribute(node, attribute) : NULL;
    list->count = -1;
    if (!fact && !found)
        return WEIR_OK;
    if (found && found->type != GRAPH_ATTRIBUTE_INTS)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "attribute %s is no list of integers", attribute);
    if (fact && !fact->known && fact->elements > 0)
        return node_fail(
            lowering->graph, node, err, WEIR_UNSUPPORTED,
            "input %d is computed from the input's numbers; supported: a constant, or computed from shapes", input);
    if (fact && fact->dtype != TENSOR_I64 && fact->dtype != TENSOR_I32)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d is %s, not int64", input,
                         tensor_dtype_text(fact->dtype));
    size_t count = fact ? fact->elements : found->item_count;
    if (count > (size_t)list->most)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "a list of %zu numbers, more than %d", count,
                         list->most);
    list->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        int32_t narrow;
        if (found) {
            list->items[i] = found->ints[i];
        } else if (fact->dtype == TENSOR_I64) {
            memcpy(&list->items[i], (const char *)fact->known + i * sizeof list->items[0], sizeof list->items[0]);
        } else {
            memcpy(&narrow, (const char *)fact->known + i * sizeof narrow, sizeof narrow);
            list->items[i] = narrow;
        }
    }
    return WEIR_OK;
}

/* Does that order leave every element in its place? */
static bool keeps_order(const struct tensor_shape *x, const int *order) {
    for (int i = 0, last = -1; i < x->rank; i++) {
        if (x->dims[order[i]] == 1)
            continue;
        if (order[i] < last)
            return false;
        last = order[i];
    }
    return true;
}

static enum weir_status lower_transpose(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    const struct fact *x;
    struct shapes_list order;
    bool seen[TENSOR_MAX_RANK] = {false};
    struct operation operation = {.kind = OPERATION_TRANSPOSE};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, -1, "perm", &order, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = {.rank = x->shape.rank};
    if (order.count >= 0 && order.count != shape.rank)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "perm has %d numbers for %d dimensions", order.count,
                         shape.rank);
    for (int i = 0; i < shape.rank; i++) {
        int64_t from = order.count < 0 ? shape.rank - 1 - i : order.items[i];
        if (from < 0 || from >= shape.rank || seen[from])
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "perm is no permutation");
        seen[from] = true;
        operation.transpose.order[i] = (int)from;
        shape.dims[i] = x->shape.dims[from];
    }
    if (keeps_order(&x->shape, operation.transpose.order))
        return lower_alias(lowering, node, 0, 0, &shape, err);
    return lower_move_step(lowering, node, &operation, &shape, 1, err);
}

/* NumPy's rules for one dimension of a slice. Returns how many elements it takes. */
static int64_t slice_dimension(int64_t size, int64_t end, int64_t *start, int64_t *step) {
    int64_t lowest = *step < 0 ? -1 : 0, highest = *step < 0 ? size - 1 : size;
    *start += *start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    *start = *start < 0 ? 0 : *start;
    *start = *start > highest ? highest : *start;
    end = end < lowest ? lowest : end > highest ? highest : end;
    int64_t span = *step < 0 ? *start - end : end - *start;
    uint64_t stride = *step < 0 ? -(uint64_t)*step : (uint64_t)*step;
    int64_t count = span <= 0 ? 0 : (int64_t)(1 + (uint64_t)(span - 1) / stride);
    *start = count == 0 ? 0 : *start;
    *step = count <= 1 ? 1 : *step;
    return count;
}

static enum weir_status lower_slice(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct shapes_list starts, ends, axes, steps;
    struct operation operation = {.kind = OPERATION_SLICE};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, "starts", &starts, err) != WEIR_OK ||
        lower_list(lowering, node, 2, "ends", &ends, err) != WEIR_OK ||
        lower_move_axes(lowering, node, 3, x->shape.rank, &axes, err) != WEIR_OK ||
        lower_list(lowering, node, 4, NULL, &steps, err) != WEIR_OK)
        return err->status;
    if (!lower_input(lowering, node, 3) && !graph_attribute(node, "axes") && starts.count < axes.count)
        axes.count = starts.count;
    if (starts.count < 0 || ends.count != starts.count || axes.count != starts.count ||
        (steps.count >= 0 && steps.count != starts.count))
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "its starts, ends, axes and steps are missing or differ in length");
    struct tensor_shape shape = x->shape;
    for (int d = 0; d < shape.rank; d++)
        operation.slice.step[d] = 1;
    for (int i = 0; i < starts.count; i++) {
        int64_t *start = &operation.slice.start[axes.items[i]], *step = &operation.slice.step[axes.items[i]];
        *start = starts.items[i];
        *step = steps.count < 0 ? 1 : steps.items[i];
        if (*step == 0)
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "a step is 0");
        shape.dims[axes.items[i]] = slice_dimension(shape.dims[axes.items[i]], ends.items[i], start, step);
    }
    bool whole = shapes_equal(&shape, &x->shape);
    for (int d = 0; d < shape.rank; d++)
        whole = whole && operation.slice.step[d] == 1;
    if (whole)
        return lower_alias(lowering, node, 0, 0, &shape, err);
    return lower_move_step(lowering, node, &operation, &shape, 1, err);
}

/* A constant of one row, in a file exported for one row, is the same for every row of a larger batch. */
static bool is_shared(const struct lowering *lowering, const struct graph_node *node, int input,
                      const struct tensor_shape *shape, int axis) {
    const struct graph_value *value = node_input(lowering->graph, node, input);
    return lowering->graph->fixed_batch == 1 && lowering->rows > 1 && axis > 0 && value && value->constant &&
           shape->dims[0] == 1;
}

/* The result's shape, but for its size along the axis. */
static enum weir_status concat_base(const struct lowering *lowering, const struct graph_node *node, int axis,
                                    const struct fact **base, struct weir_error *err) {
    const struct fact *x;
    for (int i = 0; i < node->input_count; i++) {
        if (lower_need(lowering, node, i, &x, err) != WEIR_OK)
            return err->status;
        if (x->shape.rank == (*base)->shape.rank && !is_shared(lowering, node, i, &x->shape, axis)) {
            *base = x;
            return WEIR_OK;
        }
    }
    return WEIR_OK;
}

/* The buffer of an input, repeated for every row where the file has it once. */
static enum weir_status concat_buffer(struct lowering *lowering, const struct graph_node *node, int input,
                                      const struct tensor_shape *shape, int *buffer, struct weir_error *err) {
    static const struct operation expand = {.kind = OPERATION_EXPAND};
    const struct fact *x = lower_input(lowering, node, input);
    int from;
    if (lower_input_buffer(lowering, node, input, &from, err) != WEIR_OK)
        return err->status;
    *buffer = from;
    if (shapes_equal(shape, &x->shape))
        return WEIR_OK;
    if (lower_temporary(lowering, node, x->dtype, shape, buffer, err) != WEIR_OK)
        return err->status;
    return lower_wired_step(lowering, node, &expand, &(struct lower_wires){&from, buffer, 1, 1}, err);
}

static enum weir_status lower_concat(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *base, *x;
    int64_t wanted = 1;
    int axis, buffers[GRAPH_MAX_NODE_VALUES], output;
    struct operation operation = {.kind = OPERATION_CONCAT};
    if (!graph_attribute(node, "axis"))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its axis is missing");
    if (node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK ||
        lower_need(lowering, node, 0, &base, err) != WEIR_OK ||
        lower_move_axis(lowering, node, wanted, base->shape.rank, &axis, err) != WEIR_OK ||
        concat_base(lowering, node, axis, &base, err) != WEIR_OK)
        return err->status;
    operation.axis = axis;
    struct tensor_shape shape = base->shape;
    shape.dims[axis] = 0;
    for (int i = 0; i < node->input_count; i++) {
        if (lower_need(lowering, node, i, &x, err) != WEIR_OK)
            return err->status;
        struct tensor_shape part = base->shape, repeated = x->shape;
        part.dims[axis] = repeated.rank > axis ? repeated.dims[axis] : 0;
        if (is_shared(lowering, node, i, &x->shape, axis))
            repeated.dims[0] = part.dims[0];
        if (x->dtype != base->dtype || !shapes_equal(&part, &repeated)) {
            char have[160], other[160];
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d, %s %s, does not fit %s %s", i,
                             tensor_dtype_text(x->dtype), tensor_shape_text(&x->shape, have, sizeof have),
                             tensor_dtype_text(base->dtype), tensor_shape_text(&base->shape, other, sizeof other));
        }
        shape.dims[axis] += part.dims[axis];
        if (node->input_count > 1 && concat_buffer(lowering, node, i, &part, &buffers[i], err) != WEIR_OK)
            return err->status;
    }
    if (node->input_count == 1)
        return lower_alias(lowering, node, 0, 0, &shape, err);
    if (lower_define(lowering, node, 0, base->dtype, &shape, err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    if (output < 0)
        return WEIR_OK;
    return lower_wired_step(lowering, node, &operation, &(struct lower_wires){buffers, &output, node->input_count, 1},
                            err);
}

/* How large each part is; all of them make up size. */
static enum weir_status split_sizes(struct lowering *lowering, const struct graph_node *node, int64_t size,
                                    int64_t *sizes, struct weir_error *err) {
    struct lower_move_list list = {sizes, GRAPH_MAX_NODE_VALUES, -1};
    int64_t parts = node->output_count, sum = 0;
    if (lower_move_list(lowering, node, 1, "split", &list, err) != WEIR_OK ||
        node_int(lowering->graph, node, "num_outputs", &parts, err) != WEIR_OK)
        return err->status;
    bool uneven = graph_attribute(node, "num_outputs");
    if (list.count < 0) {
        if (parts != node->output_count || (size % parts != 0 && !uneven))
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "%lld elements in %lld parts for %d outputs",
                             (long long)size, (long long)parts, node->output_count);
        int64_t part = (size + parts - 1) / parts, left = size;
        for (int i = 0; i < parts; i++, left -= sizes[i - 1])
            sizes[i] = left < part ? left : part;
        return WEIR_OK;
    }
    bool fits = list.count == node->output_count;
    for (int i = 0; fits && i < list.count; i++) {
        fits = sizes[i] >= 0 && sizes[i] <= size - sum;
        sum += fits ? sizes[i] : 0;
    }
    if (!fits || sum != size)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its parts do not make up %lld elements",
                         (long long)size);
    return WEIR_OK;
}

static enum weir_status lower_split(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    int64_t wanted = 0, sizes[GRAPH_MAX_NODE_VALUES];
    int axis, input;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK ||
        lower_move_axis(lowering, node, wanted, x->shape.rank, &axis, err) != WEIR_OK ||
        split_sizes(lowering, node, x->shape.dims[axis], sizes, err) != WEIR_OK)
        return err->status;
    struct operation operation = {.kind = OPERATION_SLICE};
    struct tensor_shape shape = x->shape;
    for (int d = 0; d < shape.rank; d++)
        operation.slice.step[d] = 1;
    if (node->output_count == 1)
        return lower_alias(lowering, node, 0, 0, &shape, err);
    if (lower_input_buffer(lowering, node, 0, &input, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < node->output_count; operation.slice.start[axis] += sizes[i++]) {
        shape.dims[axis] = sizes[i];
        if (lower_define(lowering, node, i, x->dtype, &shape, err) != WEIR_OK)
            return err->status;
        int output = lower_output_buffer(lowering, node, i);
        struct lower_wires wires = {&input, &output, 1, 1};
        if (output >= 0 && lower_wired_step(lowering, node, &operation, &wires, err) != WEIR_OK)
            return err->status;
    }
    return WEIR_OK;
}

/* A file exported with a fixed batch has that number in its wanted shape. */
static void exchange_batch(const struct lowering *lowering, const struct graph_node *node, const struct tensor_shape *x,
                           struct tensor_shape *target) {
    const struct graph_value *list = node_input(lowering->graph, node, 1);
    int64_t fixed = lowering->graph->fixed_batch;
    for (int d = 0; list && list->constant && fixed > 1 && d < target->rank; d++) {
        int from = d - (target->rank - x->rank);
        if (from >= 0 && target->dims[d] == fixed && x->dims[from] == (int64_t)lowering->rows)
            target->dims[d] = x->dims[from];
    }
}

static enum weir_status lower_expand(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct shapes_list wanted;
    struct tensor_shape target = {0}, shape;
    struct operation operation = {.kind = OPERATION_EXPAND};
    char have[160], other[160];
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, NULL, &wanted, err) != WEIR_OK)
        return err->status;
    if (wanted.count < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its shape is missing");
    target.rank = wanted.count;
    memcpy(target.dims, wanted.items, (size_t)wanted.count * sizeof wanted.items[0]);
    exchange_batch(lowering, node, &x->shape, &target);
    if (!shapes_broadcast(&x->shape, &target, &shape))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "%s does not broadcast to %s",
                         tensor_shape_text(&x->shape, have, sizeof have),
                         tensor_shape_text(&target, other, sizeof other));
    bool same = true;
    for (int d = 0; d < shape.rank; d++) {
        int from = d - (shape.rank - x->shape.rank);
        same = same && shape.dims[d] == (from < 0 ? 1 : x->shape.dims[from]);
    }
    if (same)
        return lower_alias(lowering, node, 0, 0, &shape, err);
    return lower_move_step(lowering, node, &operation, &shape, 1, err);
}

static enum weir_status lower_tile(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct shapes_list repeats;
    struct operation operation = {.kind = OPERATION_TILE};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, NULL, &repeats, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = x->shape;
    bool fits = repeats.count == shape.rank;
    for (int d = 0; fits && d < shape.rank; d++)
        fits = repeats.items[d] >= 0 && !__builtin_mul_overflow(shape.dims[d], repeats.items[d], &shape.dims[d]);
    if (!fits)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its repeats do not fit %d dimensions", shape.rank);
    if (shapes_equal(&shape, &x->shape))
        return lower_alias(lowering, node, 0, 0, &shape, err);
    return lower_move_step(lowering, node, &operation, &shape, 1, err);
}

/* Input 0 under the shape `inside`, in another order, is output 0 under `shape`: aliases and one step. */
static enum weir_status reorder(struct lowering *lowering, const struct graph_node *node,
                                const struct tensor_shape *inside, const int order[6], const struct tensor_shape *shape,
                                struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_TRANSPOSE};
    struct tensor_shape turned = {.rank = inside->rank};
    int input, from, to;
    for (int i = 0; i < inside->rank; i++) {
        operation.transpose.order[i] = order[i];
        turned.dims[i] = inside->dims[order[i]];
    }
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_define(lowering, node, 0, x->dtype, shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &input, err) != WEIR_OK)
        return err->status;
    int output = lower_output_buffer(lowering, node, 0);
    if (output < 0)
        return WEIR_OK;
    if (lower_temporary_alias(lowering, node, input, inside, &from, err) != WEIR_OK ||
        lower_temporary_alias(lowering, node, output, &turned, &to, err) != WEIR_OK)
        return err->status;
    return lower_wired_step(lowering, node, &operation, &(struct lower_wires){&from, &to, 1, 1}, err);
}

/* DepthToSpace and SpaceToDepth. */
static enum weir_status lower_blocks(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    static const char *const modes[] = {"DCR", "CRD", NULL};
    static const int orders[3][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}, {0, 3, 5, 1, 2, 4}};
    const struct fact *x;
    bool to_depth = strcmp(node->op, "SpaceToDepth") == 0;
    int64_t block = 0;
    int mode = 0;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "blocksize", &block, err) != WEIR_OK ||
        node_word(lowering->graph, node, "mode", modes, &mode, err) != WEIR_OK)
        return err->status;
    const int64_t *dims = x->shape.dims;
    bool fits = x->shape.rank == 4 && block >= 1 && block < INT32_MAX;
    if (!fits || (to_depth ? dims[2] % block != 0 || dims[3] % block != 0 : dims[1] % (block * block) != 0))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "blocks of %lld do not fit its input",
                         (long long)block);
    int64_t n = dims[0], c = dims[1], h = dims[2], w = dims[3], area = block * block;
    struct tensor_shape inside = {.rank = 6, .dims = {n, c, h / block, block, w / block, block}};
    struct tensor_shape shape = {.rank = 4, .dims = {n, c * area, h / block, w / block}};
    if (!to_depth) {
        inside = mode == 0 ? (struct tensor_shape){.rank = 6, .dims = {n, block, block, c / area, h, w}}
                           : (struct tensor_shape){.rank = 6, .dims = {n, c / area, block, block, h, w}};
        shape = (struct tensor_shape){.rank = 4, .dims = {n, c / area, h * block, w * block}};
    }
    return reorder(lowering, node, &inside, orders[to_depth ? 2 : mode], &shape, err);
}

static const struct operator_entry entries[] = {
    {"Concat", " axis ", 1, GRAPH_MAX_NODE_VALUES, 1, lower_concat},
    {"DepthToSpace", " blocksize mode ", 1, 1, 1, lower_blocks},
    {"Expand", " ", 2, 2, 1, lower_expand},
    {"Gather", " axis ", 2, 2, 1, lower_gather},
    {"GatherElements", " axis ", 2, 2, 1, lower_gather_elements},
    {"GatherND", " batch_dims ", 2, 2, 1, lower_gather_nd},
    {"Pad", " axes mode pads value ", 1, 4, 1, lower_pad},
    {"Resize",
     " antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value"
     " keep_aspect_ratio_policy mode nearest_mode ",
     1, 4, 1, lower_resize},
    {"Scatter", " axis ", 3, 3, 1, lower_gather_scatter},
    {"ScatterElements", " axis reduction ", 3, 3, 1, lower_gather_scatter},
    {"ScatterND", " reduction ", 3, 3, 1, lower_gather_scatter_nd},
    {"Slice", " axes ends starts ", 1, 5, 1, lower_slice},
    {"SpaceToDepth", " blocksize ", 1, 1, 1, lower_blocks},
    {"Split", " axis num_outputs split ", 1, 2, GRAPH_MAX_NODE_VALUES, lower_split},
    {"Tile", " ", 2, 2, 1, lower_tile},
    {"Transpose", " perm ", 1, 1, 1, lower_transpose},
    {"Upsample", " mode scales ", 1, 2, 1, lower_resize},
};

const struct operator_family lower_move_family = {entries, sizeof entries / sizeof entries[0]};
