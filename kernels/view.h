/* A tensor as the kernels see it: densely packed elements, row-major, and what they are. */
#ifndef WEIR_KERNELS_VIEW_H
#define WEIR_KERNELS_VIEW_H

#include <stddef.h>

/* The numbers are those of enum tensor_dtype, in its order. Inside a program float numbers are F32; F16, BF16 and F64
 * occur only where a CAST reads a model's input or writes its output. */
enum element {
    ELEMENT_F32,
    ELEMENT_U8,
    ELEMENT_I8,
    ELEMENT_I32,
    ELEMENT_I64,
    ELEMENT_BOOL, /* one byte, 0 or 1 */
    ELEMENT_F16,
    ELEMENT_F64,
    ELEMENT_BF16,
    ELEMENT_COUNT
};

enum { VIEW_MAX_RANK = 8 };

/* data is NULL for an input or output that the operation does without. A dimension may be 0: then there are no
 * elements. */
struct view {
    void *data;
    enum element element;
    int rank;
    size_t dims[VIEW_MAX_RANK];
};

size_t view_element_bytes(enum element element);

/* Product of dims[from..to), 1 if there are none. */
size_t view_product(const struct view *view, int from, int to);

/* All elements. */
size_t view_count(const struct view *view);

#endif
