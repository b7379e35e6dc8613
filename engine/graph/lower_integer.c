#include "engine/graph/lower_integer.h"

#include "engine/graph/lower_matrix.h"
#include "engine/graph/lower_window.h"
#include "engine/graph/node.h"
#include "engine/graph/wires.h"

/* Inputs of a node that give a tensor: its elements, their scale (-1: it has none) and zero point. */
struct operand {
    const char *name;
    int input, scale, zero;
};

/* The elements must be int8 or uint8, the scale float, the zero point of the elements' type. */
static enum weir_status check_operand(const struct lowering *lowering, const struct graph_node *node,
                                      const struct operand *operand, const struct fact **out, struct weir_error *err) {
    const struct fact *tensor, *scale = NULL, *zero = lower_input(lowering, node, operand->zero);
    if (lower_need(lowering, node, operand->input, &tensor, err) != WEIR_OK ||
        (operand->scale >= 0 && lower_need_float(lowering, node, operand->scale, &scale, err) != WEIR_OK))
        return err->status;
    if (tensor->dtype != TENSOR_U8 && tensor->dtype != TENSOR_I8)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "%s is %s; supported: uint8, int8",
                         operand->name, tensor_dtype_text(tensor->dtype));
    if (zero && zero->dtype != tensor->dtype)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "%s is %s, but its zero point %s", operand->name,
                         tensor_dtype_text(tensor->dtype), tensor_dtype_text(zero->dtype));
    *out = tensor;
    return WEIR_OK;
}

/* Scale and zero point of y: one number each. */
static enum weir_status check_result(const struct lowering *lowering, const struct graph_node *node,
                                     enum tensor_dtype *dtype, struct weir_error *err) {
    const struct fact *scale, *zero;
    if (lower_need_float(lowering, node, 6, &scale, err) != WEIR_OK ||
        lower_need(lowering, node, 7, &zero, err) != WEIR_OK)
        return err->status;
    if (scale->elements != 1 || zero->elements != 1)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "%zu scales and %zu zero points of y; supported: one", scale->elements, zero->elements);
    if (zero->dtype != TENSOR_U8 && zero->dtype != TENSOR_I8)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "y would be %s; supported: uint8, int8",
                         tensor_dtype_text(zero->dtype));
    *dtype = zero->dtype;
    return WEIR_OK;
}

/* Inputs that must have one element where they are given. */
static enum weir_status check_single(const struct lowering *lowering, const struct graph_node *node, int input,
                                     const char *what, struct weir_error *err) {
    const struct fact *fact = lower_input(lowering, node, input);
    if (fact && fact->elements != 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "%s has %zu elements, expected one", what,
                         fact->elements);
    return WEIR_OK;
}

/* The buffer of a scale or zero point of input `of`, a matrix, in the form that the kernels take: a scalar, [..., rows,
 * 1] for the left side, [..., 1, cols] for the right one. */
static enum weir_status list_buffer(struct lowering *lowering, const struct graph_node *node, int input, int of,
                                    int *buffer, struct weir_error *err) {
    const struct tensor_shape *matrix = &lower_input(lowering, node, of)->shape;
    bool left = of == 0;
    const struct fact *list = lower_input(lowering, node, input);
    char text[160], whole[160];
    if (lower_input_buffer(lowering, node, input, buffer, err) != WEIR_OK)
        return err->status;
    if (!list || list->elements == 1)
        return WEIR_OK;
    struct tensor_shape wanted = *matrix, flat = *matrix, shape = list->shape;
    int rank = matrix->rank;
    if (rank >= 2) {
        wanted.dims[left ? rank - 1 : rank - 2] = 1;
        flat = wanted;
        for (int i = 0; i < rank - 2; i++)
            flat.dims[i] = 1;
        if (shapes_equal(&shape, &wanted))
            return WEIR_OK;
        if (shape.rank == 1 && (size_t)shape.dims[0] == shapes_product(&flat, 0, rank))
            return lower_temporary_alias(lowering, node, *buffer, &flat, buffer, err);
    }
    return node_fail(lowering->graph, node, err, WEIR_INVALID,
                     "input %d has the shape %s, expected one number, or one for each %s of %s", input,
                     tensor_shape_text(&shape, text, sizeof text), left ? "row" : "column",
                     tensor_shape_text(matrix, whole, sizeof whole));
}

