/* Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND. */
#include <string.h>

#include "engine/graph/lower_move.h"
#include "engine/graph/node.h"

/* Data, and indices of an integer type. */
static enum weir_status need_both(const struct lowering *lowering, const struct graph_node *node,
                                  const struct fact **data, const struct fact **indices, struct weir_error *err) {
    if (lower_need(lowering, node, 0, data, err) != WEIR_OK || lower_need(lowering, node, 1, indices, err) != WEIR_OK)
        return err->status;
    if ((*indices)->dtype != TENSOR_I64 && (*indices)->dtype != TENSOR_I32)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its indices are %s, not int32 or int64",
                         tensor_dtype_text((*indices)->dtype));
    if ((*data)->shape.rank == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "it cannot take elements of a scalar");
    return WEIR_OK;
}

static enum weir_status read_axis(const struct lowering *lowering, const struct graph_node *node, int rank, int *axis,
                                  struct weir_error *err) {
    int64_t wanted = 0;
    if (node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK)
        return err->status;
    return lower_move_axis(lowering, node, wanted, rank, axis, err);
}

static enum weir_status too_many(const struct lowering *lowering, const struct graph_node *node, int rank,
                                 struct weir_error *err) {
    return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "%d dimensions; supported: at most %d", rank,
                     TENSOR_MAX_RANK);
}

/* Indices that are known must be within their dimension; others give zeros when the program runs. sizes: of the
 * dimensions that `width` of them, one after another, belong to. */
static enum weir_status check_range(const struct lowering *lowering, const struct graph_node *node,
                                    const struct fact *indices, const int64_t *sizes, size_t width,
                                    struct weir_error *err) {
    for (size_t i = 0; indices->known && i < indices->elements; i++) {
        int64_t size = sizes[i % width];
        int64_t index =
            indices->dtype == TENSOR_I64 ? ((const int64_t *)indices->known)[i] : ((const int32_t *)indices->known)[i];
        if (index < -size || index >= size)
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "index %lld of a dimension of %lld",
                             (long long)index, (long long)size);
    }
    return WEIR_OK;
}

enum weir_status lower_gather(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *data, *indices;
    struct operation operation = {.kind = OPERATION_GATHER};
    int axis;
    if (need_both(lowering, node, &data, &indices, err) != WEIR_OK ||
        read_axis(lowering, node, data->shape.rank, &axis, err) != WEIR_OK ||
        check_range(lowering, node, indices, &data->shape.dims[axis], 1, err) != WEIR_OK)
        return err->status;
    operation.gather.axis = axis;
    int rank = data->shape.rank - 1 + indices->shape.rank;
    struct tensor_shape shape = {.rank = 0};
    if (rank > TENSOR_MAX_RANK)
        return too_many(lowering, node, rank, err);
    for (int d = 0; d < axis; d++)
        shape.dims[shape.rank++] = data->shape.dims[d];
    for (int d = 0; d < indices->shape.rank; d++)
        shape.dims[shape.rank++] = indices->shape.dims[d];
    for (int d = axis + 1; d < data->shape.rank; d++)
        shape.dims[shape.rank++] = data->shape.dims[d];
    return lower_move_step(lowering, node, &operation, &shape, 2, err);
}

/* Are indices of the data's rank, nowhere larger but along the axis, and within it where they are known? */
static enum weir_status check_elements(const struct lowering *lowering, const struct graph_node *node,
                                       const struct fact *data, const struct fact *indices, int axis,
                                       struct weir_error *err) {
    char have[160], other[160];
    bool fits = indices->shape.rank == data->shape.rank;
    for (int d = 0; fits && d < data->shape.rank; d++)
        fits = d == axis || indices->shape.dims[d] <= data->shape.dims[d];
    if (!fits)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "indices of %s do not fit data of %s",
                         tensor_shape_text(&indices->shape, have, sizeof have),
                         tensor_shape_text(&data->shape, other, sizeof other));
    return check_range(lowering, node, indices, &data->shape.dims[axis], 1, err);
}

enum weir_status lower_gather_elements(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    const struct fact *data, *indices;
    struct operation operation = {.kind = OPERATION_GATHER_ELEMENTS};
    int axis;
    if (need_both(lowering, node, &data, &indices, err) != WEIR_OK ||
        read_axis(lowering, node, data->shape.rank, &axis, err) != WEIR_OK ||
        check_elements(lowering, node, data, indices, axis, err) != WEIR_OK)
        return err->status;
    operation.gather.axis = axis;
    return lower_move_step(lowering, node, &operation, &indices->shape, 2, err);
}

/* What tuples of indices choose: their own shape without the last dimension, then the data's dimensions behind those
 * that a tuple names. */
