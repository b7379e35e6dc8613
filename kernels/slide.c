#include "kernels/slide.h"

struct slide slide_of(const struct window *window, const struct view *x, const struct view *y) {
    struct slide slide = {.batch = x->dims[0],
                          .x_channels = x->dims[1],
                          .y_channels = y->dims[1],
                          .in_count = 1,
                          .out_count = 1,
                          .kernel_count = 1,
                          .groups = window->groups ? window->groups : 1};
    int missing = 3 - window->spatial;
    for (int i = 0; i < 3; i++) {
        bool has = i >= missing;
        int from = i - missing;
        slide.in[i] = has ? x->dims[2 + from] : 1;
        slide.out[i] = has ? y->dims[2 + from] : 1;
        slide.kernel[i] = has ? window->kernel[from] : 1;
        slide.strides[i] = has ? window->strides[from] : 1;
        slide.dilations[i] = has ? window->dilations[from] : 1;
        slide.pads[i] = has ? window->pads[from] : 0;
        slide.pads_end[i] = has ? window->pads_end[from] : 0;
        slide.in_count *= slide.in[i];
        slide.out_count *= slide.out[i];
        slide.kernel_count *= slide.kernel[i];
    }
    return slide;
}

struct slide_span slide_span_at(const struct slide *slide, int dim, size_t output) {
    size_t start = output * slide->strides[dim], pad = slide->pads[dim], step = slide->dilations[dim];
    size_t end = slide->in[dim] + pad; /* of x, counted from the first padding element */
    struct slide_span span = {0, 0, 0};
    if (start < pad)
        span.from = (pad - start + step - 1) / step;
    if (start < end)
        span.to = (end - start + step - 1) / step;
    if (span.to > slide->kernel[dim])
        span.to = slide->kernel[dim];
    if (span.from >= span.to)
        span.from = span.to = 0;
    else
        span.first = start + span.from * step - pad;
    return span;
}

void slide_place(const struct slide *slide, size_t at, size_t *place) {
    for (int i = 2; i >= 0; i--) {
        place[i] = at % slide->out[i];
        at /= slide->out[i];
    }
}
