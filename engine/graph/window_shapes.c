#include "engine/graph/window_shapes.h"

#include "engine/graph/node.h"

enum auto_pad { AUTO_NOTSET, AUTO_SAME_UPPER, AUTO_SAME_LOWER, AUTO_VALID };

static const char *const auto_words[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};

/* What is read of the node. Every number is below MAX_NUMBER, so that products of two and sums fit int64_t. */
struct request {
    const struct lowering *lowering;
    const struct graph_node *node;
    int spatial;
    int auto_pad;
    bool ceil_mode;
    int64_t in[OPERATION_MAX_SPATIAL];
    int64_t kernel[OPERATION_MAX_SPATIAL], strides[OPERATION_MAX_SPATIAL], dilations[OPERATION_MAX_SPATIAL];
    int64_t pads[OPERATION_MAX_SPATIAL], pads_end[OPERATION_MAX_SPATIAL];
};

#define MAX_NUMBER INT32_MAX

/* Reads a list of `count` numbers from least to MAX_NUMBER; where it is absent, *out stays as it is. */
static enum weir_status read_list(const struct request *request, const char *name, int count, int64_t least,
                                  int64_t *out, struct weir_error *err) {
    const struct graph *graph = request->lowering->graph;
    struct shapes_list list;
    if (node_ints(graph, request->node, name, &list, err) != WEIR_OK)
        return err->status;
    if (list.count == -1)
        return WEIR_OK;
    if (list.count != count)
        return node_fail(graph, request->node, err, WEIR_INVALID, "%s has %d numbers, expected %d", name, list.count,
                         count);
    for (int i = 0; i < count; i++) {
        if (list.items[i] < least || list.items[i] > MAX_NUMBER)
            return node_fail(graph, request->node, err, WEIR_INVALID, "%s[%d] is %lld, expected %lld to %d", name, i,
                             (long long)list.items[i], (long long)least, MAX_NUMBER);
        out[i] = list.items[i];
    }
    return WEIR_OK;
}

/* The kernel's sizes from the weights, from kernel_shape, or from both where they agree. */
static enum weir_status read_kernel(struct request *request, const struct tensor_shape *w, struct weir_error *err) {
    const struct graph *graph = request->lowering->graph;
    int64_t wanted[OPERATION_MAX_SPATIAL] = {0};
    if (read_list(request, "kernel_shape", request->spatial, 1, wanted, err) != WEIR_OK)
        return err->status;
    if (!w && wanted[0] == 0)
        return node_fail(graph, request->node, err, WEIR_INVALID, "attribute kernel_shape is missing");
    for (int i = 0; i < request->spatial; i++) {
        request->kernel[i] = w ? w->dims[2 + i] : wanted[i];
        if (request->kernel[i] < 1 || request->kernel[i] > MAX_NUMBER)
            return node_fail(graph, request->node, err, WEIR_INVALID, "dimension %d of the weights is %lld", 2 + i,
                             (long long)request->kernel[i]);
        if (wanted[0] != 0 && wanted[i] != request->kernel[i])
            return node_fail(graph, request->node, err, WEIR_INVALID,
                             "kernel_shape[%d] is %lld, but dimension %d of the weights %lld", i, (long long)wanted[i],
                             2 + i, (long long)request->kernel[i]);
    }
    return WEIR_OK;
}

static enum weir_status check_shapes(const struct lowering *lowering, const struct graph_node *node,
                                     const struct tensor_shape *x, const struct tensor_shape *w,
                                     struct weir_error *err) {
    char text[160], weights[160];
    if (x->rank < 3)
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "X has the shape %s, expected [batch, channels, spatial...]",
                         tensor_shape_text(x, text, sizeof text));
    if (x->rank - 2 > OPERATION_MAX_SPATIAL)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "X has the shape %s; supported: 1 to %d spatial dimensions",
                         tensor_shape_text(x, text, sizeof text), OPERATION_MAX_SPATIAL);
    if (w && w->rank != x->rank)
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "X has the shape %s, the weights %s: expected the same rank",
                         tensor_shape_text(x, text, sizeof text), tensor_shape_text(w, weights, sizeof weights));
    for (int i = 2; i < x->rank; i++)
        if (x->dims[i] > MAX_NUMBER)
            return node_fail(lowering->graph, node, err, WEIR_TOO_LARGE, "dimension %d of X is %lld; supported: to %d",
                             i, (long long)x->dims[i], MAX_NUMBER);
    return WEIR_OK;
}

