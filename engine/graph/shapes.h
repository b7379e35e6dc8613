/* Shape arithmetic of the operators that only rearrange. A shape whose dims[0] is -1 belongs to a batch: its rows must
 * stay whole and in order, since rows of strangers run together. Other shapes belong to constants.
 *
 * All functions: errors INVALID (the model contradicts itself) and UNSUPPORTED (rows would mix), with *fault saying
 * why; *out is written only on OK. */
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

/* Reshape: 0 copies a dimension (unless allow_zero), one -1 is inferred. fixed_batch: see plan_fixed_batch. */
enum weir_status shapes_reshape(const struct tensor_shape *in, const struct shapes_list *wanted, bool allow_zero,
                                uint32_t fixed_batch, struct tensor_shape *out, const char **fault) WEIR_CHECKED;

/* Flatten to two dimensions at axis, which may be negative or equal to the rank. */
enum weir_status shapes_flatten(const struct tensor_shape *in, int64_t axis, struct tensor_shape *out,
                                const char **fault) WEIR_CHECKED;

/* Squeeze: drops the axes, or every 1 where none are given. */
enum weir_status shapes_squeeze(const struct tensor_shape *in, const struct shapes_list *axes, uint32_t fixed_batch,
                                struct tensor_shape *out, const char **fault) WEIR_CHECKED;

/* Unsqueeze: the axes count in the result. */
enum weir_status shapes_unsqueeze(const struct tensor_shape *in, const struct shapes_list *axes,
                                  struct tensor_shape *out, const char **fault) WEIR_CHECKED;

/* Transpose: checks the permutation (reversed where none is given) and writes it to order. In a batch only dimensions
 * of 1 may change places. */
enum weir_status shapes_transpose(const struct tensor_shape *in, const struct shapes_list *permutation,
                                  int order[TENSOR_MAX_RANK], struct tensor_shape *out,
                                  const char **fault) WEIR_CHECKED;

/* NumPy broadcasting of a constant over the rows of a batch. *period is the number of constant elements that repeat
 * over a row: 1, a product of the last dimensions, or 0 where the constant must be spread over a whole row first. */
enum weir_status shapes_broadcast(const struct tensor_shape *batch, const struct tensor_shape *constant, size_t *period,
                                  const char **fault) WEIR_CHECKED;

/* Product of dims[from..to). Valid once the shape has been measured. */
size_t shapes_product(const struct tensor_shape *shape, int from, int to);

/* Brings a possibly negative axis into 0..rank-1. Returns false if it is outside. */
bool shapes_axis(int64_t axis, int rank, int *out);

bool shapes_equal(const struct tensor_shape *a, const struct tensor_shape *b);

#endif
