#include "kernels/ref/ref_resize.h"

#include <math.h>

#include "kernels/ref/ref_walk.h"

float ref_resize_coordinate(const struct resize *resize, int dimension, size_t x_size, size_t y_size, size_t at) {
    float scale = resize->scales[dimension], place = (float)at;
    float last = (float)x_size - 1, y_last = (float)y_size - 1;
    if (scale == 1 && x_size == y_size && resize->coordinates != RESIZE_TF_CROP)
        return place;
    switch (resize->coordinates) {
    case RESIZE_PYTORCH_HALF_PIXEL:
        return y_size > 1 ? (place + 0.5F) / scale - 0.5F : 0;
    case RESIZE_ALIGN_CORNERS:
        return y_size > 1 ? place * last / y_last : 0;
    case RESIZE_ASYMMETRIC:
        return place / scale;
    case RESIZE_TF_HALF_PIXEL_FOR_NN:
        return (place + 0.5F) / scale;
    case RESIZE_TF_CROP: {
        float start = resize->roi_start[dimension], end = resize->roi_end[dimension];
        return y_size > 1 ? start * last + place * (end - start) * last / y_last : 0.5F * (start + end) * last;
    }
    case RESIZE_HALF_PIXEL_SYMMETRIC: {
        float adjustment = (float)y_size / (scale * (float)x_size), center = (float)x_size / 2;
        return center * (1 - adjustment) + (place + 0.5F) / scale - 0.5F;
    }
    default:
        return (place + 0.5F) / scale - 0.5F;
    }
}

size_t ref_resize_nearest(enum resize_rounding rounding, float coordinate, size_t x_size) {
    float place;
    if (rounding == RESIZE_FLOOR)
        place = floorf(coordinate);
    else if (rounding == RESIZE_CEIL)
        place = ceilf(coordinate);
    else if (rounding == RESIZE_PREFER_CEIL)
        place = floorf(coordinate + 0.5F);
    else
        place = ceilf(coordinate - 0.5F);
    if (!(place > 0))
        return 0;
    return place < (float)x_size ? (size_t)place : x_size - 1;
}

enum { MAX_TAPS = 4 };

/* What one output index takes of one dimension. */
struct taps {
    int count;
    size_t at[MAX_TAPS];
    double weight[MAX_TAPS];
};

/* Robert Keys' cubic convolution, for distance 0..2. */
static double cubic(double a, double distance) {
    double d = fabs(distance);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void set_taps(const struct resize *resize, float coordinate, size_t size, struct taps *taps) {
    double sum = 0, left = floor((double)coordinate), last = (double)size - 1;
    int first = resize->mode == RESIZE_CUBIC ? -1 : 0, behind = resize->mode == RESIZE_CUBIC ? 2 : 1;
    taps->count = 0;
    if (resize->mode == RESIZE_NEAREST) {
        taps->at[taps->count] = ref_resize_nearest(resize->rounding, coordinate, size);
        taps->weight[taps->count++] = 1;
        return;
    }
    for (int k = first; k <= behind; k++) {
        double place = left + k, distance = place - (double)coordinate;
        double weight = resize->mode == RESIZE_CUBIC ? cubic((double)resize->cubic_a, distance) : 1 - fabs(distance);
        bool outside = place < 0 || place > last;
        if (weight == 0 || (outside && resize->mode == RESIZE_CUBIC && resize->exclude_outside))
            continue;
        taps->at[taps->count] = !(place > 0) ? 0 : place > last ? size - 1 : (size_t)place;
        taps->weight[taps->count++] = weight;
        sum += weight;
    }
    if (taps->count == 0) /* all of them outside */
        *taps = (struct taps){.count = 1, .at = {left < 0 ? 0 : size - 1}, .weight = {1}};
    else if (resize->mode == RESIZE_CUBIC && resize->exclude_outside)
        for (int k = 0; k < taps->count; k++)
            taps->weight[k] /= sum;
}

/* The weighted sum over all combinations of taps. */
static double blend(const struct view *x, const struct taps *taps, const size_t *strides) {
    int chosen[VIEW_MAX_RANK] = {0};
    double sum = 0;
    for (;;) {
        double weight = 1;
        size_t from = 0;
        int d = x->rank - 1;
        for (int k = 0; k < x->rank; k++) {
            weight *= taps[k].weight[chosen[k]];
            from += taps[k].at[chosen[k]] * strides[k];
        }
        sum += weight * (double)((const float *)x->data)[from];
        for (; d >= 0 && ++chosen[d] == taps[d].count; d--)
            chosen[d] = 0;
        if (d < 0)
            return sum;
    }
}

void ref_resize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    (void)scratch;
    const struct resize *resize = &operation->resize;
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct ref_walk walk = {0};
    size_t strides[VIEW_MAX_RANK];
    ref_walk_strides(x, strides);
    for (size_t i = 0, count = view_count(y); i < count; i++, ref_walk_next(&walk, y)) {
        struct taps taps[VIEW_MAX_RANK];
        bool outside = false;
        size_t from = 0;
        for (int d = 0; d < y->rank; d++) {
            float coordinate = ref_resize_coordinate(resize, d, x->dims[d], y->dims[d], walk.at[d]);
            set_taps(resize, coordinate, x->dims[d], &taps[d]);
            outside = outside || coordinate < 0 || coordinate > (float)x->dims[d] - 1;
            from += taps[d].at[0] * strides[d];
        }
        if (outside && resize->coordinates == RESIZE_TF_CROP && y->element == ELEMENT_F32)
            ((float *)y->data)[i] = resize->extrapolation;
        else if (resize->mode == RESIZE_NEAREST)
            ref_walk_put(y, i, x, from);
        else
            ((float *)y->data)[i] = (float)blend(x, taps, strides);
    }
}
