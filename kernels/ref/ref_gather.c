#include "kernels/ref/ref_gather.h"

#include <math.h>
#include <string.h>

#include "kernels/ref/ref_walk.h"

int64_t ref_gather_index(const struct view *indices, size_t at, size_t size) {
    int64_t index =
        indices->element == ELEMENT_I32 ? ((const int32_t *)indices->data)[at] : ((const int64_t *)indices->data)[at];
    if (index < 0)
        index += (int64_t)size;
    return index >= 0 && index < (int64_t)size ? index : -1;
}

/* y[to..to+count) = x[from..from+count), zeros where from is -1. */
static void copy_run(const struct view *y, size_t to, const struct view *x, int64_t from, size_t count) {
    size_t bytes = view_element_bytes(y->element);
    char *place = (char *)y->data + to * bytes;
    if (count == 0)
        return;
    if (from < 0)
        memset(place, 0, count * bytes);
    else
        memcpy(place, (const char *)x->data + (size_t)from * bytes, count * bytes);
}

void ref_gather(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    (void)scratch;
    const struct view *data = &inputs[0], *indices = &inputs[1];
    int axis = operation->gather.axis;
    size_t outer = view_product(data, 0, axis), inner = view_product(data, axis + 1, data->rank);
    size_t size = data->dims[axis], count = view_count(indices);
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < count; i++) {
            int64_t index = ref_gather_index(indices, i, size);
            int64_t from = index < 0 ? -1 : (int64_t)((o * size + (size_t)index) * inner);
            copy_run(&outputs[0], (o * count + i) * inner, data, from, inner);
        }
}

/* Where in data the element at `walk` of indices points: the same place, but along the axis; -1 if out of range. */
static int64_t element_place(const struct view *data, const struct view *indices, const struct ref_walk *walk, size_t i,
                             int axis) {
    size_t strides[VIEW_MAX_RANK], place = 0;
    int64_t index = ref_gather_index(indices, i, data->dims[axis]);
    ref_walk_strides(data, strides);
    for (int d = 0; d < data->rank; d++)
        place += (d == axis ? (size_t)index : walk->at[d]) * strides[d];
    return index < 0 ? -1 : (int64_t)place;
}

void ref_gather_elements(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                         void *scratch) {
    (void)scratch;
    struct ref_walk walk = {0};
    for (size_t i = 0, count = view_count(&outputs[0]); i < count; i++, ref_walk_next(&walk, &inputs[1]))
        copy_run(&outputs[0], i, &inputs[0], element_place(&inputs[0], &inputs[1], &walk, i, operation->gather.axis),
                 1);
}

/* Where in data tuple number `tuple` of indices points; the first batch_dims dimensions are the tuple's own. -1 if out
 * of range. The slice there has view_product(data, batch_dims + width, rank) elements. */
static int64_t tuple_place(const struct view *data, const struct view *indices, size_t tuple, int batch_dims) {
    size_t width = indices->dims[indices->rank - 1];
    size_t per_batch = view_product(indices, batch_dims, indices->rank - 1);
    size_t place = tuple / per_batch;
    for (size_t k = 0; k < width; k++) {
        size_t size = data->dims[batch_dims + (int)k];
        int64_t index = ref_gather_index(indices, tuple * width + k, size);
        if (index < 0)
            return -1;
        place = place * size + (size_t)index;
    }
    return (int64_t)(place * view_product(data, batch_dims + (int)width, data->rank));
}

void ref_gather_nd(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    (void)scratch;
    const struct view *data = &inputs[0], *indices = &inputs[1];
    int batch_dims = operation->gather.batch_dims;
    size_t run = view_product(data, batch_dims + (int)indices->dims[indices->rank - 1], data->rank);
    for (size_t i = 0, count = view_product(indices, 0, indices->rank - 1); i < count; i++)
        copy_run(&outputs[0], i * run, data, tuple_place(data, indices, i, batch_dims), run);
}

static float combine_floats(int reduction, float old, float new) {
    if (reduction == SCATTER_ADD || reduction == SCATTER_MULTIPLY)
        return reduction == SCATTER_ADD ? old + new : old *new;
    if (isnan(old) || isnan(new))
        return NAN;
    return (reduction == SCATTER_MAX) == (old > new) ? old : new;
}

/* Wraps around, as the elements do when the result is cut to their width. */
static int64_t combine_integers(int reduction, int64_t old, int64_t new) {
    if (reduction == SCATTER_ADD)
        return (int64_t)((uint64_t)old + (uint64_t) new);
    if (reduction == SCATTER_MULTIPLY)
        return (int64_t)((uint64_t)old * (uint64_t) new);
    return (reduction == SCATTER_MAX) == (old > new) ? old : new;
}

/* y[to] = reduction(y[to], x[from]) */
static void update(const struct view *y, size_t to, const struct view *x, size_t from, int reduction) {
    if (reduction == SCATTER_SET) {
        ref_walk_put(y, to, x, from);
        return;
    }
#define COMBINE(type, combine)                                                                                         \
    ((type *)y->data)[to] = (type)combine(reduction, ((type *)y->data)[to], ((const type *)x->data)[from])
    switch (y->element) {
    case ELEMENT_F32:
        COMBINE(float, combine_floats);
        break;
    case ELEMENT_U8:
        COMBINE(uint8_t, combine_integers);
        break;
    case ELEMENT_I8:
        COMBINE(int8_t, combine_integers);
        break;
    case ELEMENT_I32:
        COMBINE(int32_t, combine_integers);
        break;
    case ELEMENT_I64:
        COMBINE(int64_t, combine_integers);
        break;
    default:
        COMBINE(bool, combine_integers);
        break;
    }
#undef COMBINE
}

void ref_scatter_elements(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                          void *scratch) {
    (void)scratch;
    const struct view *data = &inputs[0], *indices = &inputs[1], *updates = &inputs[2];
    struct ref_walk walk = {0};
    copy_run(&outputs[0], 0, data, 0, view_count(data));
    for (size_t i = 0, count = view_count(indices); i < count; i++, ref_walk_next(&walk, indices)) {
        int64_t place = element_place(data, indices, &walk, i, operation->gather.axis);
        if (place >= 0)
            update(&outputs[0], (size_t)place, updates, i, (int)operation->gather.reduction);
    }
}

void ref_scatter_nd(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch) {
    (void)scratch;
    const struct view *data = &inputs[0], *indices = &inputs[1], *updates = &inputs[2];
    size_t run = view_product(data, (int)indices->dims[indices->rank - 1], data->rank);
    copy_run(&outputs[0], 0, data, 0, view_count(data));
    for (size_t i = 0, count = view_product(indices, 0, indices->rank - 1); i < count; i++) {
        int64_t place = tuple_place(data, indices, i, 0);
        for (size_t k = 0; place >= 0 && k < run; k++)
            update(&outputs[0], (size_t)place + k, updates, i * run + k, (int)operation->gather.reduction);
    }
}
