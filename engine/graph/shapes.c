#include "engine/graph/shapes.h"

#include <string.h>

static bool is_batch(const struct tensor_shape *shape) {
    return shape->rank > 0 && shape->dims[0] == -1;
}

static enum weir_status fail(enum weir_status status, const char **fault, const char *why) {
    *fault = why;
    return status;
}

size_t shapes_product(const struct tensor_shape *shape, int from, int to) {
    size_t product = 1;
    for (int i = from; i < to; i++)
        product *= (size_t)shape->dims[i];
    return product;
}

bool shapes_equal(const struct tensor_shape *a, const struct tensor_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

bool shapes_axis(int64_t axis, int rank, int *out) {
    if (axis < -(int64_t)rank || axis >= rank)
        return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

/* Copies what 0 stands for. *inferred is the place of -1, or -1. */
static enum weir_status resolve(const struct tensor_shape *in, const struct shapes_list *wanted, bool allow_zero,
                                struct tensor_shape *out, int *inferred, const char **fault) {
    out->rank = wanted->count;
    *inferred = -1;
    for (int i = 0; i < wanted->count; i++) {
        int64_t dim = wanted->items[i];
        if (dim < -1 || (dim == 0 && !allow_zero && i >= in->rank) || (dim == -1 && *inferred >= 0))
            return fail(WEIR_INVALID, fault, "the wanted shape is wrong");
        if (dim == 0 && allow_zero)
            return fail(WEIR_UNSUPPORTED, fault, "empty shapes are not supported");
        if (dim == -1)
            *inferred = i;
        out->dims[i] = dim == 0 ? in->dims[i] : dim;
    }
    return WEIR_OK;
}

enum weir_status shapes_reshape(const struct tensor_shape *in, const struct shapes_list *wanted, bool allow_zero,
                                uint32_t fixed_batch, struct tensor_shape *out, const char **fault) {
    struct tensor_shape shape = {0};
    bool batch = is_batch(in);
    int inferred, from = batch ? 1 : 0;
    size_t elements, known;
    enum weir_status status = resolve(in, wanted, allow_zero, &shape, &inferred, fault);
    if (status != WEIR_OK)
        return status;
    if (!tensor_shape_elements(in, from, &elements))
        return fail(WEIR_INVALID, fault, "the shape overflows");
    if (batch && shape.rank == 0)
        return fail(WEIR_UNSUPPORTED, fault, "the batch dimension would go; supported: [0, ...] or [-1, ...]");
    if (batch && inferred == 0)
        inferred = -1; /* the batch itself, if the rest makes one row */
    else if (batch && shape.dims[0] != -1 && shape.dims[0] != fixed_batch)
        return fail(WEIR_UNSUPPORTED, fault, "it would mix the rows of a batch; supported: [0, ...] or [-1, ...]");
    if (batch)
        shape.dims[0] = -1;
    if (inferred >= 0)
        shape.dims[inferred] = 1;
    if (!tensor_shape_elements(&shape, from, &known))
        return fail(WEIR_INVALID, fault, "the wanted shape overflows");
    if (inferred >= 0) {
        if (known == 0 || elements % known != 0)
            return fail(WEIR_INVALID, fault, "the wanted shape does not divide the elements");
        shape.dims[inferred] = (int64_t)(elements / known);
    } else if (known != elements) {
        return batch && wanted->items[0] == -1
                   ? fail(WEIR_UNSUPPORTED, fault, "it would mix the rows of a batch; supported: [0, ...] or [-1, ...]")
                   : fail(WEIR_INVALID, fault, "the wanted shape holds another number of elements");
    }
    *out = shape;
    return WEIR_OK;
}

enum weir_status shapes_flatten(const struct tensor_shape *in, int64_t axis, struct tensor_shape *out,
                                const char **fault) {
    if (axis < -(int64_t)in->rank || axis > in->rank)
        return fail(WEIR_INVALID, fault, "the axis is outside the rank");
    int at = (int)(axis < 0 ? axis + in->rank : axis);
    struct tensor_shape shape = {.rank = 2};
    if (is_batch(in)) {
        if (at == 0 || shapes_product(in, 1, at) != 1)
            return fail(WEIR_UNSUPPORTED, fault, "it would mix the rows of a batch; supported: axis 1");
        shape.dims[0] = -1;
    } else {
        shape.dims[0] = (int64_t)shapes_product(in, 0, at);
    }
    shape.dims[1] = (int64_t)shapes_product(in, at, in->rank);
    *out = shape;
    return WEIR_OK;
}

enum weir_status shapes_squeeze(const struct tensor_shape *in, const struct shapes_list *axes, uint32_t fixed_batch,
                                struct tensor_shape *out, const char **fault) {
    bool drop[TENSOR_MAX_RANK] = {false};
    struct tensor_shape shape = {0};
    if (axes->count < 0 && is_batch(in) && fixed_batch == 1)
        return fail(WEIR_UNSUPPORTED, fault, "without axes it would drop the batch of 1; supported: given axes");
    for (int i = 0; axes->count < 0 && i < in->rank; i++)
        drop[i] = in->dims[i] == 1;
    for (int i = 0; i < axes->count; i++) {
        int axis;
        if (!shapes_axis(axes->items[i], in->rank, &axis))
            return fail(WEIR_INVALID, fault, "an axis is outside the rank");
        if (in->dims[axis] == -1)
            return fail(WEIR_UNSUPPORTED, fault, "it would drop the batch dimension");
        if (in->dims[axis] != 1)
            return fail(WEIR_INVALID, fault, "a dropped dimension is not 1");
        drop[axis] = true;
    }
    for (int i = 0; i < in->rank; i++)
        if (!drop[i])
            shape.dims[shape.rank++] = in->dims[i];
    *out = shape;
    return WEIR_OK;
}

enum weir_status shapes_unsqueeze(const struct tensor_shape *in, const struct shapes_list *axes,
                                  struct tensor_shape *out, const char **fault) {
    bool added[TENSOR_MAX_RANK] = {false};
    struct tensor_shape shape = {.rank = in->rank + axes->count};
    if (axes->count < 0)
        return fail(WEIR_INVALID, fault, "no axes are given");
    if (shape.rank > TENSOR_MAX_RANK)
        return fail(WEIR_UNSUPPORTED, fault, "more than 8 dimensions");
    for (int i = 0; i < axes->count; i++) {
        int axis;
        if (!shapes_axis(axes->items[i], shape.rank, &axis) || added[axis])
            return fail(WEIR_INVALID, fault, "an axis is outside the rank, or there twice");
        if (axis == 0 && is_batch(in))
            return fail(WEIR_UNSUPPORTED, fault, "it would move the batch dimension");
        added[axis] = true;
    }
    for (int i = 0, from = 0; i < shape.rank; i++)
        shape.dims[i] = added[i] ? 1 : in->dims[from++];
    *out = shape;
    return WEIR_OK;
}

enum weir_status shapes_transpose(const struct tensor_shape *in, const struct shapes_list *permutation,
                                  int order[TENSOR_MAX_RANK], struct tensor_shape *out, const char **fault) {
    bool seen[TENSOR_MAX_RANK] = {false}, moves = false;
    struct tensor_shape shape = {.rank = in->rank};
    int last = -1;
    if (permutation->count >= 0 && permutation->count != in->rank)
        return fail(WEIR_INVALID, fault, "the permutation has another length than the shape");
    for (int i = 0; i < in->rank; i++) {
        int64_t from = permutation->count < 0 ? in->rank - 1 - i : permutation->items[i];
        if (from < 0 || from >= in->rank || seen[from])
            return fail(WEIR_INVALID, fault, "perm is no permutation");
        seen[from] = true;
        order[i] = (int)from;
        shape.dims[i] = in->dims[from];
        if (shape.dims[i] != 1) {
            moves = moves || from < last;
            last = (int)from;
        }
    }
    if (is_batch(in) && (moves || shape.dims[0] != -1))
        return fail(WEIR_UNSUPPORTED, fault, "it would move elements of a batch; supported: constants");
    *out = shape;
    return WEIR_OK;
}

enum weir_status shapes_broadcast(const struct tensor_shape *batch, const struct tensor_shape *constant, size_t *period,
                                  const char **fault) {
    int lead = batch->rank - constant->rank, first = batch->rank;
    bool suffix = true;
    for (int i = 0; i < constant->rank; i++) {
        int axis = lead + i;
        int64_t dim = constant->dims[i];
        if (axis < 0 && dim != 1)
            return fail(WEIR_UNSUPPORTED, fault, "the constant has more dimensions than the batch");
        if (axis == 0 && dim != 1)
            return fail(WEIR_UNSUPPORTED, fault,
                        "the constant differs from row to row of the batch; supported: one for all rows");
        if (axis <= 0 || dim == 1)
            continue;
        if (batch->dims[axis] == 1)
            return fail(WEIR_UNSUPPORTED, fault, "the constant would widen the row");
        if (batch->dims[axis] != dim)
            return fail(WEIR_INVALID, fault, "the shapes do not fit");
        if (first == batch->rank)
            first = axis;
    }
    for (int axis = first; axis < batch->rank; axis++)
        suffix = suffix && constant->dims[axis - lead] == batch->dims[axis];
    if (lead < 0)
        return fail(WEIR_UNSUPPORTED, fault, "the constant has more dimensions than the batch");
    *period = first == batch->rank ? 1 : suffix ? shapes_product(batch, first, batch->rank) : 0;
    return WEIR_OK;
}
