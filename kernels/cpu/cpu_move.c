#include "kernels/cpu/cpu_move.h"

#include <string.h>

#include "kernels/cpu/cpu_resize.h"
#include "kernels/cpu/cpu_strided.h"
#include "kernels/ref/ref_gather.h"
#include "kernels/ref/ref_move.h"

/* From here on, threads are worth their start. */
enum { PARALLEL_BYTES = 1 << 18 };

static void add_dimension(struct cpu_strided *copy, size_t size, int64_t in, int64_t out) {
    copy->dims[copy->rank] = size;
    copy->in[copy->rank] = in;
    copy->out[copy->rank++] = out;
}

static int64_t stride(const struct view *view, int dimension) {
    return (int64_t)view_product(view, dimension + 1, view->rank);
}

static struct cpu_strided begin(const struct view *x, const struct view *y) {
    return (struct cpu_strided){.bytes = view_element_bytes(y->element), .x = x->data, .y = y->data};
}

static void transpose(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                      void *scratch) {
    (void)scratch;
    struct cpu_strided copy = begin(&inputs[0], &outputs[0]);
    for (int d = 0; d < outputs[0].rank; d++)
        add_dimension(&copy, outputs[0].dims[d], stride(&inputs[0], operation->transpose.order[d]),
                      stride(&outputs[0], d));
    cpu_strided_run(&copy);
}

static void slice(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                  void *scratch) {
    (void)scratch;
    struct cpu_strided copy = begin(&inputs[0], &outputs[0]);
    int64_t first = 0;
    for (int d = 0; d < outputs[0].rank; d++) {
        int64_t in = stride(&inputs[0], d);
        first += operation->slice.start[d] * in;
        add_dimension(&copy, outputs[0].dims[d], operation->slice.step[d] * in, stride(&outputs[0], d));
    }
    if (view_count(&outputs[0]) == 0)
        return;
    copy.x += first * (int64_t)copy.bytes;
    cpu_strided_run(&copy);
}

