/* Walking the elements of a view in order with their coordinates: what the oracle's moving kernels share. */
#ifndef WEIR_KERNELS_REF_REF_WALK_H
#define WEIR_KERNELS_REF_REF_WALK_H

#include <string.h>

#include "kernels/view.h"

/* All zero is the first element. */
struct ref_walk {
    size_t at[VIEW_MAX_RANK];
};

/* Goes to the next element of a view; from the last one to the first. */
static inline void ref_walk_next(struct ref_walk *walk, const struct view *view) {
    for (int d = view->rank - 1; d >= 0; d--) {
        if (++walk->at[d] < view->dims[d])
            return;
        walk->at[d] = 0;
    }
}

/* Elements from one index of a dimension to the next, by dimension. */
static inline void ref_walk_strides(const struct view *view, size_t *strides) {
    for (int d = 0; d < view->rank; d++)
        strides[d] = view_product(view, d + 1, view->rank);
}

/* y[to] = x[from] */
static inline void ref_walk_put(const struct view *y, size_t to, const struct view *x, size_t from) {
    size_t bytes = view_element_bytes(y->element);
    memcpy((char *)y->data + to * bytes, (const char *)x->data + from * bytes, bytes);
}

#endif
