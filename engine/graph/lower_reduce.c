#include "engine/graph/lower_reduce.h"

#include <string.h>

#include "engine/graph/node.h"
#include "engine/graph/operators.h"

static bool is_reducible(enum reduce_kind kind, enum tensor_dtype dtype) {
    bool orders = kind == REDUCE_MAX || kind == REDUCE_MIN;
    return dtype == TENSOR_F32 || dtype == TENSOR_I32 || dtype == TENSOR_I64 ||
           (orders && (dtype == TENSOR_U8 || dtype == TENSOR_I8 || dtype == TENSOR_BOOL));
}

/* Defines output 0 as x without the reduced dimensions (or with 1 in their places) and appends the step. */
static enum weir_status reduce(struct lowering *lowering, const struct graph_node *node, enum reduce_kind kind,
                               uint32_t axes, bool keep, struct weir_error *err) {
    const struct fact *x;
    struct tensor_shape shape = {0};
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {kind, axes}};
    int in, out;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    if (!is_reducible(kind, x->dtype))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "input 0 is %s; supported: %s",
                         tensor_dtype_text(x->dtype),
                         kind == REDUCE_MAX || kind == REDUCE_MIN ? "floats, int32, int64, uint8, int8 and bool"
                                                                  : "floats, int32 and int64");
    for (int i = 0; i < x->shape.rank; i++) {
        if (!(axes >> i & 1))
            shape.dims[shape.rank++] = x->shape.dims[i];
        else if (keep)
            shape.dims[shape.rank++] = 1;
    }
    if (lower_define(lowering, node, 0, x->dtype, &shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &in, err) != WEIR_OK)
        return err->status;
    out = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {&in, &out, 1, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static enum reduce_kind kind_of(const char *op) {
    static const char *const names[] = {
        [REDUCE_SUM] = "ReduceSum",        [REDUCE_MEAN] = "ReduceMean",
        [REDUCE_MAX] = "ReduceMax",        [REDUCE_MIN] = "ReduceMin",
        [REDUCE_PRODUCT] = "ReduceProd",   [REDUCE_L1] = "ReduceL1",
        [REDUCE_L2] = "ReduceL2",          [REDUCE_SUM_SQUARE] = "ReduceSumSquare",
        [REDUCE_LOG_SUM] = "ReduceLogSum", [REDUCE_LOG_SUM_EXP] = "ReduceLogSumExp",
    };
    int kind = REDUCE_SUM;
    while (strcmp(names[kind], op) != 0)
        kind++;
    return (enum reduce_kind)kind;
}

/* The axes are an attribute, or an input (ReduceSum since opset 13, the others since 18). */
static enum weir_status lower_reduction(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    const struct fact *x;
    struct shapes_list list;
    int64_t keep = 1, no_operation = 0;
    uint32_t axes = 0;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_list(lowering, node, 1, "axes", &list, err) != WEIR_OK ||
        node_int(lowering->graph, node, "keepdims", &keep, err) != WEIR_OK ||
        node_int(lowering->graph, node, "noop_with_empty_axes", &no_operation, err) != WEIR_OK)
        return err->status;
    if (list.count <= 0 && no_operation)
        return lower_alias(lowering, node, 0, 0, &x->shape, err);
    for (int i = 0; i < list.count; i++) {
        int axis;
        if (!shapes_axis(list.items[i], x->shape.rank, &axis))
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions",
                             (long long)list.items[i], x->shape.rank);
        axes |= 1u << axis;
    }
    if (list.count <= 0)
        axes = (1u << x->shape.rank) - 1;
    return reduce(lowering, node, kind_of(node->op), axes, keep != 0, err);
}

/* Global pools reduce all dimensions behind batch and channels. */
static enum weir_status lower_global_pool(struct lowering *lowering, const struct graph_node *node,
                                          struct weir_error *err) {
    const struct fact *x;
    int64_t p = 2;
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "p", &p, err) != WEIR_OK)
        return err->status;
    if (x->shape.rank < 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its input has no channels");
    if (p != 1 && p != 2)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "p=%lld; supported: 1 and 2", (long long)p);
    enum reduce_kind kind = strcmp(node->op, "GlobalAveragePool") == 0 ? REDUCE_MEAN
                            : strcmp(node->op, "GlobalMaxPool") == 0   ? REDUCE_MAX
                            : p == 1                                   ? REDUCE_L1
                                                                       : REDUCE_L2;
    return reduce(lowering, node, kind, (1u << x->shape.rank) - 1 - 3, true, err);
}

enum weir_status lower_reduce_read_axis(const struct lowering *lowering, const struct graph_node *node,
                                        const struct fact *x, int64_t wanted, int *axis, struct weir_error *err) {
    if (node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK)
        return err->status;
    if (!shapes_axis(wanted, x->shape.rank, axis))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions", (long long)wanted,
                         x->shape.rank);
    return WEIR_OK;
}

static bool is_ordered(enum tensor_dtype dtype) {
    return dtype == TENSOR_F32 || dtype == TENSOR_I32 || dtype == TENSOR_I64 || dtype == TENSOR_U8 ||
           dtype == TENSOR_I8;
}

static enum weir_status need_ordered(struct lowering *lowering, const struct graph_node *node, const struct fact **x,
                                     struct weir_error *err) {
    if (lower_need(lowering, node, 0, x, err) != WEIR_OK)
        return err->status;
    if (!is_ordered((*x)->dtype))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input 0 is %s; supported: floats, int32, int64, uint8 and int8",
                         tensor_dtype_text((*x)->dtype));
    return WEIR_OK;
}