static void expand(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    (void)operation, (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct cpu_strided copy = begin(x, y);
    for (int d = 0; d < y->rank; d++) {
        int from = d - (y->rank - x->rank);
        add_dimension(&copy, y->dims[d], from < 0 || x->dims[from] == 1 ? 0 : stride(x, from), stride(y, d));
    }
    cpu_strided_run(&copy);
}

static void tile(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch) {
    (void)operation, (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct cpu_strided copy = begin(x, y);
    if (view_count(y) == 0)
        return;
    for (int d = 0; d < y->rank; d++) {
        add_dimension(&copy, y->dims[d] / x->dims[d], 0, (int64_t)x->dims[d] * stride(y, d));
        add_dimension(&copy, x->dims[d], stride(x, d), stride(y, d));
    }
    cpu_strided_run(&copy);
}

static void concat(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    (void)scratch;
    const struct view *y = &outputs[0];
    int axis = operation->axis;
    size_t outer = view_product(y, 0, axis), inner = view_product(y, axis + 1, y->rank);
    for (size_t at = 0; at < y->dims[axis]; at += inputs++->dims[axis]) {
        struct cpu_strided copy = begin(inputs, y);
        size_t chunk = inputs->dims[axis] * inner;
        if (chunk == 0)
            continue;
        copy.y += at * inner * copy.bytes;
        add_dimension(&copy, outer, (int64_t)chunk, (int64_t)(y->dims[axis] * inner));
        add_dimension(&copy, chunk, 1, 1);
        cpu_strided_run(&copy);
    }
}

static void gather(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    (void)scratch;
    const struct view *data = &inputs[0], *indices = &inputs[1];
    int axis = operation->gather.axis;
    size_t bytes = view_element_bytes(data->element), size = data->dims[axis], count = view_count(indices);
    size_t run = view_product(data, axis + 1, data->rank) * bytes;
    size_t lines = view_product(data, 0, axis) * count;
    const char *x = data->data;
    char *y = outputs[0].data;
    if (run == 0)
        return;
#pragma omp parallel for if (lines * run >= PARALLEL_BYTES)
    for (size_t line = 0; line < lines; line++) {
        int64_t index = ref_gather_index(indices, line % count, size);
        const char *from = x + (line / count * size + (size_t)(index < 0 ? 0 : index)) * run;
        if (index < 0)
            memset(y + line * run, 0, run);
        else if (run == sizeof(float))
            memcpy(y + line * run, from, sizeof(float));
        else
            memcpy(y + line * run, from, run);
    }
}

static void fill(char *y, size_t count, const char *value, size_t bytes) {
    for (size_t i = 0; i < count && value && bytes == sizeof(float); i++)
        memcpy(y + i * sizeof(float), value, sizeof(float));
    for (size_t i = 0; i < count && value && bytes != sizeof(float); i++)
        memcpy(y + i * bytes, value, bytes);
    if (!value && count > 0)
        memset(y, 0, count * bytes);
}

/* One line of PAD, along the last dimension: what is in front, x's own elements, what is behind. */
static void pad_line(const struct pad *pad, const struct view *x, const char *from, const char *value,
                     const struct view *y, char *to) {
    size_t bytes = view_element_bytes(y->element);
    int last = y->rank - 1;
    int64_t size = (int64_t)x->dims[last], count = (int64_t)y->dims[last], before = pad->before[last];
    int64_t begin_own = before < 0 ? 0 : before > count ? count : before;
    int64_t end_own = before + size < begin_own ? begin_own : before + size > count ? count : before + size;
    if (pad->mode == PAD_CONSTANT) {
        fill(to, (size_t)begin_own, value, bytes);
        fill(to + (size_t)end_own * bytes, (size_t)(count - end_own), value, bytes);
    }
    for (int64_t i = 0; pad->mode != PAD_CONSTANT && i < count; i++) {
        if (i == begin_own)
            i = end_own;
        if (i < count)
            memcpy(to + (size_t)i * bytes, from + ref_pad_source(pad->mode, i - before, size) * (int64_t)bytes, bytes);
    }
    if (end_own > begin_own)
        memcpy(to + (size_t)begin_own * bytes, from + (begin_own - before) * (int64_t)bytes,
               (size_t)(end_own - begin_own) * bytes);
}

static void pad(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    (void)scratch;
    const struct view *x = &inputs[0], *y = &outputs[0];
    const struct pad *how = &operation->pad;
    size_t bytes = view_element_bytes(y->element), lines = view_product(y, 0, y->rank - 1);
    size_t count = y->dims[y->rank - 1], size = x->dims[y->rank - 1];
    const char *value = inputs[1].data;
#pragma omp parallel for if (lines * count * bytes >= PARALLEL_BYTES)
    for (size_t line = 0; line < lines; line++) {
        size_t rest = line, from = 0, step = size;
        char *to = (char *)y->data + line * count * bytes;
        bool inside = true;
        for (int d = y->rank - 2; d >= 0; rest /= y->dims[d], step *= x->dims[d], d--) {
            int64_t at = ref_pad_source(how->mode, (int64_t)(rest % y->dims[d]) - how->before[d], (int64_t)x->dims[d]);
            inside = inside && at >= 0;
            from += inside ? (size_t)at * step : 0;
        }
        if (inside)
            pad_line(how, x, (const char *)x->data + from * bytes, value, y, to);
        else
            fill(to, count, value, bytes);
    }
}

operation_function cpu_move_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs) {
    switch (operation->kind) {
    case OPERATION_TRANSPOSE:
        return transpose;
    case OPERATION_SLICE:
        return slice;
    case OPERATION_CONCAT:
        return concat;
    case OPERATION_GATHER:
        return gather;
    case OPERATION_EXPAND:
        return expand;
    case OPERATION_TILE:
        return tile;
    case OPERATION_PAD:
        return outputs[0].rank > 0 ? pad : NULL;
    case OPERATION_RESIZE:
        return cpu_resize_find(operation, inputs, outputs);
    default:
        return NULL;
    }
}
