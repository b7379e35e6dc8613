/* Shape arithmetic that many operators share. All dimensions are concrete. */
#ifndef WEIR_ENGINE_GRAPH_SHAPES_H
#define WEIR_ENGINE_GRAPH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"
#include "engine/tensor.h"

/* A list of wanted dimensions, axes or a permutation; count -1: not given. */
struct shapes_list {
    int64_t items[TENSOR_MAX_RANK];
    int count;
};

/* Product of dims[from..to). Valid once the shape has been measured. */
size_t shapes_product(const struct tensor_shape *shape, int from, int to);

/* Brings a possibly negative axis into 0..rank-1. Returns false if it is outside. */
bool shapes_axis(int64_t axis, int rank, int *out);

bool shapes_equal(const struct tensor_shape *a, const struct tensor_shape *b);

/* NumPy's broadcasting of two shapes. Returns false if they do not fit or have more than 8 dimensions. */
bool shapes_broadcast(const struct tensor_shape *a, const struct tensor_shape *b, struct tensor_shape *out);

#endif