/* pads: all in front, then all behind. */
static enum weir_status read_pads(struct request *request, struct weir_error *err) {
    int64_t both[2 * OPERATION_MAX_SPATIAL] = {0};
    if (read_list(request, "pads", 2 * request->spatial, 0, both, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < request->spatial; i++) {
        request->pads[i] = both[i];
        request->pads_end[i] = both[request->spatial + i];
    }
    return WEIR_OK;
}

static enum weir_status read_request(struct request *request, const struct tensor_shape *x,
                                     const struct tensor_shape *w, struct weir_error *err) {
    const struct graph *graph = request->lowering->graph;
    int64_t ceil_mode = 0;
    if (check_shapes(request->lowering, request->node, x, w, err) != WEIR_OK)
        return err->status;
    request->spatial = x->rank - 2;
    for (int i = 0; i < request->spatial; i++) {
        request->in[i] = x->dims[2 + i];
        request->strides[i] = request->dilations[i] = 1;
    }
    if (read_kernel(request, w, err) != WEIR_OK ||
        read_list(request, "strides", request->spatial, 1, request->strides, err) != WEIR_OK ||
        read_list(request, "dilations", request->spatial, 1, request->dilations, err) != WEIR_OK ||
        node_word(graph, request->node, "auto_pad", auto_words, &request->auto_pad, err) != WEIR_OK ||
        node_int(graph, request->node, "ceil_mode", &ceil_mode, err) != WEIR_OK ||
        (request->auto_pad == AUTO_NOTSET && read_pads(request, err) != WEIR_OK))
        return err->status;
    request->ceil_mode = ceil_mode != 0;
    return WEIR_OK;
}

/* Distance from the window's first element to behind its last. */
static int64_t extent(const struct request *request, int i) {
    return request->dilations[i] * (request->kernel[i] - 1) + 1;
}

/* Halves of `total`; the odd one goes behind for SAME_UPPER, in front else. */
static void split_padding(struct request *request, int i, int64_t total) {
    int64_t less = total / 2;
    request->pads[i] = request->auto_pad == AUTO_SAME_UPPER ? less : total - less;
    request->pads_end[i] = total - request->pads[i];
}

static enum weir_status slide_dimension(struct request *request, int i, int64_t *out, struct weir_error *err) {
    int64_t in = request->in[i], stride = request->strides[i];
    if (request->auto_pad == AUTO_SAME_UPPER || request->auto_pad == AUTO_SAME_LOWER) {
        *out = (in + stride - 1) / stride;
        int64_t total = (*out - 1) * stride + extent(request, i) - in;
        split_padding(request, i, in > 0 && total > 0 ? total : 0);
        return WEIR_OK;
    }
    int64_t room = in + request->pads[i] + request->pads_end[i] - extent(request, i);
    if (room < 0)
        return node_fail(request->lowering->graph, request->node, err, WEIR_INVALID,
                         "the kernel of %lld (dilation %lld) does not fit dimension %d of X, %lld with pads %lld and "
                         "%lld",
                         (long long)request->kernel[i], (long long)request->dilations[i], 2 + i, (long long)in,
                         (long long)request->pads[i], (long long)request->pads_end[i]);
    bool up = request->ceil_mode && request->auto_pad == AUTO_NOTSET;
    *out = room / stride + 1 + (up && room % stride != 0);
    /* A window that would begin in the padding behind is left out. */
    if (up && (*out - 1) * stride >= in + request->pads[i] && *out > 1)
        --*out;
    return WEIR_OK;
}

static enum weir_status write_window(const struct request *request, const int64_t *sizes, struct window_shape *out,
                                     struct weir_error *err) {
    struct window *window = &out->window;
    window->spatial = request->spatial;
    out->y.rank = request->spatial + 2;
    for (int i = 0; i < request->spatial; i++) {
        window->kernel[i] = (size_t)request->kernel[i];
        window->strides[i] = (size_t)request->strides[i];
        window->dilations[i] = (size_t)request->dilations[i];
        window->pads[i] = (size_t)request->pads[i];
        window->pads_end[i] = (size_t)request->pads_end[i];
        if (sizes[i] > MAX_NUMBER)
            return node_fail(request->lowering->graph, request->node, err, WEIR_TOO_LARGE,
                             "dimension %d of its output would be %lld; supported: to %d", 2 + i, (long long)sizes[i],
                             MAX_NUMBER);
        out->y.dims[2 + i] = sizes[i];
    }
    return WEIR_OK;
}

enum weir_status window_shapes_slide(const struct lowering *lowering, const struct graph_node *node,
                                     const struct tensor_shape *x, const struct tensor_shape *w,
                                     struct window_shape *out, struct weir_error *err) {
    struct request request = {.lowering = lowering, .node = node};
    int64_t sizes[OPERATION_MAX_SPATIAL];
    if (read_request(&request, x, w, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < request.spatial; i++)
        if (slide_dimension(&request, i, &sizes[i], err) != WEIR_OK)
            return err->status;
    return write_window(&request, sizes, out, err);
}

/* output_shape: only the spatial sizes, or all of y's. Its first number is -1 where it is absent. */
static enum weir_status read_output_shape(const struct request *request, int64_t *sizes, struct weir_error *err) {
    const struct graph *graph = request->lowering->graph;
    struct shapes_list list;
    sizes[0] = -1;
    if (node_ints(graph, request->node, "output_shape", &list, err) != WEIR_OK)
        return err->status;
    if (list.count == -1)
        return WEIR_OK;
    int skip = list.count == request->spatial + 2 ? 2 : 0;
    if (list.count - skip != request->spatial)
        return node_fail(graph, request->node, err, WEIR_INVALID, "output_shape has %d numbers, expected %d",
                         list.count, request->spatial);
    for (int i = 0; i < request->spatial; i++) {
        if (list.items[skip + i] < 1 || list.items[skip + i] > MAX_NUMBER)
            return node_fail(graph, request->node, err, WEIR_INVALID, "output_shape[%d] is %lld", skip + i,
                             (long long)list.items[skip + i]);
        sizes[i] = list.items[skip + i];
    }
    return WEIR_OK;
}

/* wanted: -1 where the node does not say. */
static enum weir_status spread_dimension(struct request *request, int i, int64_t output_padding, int64_t wanted,
                                         int64_t *out, struct weir_error *err) {
    int64_t in = request->in[i], stride = request->strides[i];
    int64_t full = stride * (in - 1) + output_padding, whole;
    bool same = request->auto_pad == AUTO_SAME_UPPER || request->auto_pad == AUTO_SAME_LOWER;
    if (in < 1 || __builtin_add_overflow(full, extent(request, i), &whole))
        return node_fail(request->lowering->graph, request->node, err, WEIR_INVALID,
                         "dimension %d of its output would be out of range", 2 + i);
    if (wanted < 0 && same && __builtin_mul_overflow(in, stride, &wanted))
        wanted = INT64_MAX;
    if (wanted >= 0) {
        *out = wanted;
        split_padding(request, i, whole > wanted ? whole - wanted : 0);
        return WEIR_OK;
    }
    *out = whole - request->pads[i] - request->pads_end[i];
    if (*out < 1)
        return node_fail(request->lowering->graph, request->node, err, WEIR_INVALID,
                         "dimension %d of its output would be %lld: pads of %lld and %lld take all of it", 2 + i,
                         (long long)*out, (long long)request->pads[i], (long long)request->pads_end[i]);
    return WEIR_OK;
}

enum weir_status window_shapes_spread(const struct lowering *lowering, const struct graph_node *node,
                                      const struct tensor_shape *x, const struct tensor_shape *w,
                                      struct window_shape *out, struct weir_error *err) {
    struct request request = {.lowering = lowering, .node = node};
    int64_t output_padding[OPERATION_MAX_SPATIAL] = {0}, wanted[OPERATION_MAX_SPATIAL], sizes[OPERATION_MAX_SPATIAL];
    if (read_request(&request, x, w, err) != WEIR_OK ||
        read_list(&request, "output_padding", request.spatial, 0, output_padding, err) != WEIR_OK ||
        read_output_shape(&request, wanted, err) != WEIR_OK)
        return err->status;
    bool given = wanted[0] >= 0;
    for (int i = 0; i < request.spatial; i++)
        if (spread_dimension(&request, i, output_padding[i], given ? wanted[i] : -1, &sizes[i], err) != WEIR_OK)
            return err->status;
    return write_window(&request, sizes, out, err);
}
