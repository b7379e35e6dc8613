/* The attributes and sizes that convolutions and pools share: kernels, strides, dilations, padding, outputs. */
#ifndef WEIR_ENGINE_GRAPH_WINDOW_SHAPES_H
#define WEIR_ENGINE_GRAPH_WINDOW_SHAPES_H

#include "engine/graph/lower.h"

/* What comes of a node: its window, and the shape of its output, of which the spatial sizes dims[2..) and the rank are
 * set. */
struct window_shape {
    struct window window;
    struct tensor_shape y;
};

/* Reads kernel_shape, strides, dilations, pads and auto_pad of a node whose x is [n, c, spatial...]. w: the weights,
 * whose last dimensions are the kernel; NULL: kernel_shape must be there. ceil_mode counts for pools. Source: ONNX
 * operators Conv and MaxPool, auto_pad and ceil_mode. Errors: INVALID, UNSUPPORTED, TOO_LARGE. */
enum weir_status window_shapes_slide(const struct lowering *lowering, const struct graph_node *node,
                                     const struct tensor_shape *x, const struct tensor_shape *w,
                                     struct window_shape *out, struct weir_error *err) WEIR_CHECKED;

/* The same for a transposed convolution, with output_shape and output_padding. Source: ONNX operator ConvTranspose. */
enum weir_status window_shapes_spread(const struct lowering *lowering, const struct graph_node *node,
                                      const struct tensor_shape *x, const struct tensor_shape *w,
                                      struct window_shape *out, struct weir_error *err) WEIR_CHECKED;

#endif
