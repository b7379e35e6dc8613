#include "kernels/ref/ref_move.h"

#include <string.h>

#include "kernels/ref/ref_walk.h"

/* y[i] = x[first + sum of i[d] * strides[d]] */
static void read_strided(const struct view *x, const struct view *y, int64_t first, const int64_t *strides) {
    struct ref_walk walk = {0};
    for (size_t i = 0, count = view_count(y); i < count; i++, ref_walk_next(&walk, y)) {
        int64_t from = first;
        for (int d = 0; d < y->rank; d++)
            from += (int64_t)walk.at[d] * strides[d];
        ref_walk_put(y, i, x, (size_t)from);
    }
}

void ref_transpose(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    (void)scratch;
    size_t strides[VIEW_MAX_RANK];
    int64_t steps[VIEW_MAX_RANK] = {0};
    ref_walk_strides(&inputs[0], strides);
    for (int d = 0; d < outputs[0].rank; d++)
        steps[d] = (int64_t)strides[operation->transpose.order[d]];
    read_strided(&inputs[0], &outputs[0], 0, steps);
}

void ref_slice(const struct operation *operation, const struct view *inputs, const struct view *outputs,
               void *scratch) {
    (void)scratch;
    size_t strides[VIEW_MAX_RANK];
    int64_t steps[VIEW_MAX_RANK] = {0}, first = 0;
    ref_walk_strides(&inputs[0], strides);
    for (int d = 0; d < outputs[0].rank; d++) {
        first += operation->slice.start[d] * (int64_t)strides[d];
        steps[d] = operation->slice.step[d] * (int64_t)strides[d];
    }
    read_strided(&inputs[0], &outputs[0], first, steps);
}

void ref_expand(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    (void)operation, (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    size_t strides[VIEW_MAX_RANK];
    int64_t steps[VIEW_MAX_RANK] = {0};
    ref_walk_strides(x, strides);
    for (int d = 0; d < x->rank; d++)
        steps[y->rank - x->rank + d] = x->dims[d] == 1 ? 0 : (int64_t)strides[d];
    read_strided(x, y, 0, steps);
}

void ref_concat(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    (void)scratch;
    const struct view *y = &outputs[0];
    int axis = operation->axis;
    size_t bytes = view_element_bytes(y->element);
    size_t outer = view_product(y, 0, axis), inner = view_product(y, axis + 1, y->rank);
    for (size_t at = 0; at < y->dims[axis]; at += inputs++->dims[axis]) {
        size_t chunk = inputs->dims[axis] * inner * bytes;
        for (size_t o = 0; chunk && o < outer; o++)
            memcpy((char *)y->data + (o * y->dims[axis] + at) * inner * bytes, (const char *)inputs->data + o * chunk,
                   chunk);
    }
}

void ref_tile(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    (void)operation, (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct ref_walk walk = {0};
    size_t strides[VIEW_MAX_RANK];
    ref_walk_strides(x, strides);
    for (size_t i = 0, count = view_count(y); i < count; i++, ref_walk_next(&walk, y)) {
        size_t from = 0;
        for (int d = 0; d < y->rank; d++)
            from += walk.at[d] % x->dims[d] * strides[d];
        ref_walk_put(y, i, x, from);
    }
}

int64_t ref_pad_source(enum pad_mode mode, int64_t at, int64_t size) {
    if (at >= 0 && at < size)
        return at;
    if (mode == PAD_CONSTANT || size == 0)
        return -1;
    if (mode == PAD_EDGE || size == 1)
        return at < 0 ? 0 : size - 1;
    int64_t period = mode == PAD_WRAP ? size : 2 * (size - 1);
    int64_t place = at % period;
    place += place < 0 ? period : 0;
    return place < size ? place : period - place;
}

void ref_pad(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    (void)scratch;
    const struct view *x = &inputs[0], *value = &inputs[1], *y = &outputs[0];
    struct ref_walk walk = {0};
    size_t strides[VIEW_MAX_RANK], bytes = view_element_bytes(y->element);
    ref_walk_strides(x, strides);
    for (size_t i = 0, count = view_count(y); i < count; i++, ref_walk_next(&walk, y)) {
        size_t from = 0;
        bool inside = true;
        for (int d = 0; d < y->rank; d++) {
            int64_t at = ref_pad_source(operation->pad.mode, (int64_t)walk.at[d] - operation->pad.before[d],
                                        (int64_t)x->dims[d]);
            inside = inside && at >= 0;
            from += inside ? (size_t)at * strides[d] : 0;
        }
        if (inside)
            ref_walk_put(y, i, x, from);
        else if (operation->pad.mode == PAD_CONSTANT && value->data)
            ref_walk_put(y, i, value, 0);
        else
            memset((char *)y->data + i * bytes, 0, bytes);
    }
}

/* The number as an index; INT64_MIN where it is none. */
static int64_t whole_number(const struct view *view, size_t at) {
    float number;
    switch (view->element) {
    case ELEMENT_F32:
        number = ((const float *)view->data)[at];
        return number > -9e18F && number < 9e18F ? (int64_t)number : INT64_MIN;
    case ELEMENT_U8:
    case ELEMENT_BOOL:
        return ((const uint8_t *)view->data)[at];
    case ELEMENT_I8:
        return ((const int8_t *)view->data)[at];
    case ELEMENT_I32:
        return ((const int32_t *)view->data)[at];
    default:
        return ((const int64_t *)view->data)[at];
    }
}

void ref_one_hot(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch) {
    (void)scratch;
    const struct view *indices = &inputs[0], *values = &inputs[1], *y = &outputs[0];
    int axis = operation->axis;
    size_t outer = view_product(y, 0, axis), inner = view_product(y, axis + 1, y->rank);
    int64_t depth = (int64_t)y->dims[axis];
    for (size_t o = 0; o < outer; o++)
        for (int64_t d = 0; d < depth; d++)
            for (size_t i = 0; i < inner; i++) {
                int64_t index = whole_number(indices, o * inner + i);
                bool on = index == d || (index < 0 && index >= -depth && index + depth == d);
                ref_walk_put(y, (o * (size_t)depth + (size_t)d) * inner + i, values, on);
            }
}

void ref_trilu(const struct operation *operation, const struct view *inputs, const struct view *outputs,
               void *scratch) {
    (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    size_t bytes = view_element_bytes(y->element), rows = y->dims[y->rank - 2], cols = y->dims[y->rank - 1];
    for (size_t i = 0, count = view_count(y); i < count; i++) {
        int64_t diagonal = (int64_t)(i % cols) - (int64_t)(i / cols % rows);
        if (operation->trilu.upper ? diagonal >= operation->trilu.k : diagonal <= operation->trilu.k)
            ref_walk_put(y, i, x, i);
        else
            memset((char *)y->data + i * bytes, 0, bytes);
    }
}
