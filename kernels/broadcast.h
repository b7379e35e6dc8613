/* Walking over tensors that broadcast to one shape, by NumPy's rules. */
#ifndef WEIR_KERNELS_BROADCAST_H
#define WEIR_KERNELS_BROADCAST_H

#include <stddef.h>

#include "kernels/view.h"

enum { BROADCAST_MAX_INPUTS = 3 };

/* The dimensions of the result, those that lie alike in all inputs merged and those of size 1 left out; at least one
 * is left. strides count elements, 0 where the input is repeated. The innermost stride of an input is 0 or 1. */
struct broadcast {
    int rank, input_count;
    size_t dims[VIEW_MAX_RANK];
    size_t strides[BROADCAST_MAX_INPUTS][VIEW_MAX_RANK];
};

/* inputs broadcast to y; those with more dimensions than y have only ones in front. */
struct broadcast broadcast_over(const struct view *inputs, int input_count, const struct view *y);

/* Innermost rows: all dimensions but the last. */
size_t broadcast_rows(const struct broadcast *broadcast);

/* A place in the outer dimensions, and where that innermost row begins in each input. All zero is row 0. */
struct broadcast_place {
    size_t at[VIEW_MAX_RANK];
    size_t starts[BROADCAST_MAX_INPUTS];
};

struct broadcast_place broadcast_row(const struct broadcast *broadcast, size_t row);
void broadcast_next(const struct broadcast *broadcast, struct broadcast_place *place);

#endif