static enum weir_status product_step(struct lowering *lowering, const struct graph_node *node, enum operation_kind kind,
                                     int *inputs, int count, struct weir_error *err) {
    const struct operation operation = {.kind = kind};
    int output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {inputs, &output, count, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

enum weir_status lower_integer_qlinear_matmul(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) {
    const struct operand left = {"a", 0, 1, 2}, right = {"b", 3, 4, 5};
    const struct fact *a, *b;
    struct tensor_shape y;
    enum tensor_dtype dtype;
    int inputs[8];
    if (check_operand(lowering, node, &left, &a, err) != WEIR_OK ||
        check_operand(lowering, node, &right, &b, err) != WEIR_OK ||
        check_result(lowering, node, &dtype, err) != WEIR_OK ||
        lower_matrix_shape(lowering, node, &a->shape, &b->shape, &y, err) != WEIR_OK ||
        lower_define(lowering, node, 0, dtype, &y, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < 8; i++) {
        bool listed = i == 1 || i == 2 || i == 4 || i == 5;
        enum weir_status status = listed ? list_buffer(lowering, node, i, i < 3 ? 0 : 3, &inputs[i], err)
                                         : lower_input_buffer(lowering, node, i, &inputs[i], err);
        if (status != WEIR_OK)
            return status;
    }
    return product_step(lowering, node, OPERATION_QLINEAR_MATMUL, inputs, 8, err);
}

enum weir_status lower_integer_matmul_integer(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) {
    const struct operand left = {"A", 0, -1, 2}, right = {"B", 1, -1, 3};
    const struct fact *a, *b;
    struct tensor_shape y;
    int inputs[4];
    if (check_operand(lowering, node, &left, &a, err) != WEIR_OK ||
        check_operand(lowering, node, &right, &b, err) != WEIR_OK ||
        lower_matrix_shape(lowering, node, &a->shape, &b->shape, &y, err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_I32, &y, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 1, &inputs[1], err) != WEIR_OK ||
        list_buffer(lowering, node, 2, 0, &inputs[2], err) != WEIR_OK ||
        list_buffer(lowering, node, 3, 1, &inputs[3], err) != WEIR_OK)
        return err->status;
    return product_step(lowering, node, OPERATION_MATMUL_INTEGER, inputs, 4, err);
}

/* A list over the filters, or one number. */
static enum weir_status check_filters(const struct lowering *lowering, const struct graph_node *node, int input,
                                      int64_t count, struct weir_error *err) {
    const struct fact *list = lower_input(lowering, node, input);
    if (list && list->elements != 1 && (list->shape.rank != 1 || list->shape.dims[0] != count))
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "input %d has %zu elements, expected one, or one for each of the %lld filters", input,
                         list->elements, (long long)count);
    return WEIR_OK;
}

enum weir_status lower_integer_qlinear_conv(struct lowering *lowering, const struct graph_node *node,
                                            struct weir_error *err) {
    const struct operand left = {"x", 0, 1, 2}, right = {"w", 3, 4, 5};
    struct operation operation = {.kind = OPERATION_QLINEAR_CONV};
    const struct fact *x, *w, *bias = lower_input(lowering, node, 8);
    struct window_shape shape = {.y = {.rank = 0}};
    enum tensor_dtype dtype;
    if (check_operand(lowering, node, &left, &x, err) != WEIR_OK ||
        check_operand(lowering, node, &right, &w, err) != WEIR_OK ||
        check_result(lowering, node, &dtype, err) != WEIR_OK ||
        check_single(lowering, node, 1, "the scale of x", err) != WEIR_OK ||
        check_single(lowering, node, 2, "the zero point of x", err) != WEIR_OK ||
        lower_window_conv_shape(lowering, node, &x->shape, &w->shape, &shape, err) != WEIR_OK ||
        check_filters(lowering, node, 4, shape.y.dims[1], err) != WEIR_OK ||
        check_filters(lowering, node, 5, shape.y.dims[1], err) != WEIR_OK ||
        lower_window_check_bias(lowering, node, bias, shape.y.dims[1], err) != WEIR_OK)
        return err->status;
    if (bias && bias->dtype != TENSOR_I32)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "the bias is %s, expected int32",
                         tensor_dtype_text(bias->dtype));
    if (lower_define(lowering, node, 0, dtype, &shape.y, err) != WEIR_OK)
        return err->status;
    operation.window = shape.window;
    return wires_step(lowering, node, &operation, 9, 1, err);
}

enum weir_status lower_integer_conv_integer(struct lowering *lowering, const struct graph_node *node,
                                            struct weir_error *err) {
    const struct operand left = {"x", 0, -1, 2}, right = {"w", 1, -1, 3};
    struct operation operation = {.kind = OPERATION_CONV_INTEGER};
    const struct fact *x, *w;
    struct window_shape shape = {.y = {.rank = 0}};
    if (check_operand(lowering, node, &left, &x, err) != WEIR_OK ||
        check_operand(lowering, node, &right, &w, err) != WEIR_OK ||
        check_single(lowering, node, 2, "the zero point of x", err) != WEIR_OK ||
        lower_window_conv_shape(lowering, node, &x->shape, &w->shape, &shape, err) != WEIR_OK ||
        check_filters(lowering, node, 3, shape.y.dims[1], err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_I32, &shape.y, err) != WEIR_OK)
        return err->status;
    operation.window = shape.window;
    return wires_step(lowering, node, &operation, 4, 1, err);
}
