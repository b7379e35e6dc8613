/* The oracle for RESIZE: every output element from its neighbours in x, dimension by dimension. Sources: ONNX Resize
 * (opsets 10, 11, 13, 18, 19), Upsample (7, 9). */
#ifndef WEIR_KERNELS_REF_REF_RESIZE_H
#define WEIR_KERNELS_REF_REF_RESIZE_H

#include "kernels/operation.h"

/* NEAREST moves any element; LINEAR and CUBIC are of F32, in any number of dimensions. No scratch memory. */
void ref_resize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);

/* Where output index `at` of that dimension lies in x, in float as ONNX Runtime has it: a coordinate that may be
 * outside 0..x_size-1. A dimension that keeps its size is left alone by all but TF_CROP. */
float ref_resize_coordinate(const struct resize *resize, int dimension, size_t x_size, size_t y_size, size_t at);

/* The element that NEAREST takes for a coordinate, within 0..x_size-1. */
size_t ref_resize_nearest(enum resize_rounding rounding, float coordinate, size_t x_size);

#endif
