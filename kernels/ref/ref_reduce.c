#include "kernels/ref/ref_reduce.h"

#include <math.h>

/* Some of a view's dimensions: how many elements they have, and where in memory they are. */
struct walk {
    int rank;
    size_t dims[VIEW_MAX_RANK], strides[VIEW_MAX_RANK];
    size_t count;
};

static void split(const struct view *x, uint32_t axes, struct walk *kept, struct walk *reduced) {
    *kept = *reduced = (struct walk){.count = 1};
    for (int i = 0; i < x->rank; i++) {
        struct walk *walk = axes >> i & 1 ? reduced : kept;
        walk->dims[walk->rank] = x->dims[i];
        walk->strides[walk->rank++] = view_product(x, i + 1, x->rank);
        walk->count *= x->dims[i];
    }
}

static size_t offset_of(const struct walk *walk, size_t index) {
    size_t offset = 0;
    for (int i = walk->rank - 1; i >= 0; i--) {
        offset += index % walk->dims[i] * walk->strides[i];
        index /= walk->dims[i];
    }
    return offset;
}

static double finish(enum reduce_kind kind, double value, size_t count) {
    switch (kind) {
    case REDUCE_MEAN:
        return value / (double)count;
    case REDUCE_L2:
        return sqrt(value);
    case REDUCE_LOG_SUM:
        return log(value);
    default:
        return value;
    }
}

static double log_sum_exp(const float *x, const struct walk *walk) {
    double greatest = -INFINITY, sum = 0;
    for (size_t i = 0; i < walk->count; i++)
        greatest = fmax(greatest, x[offset_of(walk, i)]);
    if (isinf(greatest) && walk->count > 0 && greatest < 0)
        greatest = 0; /* all are -inf, or NaN */
    if (walk->count == 0 || (isinf(greatest) && greatest > 0)) {
        for (size_t i = 0; i < walk->count; i++)
            greatest += x[offset_of(walk, i)] != x[offset_of(walk, i)] ? (double)NAN : 0.0;
        return greatest;
    }
    for (size_t i = 0; i < walk->count; i++)
        sum += exp(x[offset_of(walk, i)] - greatest);
    return greatest + log(sum);
}

static double reduce_floats(enum reduce_kind kind, const float *x, const struct walk *walk) {
    double value = kind == REDUCE_PRODUCT ? 1 : kind == REDUCE_MAX ? -INFINITY : kind == REDUCE_MIN ? INFINITY : 0;
    if (kind == REDUCE_LOG_SUM_EXP)
        return log_sum_exp(x, walk);
    for (size_t i = 0; i < walk->count; i++) {
        double element = x[offset_of(walk, i)];
        switch (kind) {
        case REDUCE_MAX:
            value = element > value || isnan(element) ? element : value;
            break;
        case REDUCE_MIN:
            value = element < value || isnan(element) ? element : value;
            break;
        case REDUCE_PRODUCT:
            value *= element;
            break;
        case REDUCE_L1:
            value += fabs(element);
            break;
        case REDUCE_L2:
        case REDUCE_SUM_SQUARE:
            value += element * element;
            break;
        default:
            value += element;
        }
    }
    return finish(kind, value, walk->count);
}

static int64_t integer_at(const struct view *view, size_t at) {
    switch (view->element) {
    case ELEMENT_I64:
        return ((const int64_t *)view->data)[at];
    case ELEMENT_I32:
        return ((const int32_t *)view->data)[at];
    case ELEMENT_I8:
        return ((const int8_t *)view->data)[at];
    default:
        return ((const uint8_t *)view->data)[at];
    }
}

static void set_integer(const struct view *view, size_t at, int64_t value) {
    switch (view->element) {
    case ELEMENT_I64:
        ((int64_t *)view->data)[at] = value;
        break;
    case ELEMENT_I32:
        ((int32_t *)view->data)[at] = (int32_t)value;
        break;
    case ELEMENT_I8:
        ((int8_t *)view->data)[at] = (int8_t)value;
        break;
    default:
        ((uint8_t *)view->data)[at] = (uint8_t)value;
    }
}

