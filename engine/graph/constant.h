/* Tensors whose elements are known at load time: conversions and rearrangements. */
#ifndef WEIR_ENGINE_GRAPH_CONSTANT_H
#define WEIR_ENGINE_GRAPH_CONSTANT_H

#include "engine/graph/graph.h"

/* Makes a constant of that type and shape with zeroed elements, which the caller fills through *bytes. NULL: out of
 * memory, or the size does not fit. Owner: the region. */
struct graph_constant *constant_make(struct region *region, enum tensor_dtype dtype, const struct tensor_shape *shape,
                                     unsigned char **bytes);

/* float32, float16, bfloat16 and float64. */
bool constant_is_float(const struct graph_constant *constant);

/* Element `at` of a numeric constant as float32 (float64 is rounded, the others are exact up to 2^24). */
float constant_element(const struct graph_constant *constant, size_t at);

/* All elements as float32, in order. */
void constant_floats(const struct graph_constant *constant, float *out);

/* All elements of an integer constant. Returns false for another type. */
bool constant_integers(const struct graph_constant *constant, int64_t *out);

/* The constant as programs hold it: float16, bfloat16 and float64 as float32, the elements naturally aligned; the
 * constant itself where it is so already, or a backend has packed it. NULL: out of memory. */
const struct graph_constant *constant_as_program_type(struct region *region, const struct graph_constant *constant);

#endif
