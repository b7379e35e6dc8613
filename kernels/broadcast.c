#include "kernels/broadcast.h"

#include <stdbool.h>

/* Strides of the view along the dimensions of y. */
static void strides_of(const struct view *x, const struct view *y, size_t strides[VIEW_MAX_RANK]) {
    size_t stride = 1;
    for (int i = y->rank - 1, from = x->rank - 1; i >= 0; i--, from--) {
        size_t dim = from >= 0 ? x->dims[from] : 1;
        strides[i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

struct broadcast broadcast_over(const struct view *inputs, int input_count, const struct view *y) {
    struct broadcast out = {.rank = 0, .input_count = input_count};
    size_t strides[BROADCAST_MAX_INPUTS][VIEW_MAX_RANK];
    for (int k = 0; k < input_count; k++)
        strides_of(&inputs[k], y, strides[k]);
    for (int i = 0; i < y->rank; i++) {
        int last = out.rank - 1;
        bool merges = last >= 0;
        if (y->dims[i] == 1)
            continue;
        for (int k = 0; merges && k < input_count; k++)
            merges = out.strides[k][last] == strides[k][i] * y->dims[i];
        if (!merges)
            last = out.rank++;
        out.dims[last] = merges ? out.dims[last] * y->dims[i] : y->dims[i];
        for (int k = 0; k < input_count; k++)
            out.strides[k][last] = strides[k][i];
    }
    if (out.rank == 0)
        out.dims[out.rank++] = 1;
    return out;
}

size_t broadcast_rows(const struct broadcast *broadcast) {
    size_t rows = 1;
    for (int i = 0; i < broadcast->rank - 1; i++)
        rows *= broadcast->dims[i];
    return rows;
}

struct broadcast_place broadcast_row(const struct broadcast *broadcast, size_t row) {
    struct broadcast_place place = {{0}, {0}};
    for (int i = broadcast->rank - 2; i >= 0; i--) {
        place.at[i] = row % broadcast->dims[i];
        row /= broadcast->dims[i];
        for (int k = 0; k < broadcast->input_count; k++)
            place.starts[k] += place.at[i] * broadcast->strides[k][i];
    }
    return place;
}

void broadcast_next(const struct broadcast *broadcast, struct broadcast_place *place) {
    for (int i = broadcast->rank - 2; i >= 0; i--) {
        bool stays = ++place->at[i] < broadcast->dims[i];
        for (int k = 0; k < broadcast->input_count; k++) {
            size_t stride = broadcast->strides[k][i];
            place->starts[k] += stays ? stride : -(broadcast->dims[i] - 1) * stride;
        }
        if (stays)
            return;
        place->at[i] = 0;
    }
}
