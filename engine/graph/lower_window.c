#include "engine/graph/lower_window.h"

#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/wires.h"

static enum weir_status read_groups(const struct lowering *lowering, const struct graph_node *node, int64_t *groups,
                                    struct weir_error *err) {
    *groups = 1;
    if (node_int(lowering->graph, node, "group", groups, err) != WEIR_OK)
        return err->status;
    if (*groups < 1 || *groups > INT32_MAX)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "group is %lld", (long long)*groups);
    return WEIR_OK;
}

enum weir_status lower_window_check_bias(const struct lowering *lowering, const struct graph_node *node,
                                         const struct fact *bias, int64_t count, struct weir_error *err) {
    char text[160];
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != count))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "the bias has the shape %s, expected [%lld]",
                         tensor_shape_text(&bias->shape, text, sizeof text), (long long)count);
    return WEIR_OK;
}

enum weir_status lower_window_conv_shape(const struct lowering *lowering, const struct graph_node *node,
                                         const struct tensor_shape *x, const struct tensor_shape *w,
                                         struct window_shape *out, struct weir_error *err) {
    int64_t groups, channels;
    if (read_groups(lowering, node, &groups, err) != WEIR_OK ||
        window_shapes_slide(lowering, node, x, w, out, err) != WEIR_OK)
        return err->status;
    if (__builtin_mul_overflow(w->dims[1], groups, &channels) || channels != x->dims[1])
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "dimension 1 of X is %lld, that of the weights %lld in %lld groups", (long long)x->dims[1],
                         (long long)w->dims[1], (long long)groups);
    if (w->dims[0] % groups != 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "dimension 0 of the weights, %lld, cannot be cut into %lld groups", (long long)w->dims[0],
                         (long long)groups);
    out->window.groups = (size_t)groups;
    out->y.dims[0] = x->dims[0];
    out->y.dims[1] = w->dims[0];
    return WEIR_OK;
}

/* x and w, and the bias if there is one (else NULL), all of them float. */
static enum weir_status conv_inputs(const struct lowering *lowering, const struct graph_node *node,
                                    const struct fact **x, const struct fact **w, const struct fact **bias,
                                    struct weir_error *err) {
    *bias = NULL;
    if (lower_need_float(lowering, node, 0, x, err) != WEIR_OK ||
        lower_need_float(lowering, node, 1, w, err) != WEIR_OK)
        return err->status;
    if (lower_input(lowering, node, 2))
        return lower_need_float(lowering, node, 2, bias, err);
    return WEIR_OK;
}

static enum weir_status lower_conv(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_CONV};
    struct window_shape shape = {.y = {.rank = 0}};
    const struct fact *x, *w, *bias;
    if (conv_inputs(lowering, node, &x, &w, &bias, err) != WEIR_OK ||
        lower_window_conv_shape(lowering, node, &x->shape, &w->shape, &shape, err) != WEIR_OK ||
        lower_window_check_bias(lowering, node, bias, shape.y.dims[1], err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &shape.y, err) != WEIR_OK)
        return err->status;
    operation.window = shape.window;
    return wires_step(lowering, node, &operation, 4, 1, err);
}

static enum weir_status lower_conv_transpose(struct lowering *lowering, const struct graph_node *node,
                                             struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_CONV_TRANSPOSE};
    const struct fact *x, *w, *bias;
    struct window_shape shape = {.y = {.rank = 0}};
    int64_t groups;
    if (conv_inputs(lowering, node, &x, &w, &bias, err) != WEIR_OK ||
        read_groups(lowering, node, &groups, err) != WEIR_OK ||
        window_shapes_spread(lowering, node, &x->shape, &w->shape, &shape, err) != WEIR_OK)
        return err->status;
    if (w->shape.dims[0] != x->shape.dims[1] || x->shape.dims[1] % groups != 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "dimension 1 of X is %lld, dimension 0 of the weights %lld: they must be the same, and be cut "
                         "into %lld groups",
                         (long long)x->shape.dims[1], (long long)w->shape.dims[0], (long long)groups);
    shape.y.dims[0] = x->shape.dims[0];
    if (__builtin_mul_overflow(w->shape.dims[1], groups, &shape.y.dims[1]))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "dimension 1 of its output would be out of range");
    operation.window = shape.window;
    operation.window.groups = (size_t)groups;
    if (lower_window_check_bias(lowering, node, bias, shape.y.dims[1], err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &shape.y, err) != WEIR_OK)
        return err->status;
    return wires_step(lowering, node, &operation, 3, 1, err);
}

static enum weir_status lower_pool(struct lowering *lowering, const struct graph_node *node,
                                   struct operation *operation, const struct fact *x, struct weir_error *err) {
    struct window_shape shape = {.y = {.rank = 0}};
    operation->kind = OPERATION_POOL;
    if (window_shapes_slide(lowering, node, &x->shape, NULL, &shape, err) != WEIR_OK)
        return err->status;
    operation->pool.window = shape.window;
    operation->pool.window.groups = 1;
    shape.y.dims[0] = x->shape.dims[0];
    shape.y.dims[1] = x->shape.dims[1];
    if (lower_define(lowering, node, 0, x->dtype, &shape.y, err) != WEIR_OK ||
        lower_define(lowering, node, 1, TENSOR_I64, &shape.y, err) != WEIR_OK)
        return err->status;
    return wires_step(lowering, node, operation, 1, 2, err);
}

static enum weir_status lower_max_pool(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    struct operation operation = {.pool = {.kind = POOL_MAX}};
    const struct fact *x;
    int64_t storage_order = 0;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "storage_order", &storage_order, err) != WEIR_OK)
        return err->status;
    if (x->dtype != TENSOR_F32 && x->dtype != TENSOR_U8 && x->dtype != TENSOR_I8)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "X is %s; supported: float, uint8, int8",
                         tensor_dtype_text(x->dtype));
    operation.pool.column_major = storage_order != 0;
    return lower_pool(lowering, node, &operation, x, err);
}

static enum weir_status lower_average_pool(struct lowering *lowering, const struct graph_node *node,
                                           struct weir_error *err) {
    struct operation operation = {.pool = {.kind = POOL_AVERAGE}};
    const struct fact *x;
    int64_t count_padding = 0;
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "count_include_pad", &count_padding, err) != WEIR_OK)
        return err->status;
    operation.pool.count_padding = count_padding != 0;
    return lower_pool(lowering, node, &operation, x, err);
}

static enum weir_status lower_lp_pool(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    struct operation operation = {.pool = {.kind = POOL_LP, .p = 2}};
    const struct fact *x;
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "p", &operation.pool.p, err) != WEIR_OK)
        return err->status;
    if (operation.pool.p < 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "p is %lld", (long long)operation.pool.p);
    return lower_pool(lowering, node, &operation, x, err);
}

static const struct operator_entry entries[] = {
    {"AveragePool", " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides ", 1, 1, 1,
     lower_average_pool},
    {"Conv", " auto_pad dilations group kernel_shape pads strides ", 2, 3, 1, lower_conv},
    {"ConvTranspose", " auto_pad dilations group kernel_shape output_padding output_shape pads strides ", 2, 3, 1,
     lower_conv_transpose},
    {"LpPool", " auto_pad ceil_mode dilations kernel_shape p pads strides ", 1, 1, 1, lower_lp_pool},
    {"MaxPool", " auto_pad ceil_mode dilations kernel_shape pads storage_order strides ", 1, 1, 2, lower_max_pool},
};

const struct operator_family lower_window_family = {entries, sizeof entries / sizeof entries[0]};
