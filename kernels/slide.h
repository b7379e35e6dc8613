/* The geometry of windows: which elements of x lie under the window of one output. All have three spatial dimensions
 * here; the missing ones are in front, of size 1. */
#ifndef WEIR_KERNELS_SLIDE_H
#define WEIR_KERNELS_SLIDE_H

#include "kernels/operation.h"

struct slide {
    size_t batch; /* n */
    size_t x_channels, y_channels;
    size_t in[3], out[3];       /* spatial sizes of x and y */
    size_t in_count, out_count; /* their products */
    size_t kernel[3], strides[3], dilations[3], pads[3], pads_end[3];
    size_t kernel_count;
    size_t groups;
};

/* x and y are [n, channels, spatial...]. */
struct slide slide_of(const struct window *window, const struct view *x, const struct view *y);

/* Places under one window along one dimension: kernel elements from..to, the first at x element `first`, the next
 * `dilations` further. */
struct slide_span {
    size_t from, to, first;
};

/* The part of the kernel that lies within x for that output; from == to if none does. */
struct slide_span slide_span_at(const struct slide *slide, int dim, size_t output);

/* Output number `at` of out_count, as its place in each dimension. */
void slide_place(const struct slide *slide, size_t at, size_t *place);

#endif