static int64_t truncated(double value) {
    return !(value > -0x1p63) ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

static int64_t greatest_of(enum element element) {
    return element == ELEMENT_I64   ? INT64_MAX
           : element == ELEMENT_I32 ? INT32_MAX
           : element == ELEMENT_I8  ? INT8_MAX
           : element == ELEMENT_U8  ? UINT8_MAX
                                    : 1;
}

static int64_t least_of(enum element element) {
    return element == ELEMENT_I64   ? INT64_MIN
           : element == ELEMENT_I32 ? INT32_MIN
           : element == ELEMENT_I8  ? INT8_MIN
                                    : 0;
}

/* Sums and products wrap around, so they are unsigned. */
static int64_t reduce_integers(enum reduce_kind kind, const struct view *x, size_t base, const struct walk *walk) {
    int64_t least = greatest_of(x->element), greatest = least_of(x->element);
    uint64_t sum = 0, product = 1, absolute = 0, squares = 0;
    double exponentials = 0;
    for (size_t i = 0; i < walk->count; i++) {
        int64_t element = integer_at(x, base + offset_of(walk, i));
        least = element < least ? element : least;
        greatest = element > greatest ? element : greatest;
        sum += (uint64_t)element;
        product *= (uint64_t)element;
        absolute += element < 0 ? 0 - (uint64_t)element : (uint64_t)element;
        squares += (uint64_t)element * (uint64_t)element;
        exponentials += exp((double)element);
    }
    switch (kind) {
    case REDUCE_MEAN:
        return walk->count ? (int64_t)sum / (int64_t)walk->count : 0;
    case REDUCE_MAX:
        return greatest;
    case REDUCE_MIN:
        return least;
    case REDUCE_PRODUCT:
        return (int64_t)product;
    case REDUCE_L1:
        return (int64_t)absolute;
    case REDUCE_L2:
        return truncated(sqrt((double)squares));
    case REDUCE_SUM_SQUARE:
        return (int64_t)squares;
    case REDUCE_LOG_SUM:
        return truncated(log((double)(int64_t)sum));
    case REDUCE_LOG_SUM_EXP:
        return truncated(log(exponentials));
    default:
        return (int64_t)sum;
    }
}

void ref_reduce(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    const struct view *x = &inputs[0], *y = &outputs[0];
    enum reduce_kind kind = operation->reduce.kind;
    struct walk kept, reduced;
    (void)scratch;
    split(x, operation->reduce.axes, &kept, &reduced);
    for (size_t i = 0; i < kept.count; i++) {
        size_t base = offset_of(&kept, i);
        if (x->element == ELEMENT_F32)
            ((float *)y->data)[i] = (float)reduce_floats(kind, (const float *)x->data + base, &reduced);
        else
            set_integer(y, i, reduce_integers(kind, x, base, &reduced));
    }
}

/* One line of a view along an axis. */
struct line {
    const struct view *view;
    size_t base, stride, length;
};

static struct line line_of(const struct view *view, int axis, size_t index) {
    size_t inner = view_product(view, axis + 1, view->rank), length = view->dims[axis];
    return (struct line){view, index / inner * length * inner + index % inner, inner, length};
}

static size_t line_count(const struct view *view, int axis) {
    return view_product(view, 0, axis) * view_product(view, axis + 1, view->rank);
}

/* Below 0, 0 or above 0 as element a is less than, equal to or greater than b; NaN equals NaN. */
static int compare(const struct line *line, size_t a, size_t b) {
    a = line->base + a * line->stride;
    b = line->base + b * line->stride;
    if (line->view->element == ELEMENT_F32) {
        float left = ((const float *)line->view->data)[a], right = ((const float *)line->view->data)[b];
        if (isnan(left) || isnan(right))
            return !!isnan(left) - !!isnan(right);
        return (left > right) - (left < right);
    }
    int64_t left = integer_at(line->view, a), right = integer_at(line->view, b);
    return (left > right) - (left < right);
}

static bool is_nan_at(const struct line *line, size_t i) {
    return line->view->element == ELEMENT_F32 &&
           isnan(((const float *)line->view->data)[line->base + i * line->stride]);
}

void ref_arg(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    const struct arg *arg = &operation->arg;
    int64_t *y = outputs[0].data;
    size_t count = line_count(&inputs[0], arg->axis);
    (void)scratch;
    for (size_t l = 0; l < count; l++) {
        struct line line = line_of(&inputs[0], arg->axis, l);
        size_t best = 0;
        for (size_t i = 1; i < line.length && !is_nan_at(&line, best); i++) {
            int order = compare(&line, i, best);
            if (is_nan_at(&line, i) || (arg->min ? order < 0 : order > 0) || (arg->last && order == 0))
                best = i;
        }
        y[l] = (int64_t)best;
    }
}

void ref_cumsum(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    const struct cumsum *cumsum = &operation->cumsum;
    const struct view *x = &inputs[0], *y = &outputs[0];
    size_t count = line_count(x, cumsum->axis);
    (void)scratch;
    for (size_t l = 0; l < count; l++) {
        struct line line = line_of(x, cumsum->axis, l);
        double sum = 0;
        uint64_t total = 0;
        for (size_t i = 0; i < line.length; i++) {
            size_t at = line.base + (cumsum->reverse ? line.length - 1 - i : i) * line.stride;
            double sum_before = sum;
            uint64_t total_before = total;
            if (x->element == ELEMENT_F32) {
                sum += ((const float *)x->data)[at];
                ((float *)y->data)[at] = (float)(cumsum->exclusive ? sum_before : sum);
            } else {
                total += (uint64_t)integer_at(x, at);
                set_integer(y, at, (int64_t)(cumsum->exclusive ? total_before : total));
            }
        }
    }
}

/* Does element a come before element b in the result? */
static bool is_before(const struct line *line, bool largest, size_t a, size_t b) {
    int order = compare(line, a, b);
    return order == 0 ? a < b : largest ? order > 0 : order < 0;
}

/* Restores the heap below `at`; its root is the element that comes last. */
static void sift(const struct line *line, bool largest, size_t *heap, size_t count, size_t at) {
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(line, largest, heap[child], heap[child + 1]))
            child++;
        if (is_before(line, largest, heap[child], heap[at]))
            return;
        size_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

/* Leaves the first k elements of the order in heap. */
static void select_first(const struct line *line, bool largest, size_t *heap, size_t k) {
    for (size_t i = 0; i < k; i++)
        heap[i] = i;
    for (size_t i = k / 2; i-- > 0;)
        sift(line, largest, heap, k, i);
    for (size_t i = k; i < line->length; i++)
        if (is_before(line, largest, i, heap[0])) {
            heap[0] = i;
            sift(line, largest, heap, k, 0);
        }
    for (size_t left = k; left > 1; left--) {
        size_t last = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = last;
        sift(line, largest, heap, left - 1, 0);
    }
}

void ref_topk(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    const struct view *x = &inputs[0], *values = &outputs[0], *indices = &outputs[1];
    int axis = operation->topk.axis;
    const struct view *shape = values->data ? values : indices;
    size_t *heap = scratch, k = shape->dims[axis], count = line_count(x, axis);
    if (k == 0)
        return;
    for (size_t l = 0; l < count; l++) {
        struct line line = line_of(x, axis, l), out = line_of(shape, axis, l);
        select_first(&line, operation->topk.largest, heap, k);
        for (size_t i = 0; i < k; i++) {
            size_t from = line.base + heap[i] * line.stride, to = out.base + i * out.stride;
            if (values->data && x->element == ELEMENT_F32)
                ((float *)values->data)[to] = ((const float *)x->data)[from];
            else if (values->data)
                set_integer(values, to, integer_at(x, from));
            if (indices->data)
                ((int64_t *)indices->data)[to] = (int64_t)heap[i];
        }
    }
}

size_t ref_topk_scratch_bytes(const struct operation *operation, const struct view *inputs,
                              const struct view *outputs) {
    const struct view *shape = outputs[0].rank ? &outputs[0] : &outputs[1];
    (void)inputs;
    return shape->dims[operation->topk.axis] * sizeof(size_t);
}