static enum weir_status lower_arg(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct tensor_shape shape = {0};
    struct operation operation = {.kind = OPERATION_ARG, .arg = {.min = strcmp(node->op, "ArgMin") == 0}};
    int64_t keep = 1, last = 0;
    if (need_ordered(lowering, node, &x, err) != WEIR_OK ||
        lower_reduce_read_axis(lowering, node, x, 0, &operation.arg.axis, err) != WEIR_OK ||
        node_int(lowering->graph, node, "keepdims", &keep, err) != WEIR_OK ||
        node_int(lowering->graph, node, "select_last_index", &last, err) != WEIR_OK)
        return err->status;
    operation.arg.last = last != 0;
    if (x->shape.dims[operation.arg.axis] == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "dimension %d of its input is empty",
                         operation.arg.axis);
    for (int i = 0; i < x->shape.rank; i++) {
        if (i != operation.arg.axis)
            shape.dims[shape.rank++] = x->shape.dims[i];
        else if (keep)
            shape.dims[shape.rank++] = 1;
    }
    if (lower_define(lowering, node, 0, TENSOR_I64, &shape, err) != WEIR_OK)
        return err->status;
    return lower_step(lowering, node, &operation, err);
}

/* The number of elements is an attribute before opset 10, an input since. sorted=0 lets the order open: it is sorted.
 */
static enum weir_status lower_topk(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_TOPK};
    int64_t largest = 1, attribute = -1;
    double k = -1;
    int in;
    if (need_ordered(lowering, node, &x, err) != WEIR_OK ||
        lower_reduce_read_axis(lowering, node, x, -1, &operation.topk.axis, err) != WEIR_OK ||
        node_int(lowering->graph, node, "largest", &largest, err) != WEIR_OK ||
        node_int(lowering->graph, node, "k", &attribute, err) != WEIR_OK ||
        lower_scalar(lowering, node, 1, &k, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = x->shape;
    int64_t *length = &shape.dims[operation.topk.axis];
    if (node->input_count < 2)
        k = (double)attribute;
    if (!(k >= 0 && k <= (double)*length))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "k is %.0f, the dimension has %lld elements", k,
                         (long long)*length);
    *length = (int64_t)k;
    operation.topk.largest = largest != 0;
    enum tensor_dtype dtype = x->dtype;
    if (lower_define(lowering, node, 0, dtype, &shape, err) != WEIR_OK ||
        lower_define(lowering, node, 1, TENSOR_I64, &shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &in, err) != WEIR_OK)
        return err->status;
    int outputs[2] = {lower_output_buffer(lowering, node, 0), lower_output_buffer(lowering, node, 1)};
    struct lower_wires wires = {&in, outputs, 1, 2};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static enum weir_status lower_cumsum(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_CUMSUM};
    int64_t exclusive = 0, reverse = 0;
    double wanted = 0;
    int in, out;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || lower_scalar(lowering, node, 1, &wanted, err) != WEIR_OK ||
        node_int(lowering->graph, node, "exclusive", &exclusive, err) != WEIR_OK ||
        node_int(lowering->graph, node, "reverse", &reverse, err) != WEIR_OK)
        return err->status;
    if (!(wanted >= -TENSOR_MAX_RANK && wanted <= TENSOR_MAX_RANK) ||
        !shapes_axis((int64_t)wanted, x->shape.rank, &operation.cumsum.axis))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %.0f of %d dimensions", wanted, x->shape.rank);
    if (x->dtype != TENSOR_F32 && x->dtype != TENSOR_I32 && x->dtype != TENSOR_I64)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input 0 is %s; supported: floats, int32 and int64", tensor_dtype_text(x->dtype));
    operation.cumsum.exclusive = exclusive != 0;
    operation.cumsum.reverse = reverse != 0;
    if (lower_define(lowering, node, 0, x->dtype, &x->shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &in, err) != WEIR_OK)
        return err->status;
    out = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {&in, &out, 1, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

#define REDUCTION(name)                                                                                                \
    { name, " axes keepdims noop_with_empty_axes ", 1, 2, 1, lower_reduction }

static const struct operator_entry entries[] = {
    {"ArgMax", " axis keepdims select_last_index ", 1, 1, 1, lower_arg},
    {"ArgMin", " axis keepdims select_last_index ", 1, 1, 1, lower_arg},
    {"CumSum", " exclusive reverse ", 2, 2, 1, lower_cumsum},
    {"GlobalAveragePool", " ", 1, 1, 1, lower_global_pool},
    {"GlobalLpPool", " p ", 1, 1, 1, lower_global_pool},
    {"GlobalMaxPool", " ", 1, 1, 1, lower_global_pool},
    REDUCTION("ReduceL1"),
    REDUCTION("ReduceL2"),
    REDUCTION("ReduceLogSum"),
    REDUCTION("ReduceLogSumExp"),
    REDUCTION("ReduceMax"),
    REDUCTION("ReduceMean"),
    REDUCTION("ReduceMin"),
    REDUCTION("ReduceProd"),
    REDUCTION("ReduceSum"),
    REDUCTION("ReduceSumSquare"),
    {"TopK", " axis k largest sorted ", 1, 2, 2, lower_topk},
};

const struct operator_family lower_reduce_family = {entries, sizeof entries / sizeof entries[0]};