static enum weir_status tuples_shape(const struct lowering *lowering, const struct graph_node *node, int batch_dims,
                                     struct tensor_shape *shape, struct weir_error *err) {
    const struct fact *data, *indices;
    if (need_both(lowering, node, &data, &indices, err) != WEIR_OK)
        return err->status;
    const struct tensor_shape *x = &data->shape, *at = &indices->shape;
    char have[160], other[160];
    int64_t width = at->rank > 0 ? at->dims[at->rank - 1] : -1;
    bool fits = batch_dims >= 0 && batch_dims < at->rank && width >= 0 && width <= x->rank - batch_dims;
    for (int d = 0; fits && d < batch_dims; d++)
        fits = x->dims[d] == at->dims[d];
    if (!fits)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "indices of %s do not fit data of %s",
                         tensor_shape_text(at, have, sizeof have), tensor_shape_text(x, other, sizeof other));
    int behind = batch_dims + (int)width, rank = at->rank - 1 + x->rank - behind;
    if (rank > TENSOR_MAX_RANK)
        return too_many(lowering, node, rank, err);
    *shape = (struct tensor_shape){.rank = 0};
    for (int d = 0; d < at->rank - 1; d++)
        shape->dims[shape->rank++] = at->dims[d];
    for (int d = behind; d < x->rank; d++)
        shape->dims[shape->rank++] = x->dims[d];
    return check_range(lowering, node, indices, x->dims + batch_dims, (size_t)width, err);
}

enum weir_status lower_gather_nd(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_GATHER_ND};
    struct tensor_shape shape;
    int64_t batch_dims = 0;
    if (node_int(lowering->graph, node, "batch_dims", &batch_dims, err) != WEIR_OK)
        return err->status;
    if (batch_dims < 0 || batch_dims > TENSOR_MAX_RANK)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "batch_dims %lld", (long long)batch_dims);
    operation.gather.batch_dims = (int)batch_dims;
    if (tuples_shape(lowering, node, (int)batch_dims, &shape, err) != WEIR_OK)
        return err->status;
    return lower_move_step(lowering, node, &operation, &shape, 2, err);
}

/* The updates, which have the data's type and that shape, and the way they are applied. */
static enum weir_status read_updates(const struct lowering *lowering, const struct graph_node *node,
                                     const struct tensor_shape *shape, struct operation *operation,
                                     struct weir_error *err) {
    static const char *const reductions[] = {"none", "add", "mul", "max", "min", NULL}; /* in the enum's order */
    const struct fact *data, *updates;
    char have[160], other[160];
    int reduction = SCATTER_SET;
    if (lower_need(lowering, node, 0, &data, err) != WEIR_OK ||
        lower_need(lowering, node, 2, &updates, err) != WEIR_OK ||
        node_word(lowering->graph, node, "reduction", reductions, &reduction, err) != WEIR_OK)
        return err->status;
    bool same = updates->dtype == data->dtype && updates->shape.rank == shape->rank;
    for (int d = 0; same && d < shape->rank; d++)
        same = updates->shape.dims[d] == shape->dims[d];
    if (!same)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "updates are %s %s, not %s %s",
                         tensor_dtype_text(updates->dtype), tensor_shape_text(&updates->shape, have, sizeof have),
                         tensor_dtype_text(data->dtype), tensor_shape_text(shape, other, sizeof other));
    operation->gather.reduction = reduction;
    return WEIR_OK;
}

enum weir_status lower_gather_scatter(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *data, *indices;
    struct operation operation = {.kind = OPERATION_SCATTER_ELEMENTS};
    int axis;
    if (need_both(lowering, node, &data, &indices, err) != WEIR_OK ||
        read_axis(lowering, node, data->shape.rank, &axis, err) != WEIR_OK ||
        check_elements(lowering, node, data, indices, axis, err) != WEIR_OK ||
        read_updates(lowering, node, &indices->shape, &operation, err) != WEIR_OK)
        return err->status;
    operation.gather.axis = axis;
    return lower_move_step(lowering, node, &operation, &data->shape, 3, err);
}

enum weir_status lower_gather_scatter_nd(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err) {
    const struct fact *data, *indices;
    struct operation operation = {.kind = OPERATION_SCATTER_ND};
    struct tensor_shape shape;
    if (need_both(lowering, node, &data, &indices, err) != WEIR_OK ||
        tuples_shape(lowering, node, 0, &shape, err) != WEIR_OK ||
        read_updates(lowering, node, &shape, &operation, err) != WEIR_OK)
        return err->status;
    return lower_move_step(lowering, node, &operation, &data->shape, 3, err);
}
