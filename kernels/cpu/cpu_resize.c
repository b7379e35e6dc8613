#include "kernels/cpu/cpu_resize.h"

#include <string.h>

#include "kernels/ref/ref_resize.h"

/* Columns whose places in x are worked out at a time, for all rows. */
enum { PARALLEL_ELEMENTS = 1 << 15, TILE = 256 };

/* The two neighbours of one output index; the second one weighs `weight`. */
struct place {
    size_t low, high;
    float weight;
};

static struct place find_place(const struct resize *resize, int dimension, const struct view *x, const struct view *y,
                               size_t at) {
    size_t size = x->dims[dimension];
    float coordinate = ref_resize_coordinate(resize, dimension, size, y->dims[dimension], at);
    struct place place = {0};
    if (resize->mode == RESIZE_NEAREST) {
        place.low = place.high = ref_resize_nearest(resize->rounding, coordinate, size);
        return place;
    }
    if (!(coordinate > 0))
        return place;
    place.low = coordinate < (float)size - 1 ? (size_t)coordinate : size - 1;
    place.high = place.low + 1 < size ? place.low + 1 : place.low;
    place.weight = place.high > place.low ? coordinate - (float)place.low : 0;
    return place;
}

/* Columns first..first+count of the output, their places, and the planes they are in. */
struct columns {
    size_t first, count;
    uint32_t low[TILE], high[TILE];
    float weight[TILE];
};

static void nearest_row(const struct columns *columns, const char *x, char *y, size_t bytes) {
    if (bytes == 4)
        for (size_t i = 0; i < columns->count; i++)
            memcpy(y + i * 4, x + (size_t)columns->low[i] * 4, 4);
    else
        for (size_t i = 0; i < columns->count; i++)
            memcpy(y + i * bytes, x + columns->low[i] * bytes, bytes);
}

static void linear_row(const struct columns *columns, const float *top, const float *bottom, float down, float *y) {
    for (size_t i = 0; i < columns->count; i++) {
        size_t low = columns->low[i], high = columns->high[i];
        float weight = columns->weight[i];
        float above = weight == 0 ? top[low] : top[low] + (top[high] - top[low]) * weight;
        if (down == 0) {
            y[i] = above;
            continue;
        }
        float below = weight == 0 ? bottom[low] : bottom[low] + (bottom[high] - bottom[low]) * weight;
        y[i] = above + (below - above) * down;
    }
}

/* One plane's part of those columns. */
static void resize_plane(const struct resize *resize, const struct view *x, const struct view *y, size_t plane,
                         const struct columns *columns) {
    int rank = y->rank;
    size_t bytes = view_element_bytes(y->element);
    size_t height = x->dims[rank - 2], width = x->dims[rank - 1];
    size_t rows = y->dims[rank - 2], cols = y->dims[rank - 1], before = SIZE_MAX;
    const char *from = (const char *)x->data + plane * height * width * bytes;
    char *to = (char *)y->data + (plane * rows * cols + columns->first) * bytes;
    for (size_t row = 0; row < rows; row++, to += cols * bytes) {
        struct place place = find_place(resize, rank - 2, x, y, row);
        const char *top = from + place.low * width * bytes;
        if (resize->mode == RESIZE_LINEAR)
            linear_row(columns, (const float *)(const void *)top,
                       (const float *)(const void *)(from + place.high * width * bytes), place.weight,
                       (float *)(void *)to);
        else if (place.low == before)
            memcpy(to, to - cols * bytes, columns->count * bytes);
        else
            nearest_row(columns, top, to, bytes);
        before = place.low;
    }
}

static void resize_planes(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                          void *scratch) {
    (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    size_t cols = y->dims[y->rank - 1], planes = view_product(y, 0, y->rank - 2);
    if (view_count(y) == 0)
        return;
    for (size_t first = 0; first < cols; first += TILE) {
        struct columns columns = {.first = first, .count = cols - first < TILE ? cols - first : TILE};
        for (size_t i = 0; i < columns.count; i++) {
            struct place place = find_place(&operation->resize, y->rank - 1, x, y, first + i);
            columns.low[i] = (uint32_t)place.low;
            columns.high[i] = (uint32_t)place.high;
            columns.weight[i] = place.weight;
        }
#pragma omp parallel for if (planes > 1 && view_count(y) >= PARALLEL_ELEMENTS)
        for (size_t plane = 0; plane < planes; plane++)
            resize_plane(&operation->resize, x, y, plane, &columns);
    }
}

operation_function cpu_resize_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    const struct resize *resize = &operation->resize;
    const struct view *x = &inputs[0], *y = &outputs[0];
    bool fits = y->rank >= 2 && resize->mode != RESIZE_CUBIC && resize->coordinates != RESIZE_TF_CROP;
    for (int d = 0; fits && d < y->rank - 2; d++)
        fits = x->dims[d] == y->dims[d] && resize->scales[d] == 1;
    return fits && x->dims[y->rank - 1] <= UINT32_MAX ? resize_planes : NULL;
}
