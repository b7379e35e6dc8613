#include "engine/graph/shapes.h"

#include <string.h>

size_t shapes_product(const struct tensor_shape *shape, int from, int to) {
    size_t product = 1;
    for (int i = from; i < to; i++)
        product *= (size_t)shape->dims[i];
    return product;
}

bool shapes_axis(int64_t axis, int rank, int *out) {
    if (axis < -(int64_t)rank || axis >= rank)
        return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool shapes_equal(const struct tensor_shape *a, const struct tensor_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

bool shapes_broadcast(const struct tensor_shape *a, const struct tensor_shape *b, struct tensor_shape *out) {
    const struct tensor_shape *longer = a->rank >= b->rank ? a : b, *shorter = a->rank >= b->rank ? b : a;
    int lead = longer->rank - shorter->rank;
    struct tensor_shape shape = *longer;
    for (int i = 0; i < shorter->rank; i++) {
        int64_t have = longer->dims[lead + i], other = shorter->dims[i];
        if (have != other && have != 1 && other != 1)
            return false;
        shape.dims[lead + i] = have == 1 ? other : have;
    }
    *out = shape;
    return true;
}
