/* QuantizeLinear and its inverse, and the table of all operators on quantized numbers. */
#include "engine/graph/lower_integer.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/wires.h"

static bool is_quantized(enum tensor_dtype dtype) {
    return dtype == TENSOR_U8 || dtype == TENSOR_I8;
}

/* One number, or one for each place of x's dimension `axis`; the axis then is written to the operation. */
static enum weir_status check_lists(const struct lowering *lowering, const struct graph_node *node,
                                    const struct fact *x, struct operation *operation, struct weir_error *err) {
    const struct fact *scale, *zero = lower_input(lowering, node, 2);
    int64_t wanted = 1, block_size = 0;
    int axis;
    if (lower_need_float(lowering, node, 1, &scale, err) != WEIR_OK ||
        node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK ||
        node_int(lowering->graph, node, "block_size", &block_size, err) != WEIR_OK)
        return err->status;
    if (block_size != 0 || scale->shape.rank > 1)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "scales by blocks; supported: one scale, or one for each place of an axis");
    if (zero && zero->elements != scale->elements)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "it has %zu scales, but %zu zero points",
                         scale->elements, zero->elements);
    if (scale->elements == 1)
        return WEIR_OK;
    if (!shapes_axis(wanted, x->shape.rank, &axis))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld, but X has %d dimensions",
                         (long long)wanted, x->shape.rank);
    if (scale->shape.dims[0] != x->shape.dims[axis])
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "it has %lld scales, but dimension %d of X is %lld",
                         (long long)scale->shape.dims[0], axis, (long long)x->shape.dims[axis]);
    operation->axis = axis;
    return WEIR_OK;
}

/* The element of y: that of the zero point, else output_dtype, else uint8. */
static enum weir_status quantized_type(const struct lowering *lowering, const struct graph_node *node,
                                       enum tensor_dtype *dtype, struct weir_error *err) {
    const struct fact *zero = lower_input(lowering, node, 2);
    int64_t wanted = 0;
    if (node_int(lowering->graph, node, "output_dtype", &wanted, err) != WEIR_OK)
        return err->status;
    *dtype = zero ? zero->dtype : TENSOR_U8;
    if (!zero && wanted != 0 && (wanted > INT32_MAX || wanted < 0 || !tensor_dtype_from_onnx((int32_t)wanted, dtype)))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "output_dtype %lld; supported: uint8, int8",
                         (long long)wanted);
    if (!is_quantized(*dtype))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "its output would be %s; supported: uint8, int8",
                         tensor_dtype_text(*dtype));
    return WEIR_OK;
}

static enum weir_status lower_quantize_linear(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_QUANTIZE};
    const struct operation cast = {.kind = OPERATION_CAST, .through = ELEMENT_F32};
    const struct fact *x;
    enum tensor_dtype dtype;
    int inputs[3], output;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || quantized_type(lowering, node, &dtype, err) != WEIR_OK ||
        check_lists(lowering, node, x, &operation, err) != WEIR_OK)
        return err->status;
    if (x->dtype != TENSOR_F32 && x->dtype != TENSOR_I32)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "X is %s; supported: float, int32",
                         tensor_dtype_text(x->dtype));
    if (lower_define(lowering, node, 0, dtype, &x->shape, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < 3; i++)
        if (lower_input_buffer(lowering, node, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    if (x->dtype == TENSOR_I32) {
        struct lower_wires through = {&inputs[0], &output, 1, 1};
        if (lower_temporary(lowering, node, TENSOR_F32, &x->shape, &output, err) != WEIR_OK ||
            lower_wired_step(lowering, node, &cast, &through, err) != WEIR_OK)
            return err->status;
        inputs[0] = output;
    }
    output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {inputs, &output, 3, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static enum weir_status lower_dequantize_linear(struct lowering *lowering, const struct graph_node *node,
                                                struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_DEQUANTIZE};
    const struct fact *x, *zero = lower_input(lowering, node, 2);
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || check_lists(lowering, node, x, &operation, err) != WEIR_OK)
        return err->status;
    if (!is_quantized(x->dtype) && x->dtype != TENSOR_I32)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "X is %s; supported: uint8, int8, int32",
                         tensor_dtype_text(x->dtype));
    if (zero && zero->dtype != x->dtype)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "X is %s, but its zero point %s",
                         tensor_dtype_text(x->dtype), tensor_dtype_text(zero->dtype));
    if (lower_define(lowering, node, 0, TENSOR_F32, &x->shape, err) != WEIR_OK)
        return err->status;
    return wires_step(lowering, node, &operation, 3, 1, err);
}

static enum weir_status lower_dynamic_quantize(struct lowering *lowering, const struct graph_node *node,
                                               struct weir_error *err) {
    const struct operation operation = {.kind = OPERATION_DYNAMIC_QUANTIZE};
    const struct tensor_shape scalar = {.rank = 0};
    const struct fact *x;
    if (lower_need_float(lowering, node, 0, &x, err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_U8, &x->shape, err) != WEIR_OK ||
        lower_define(lowering, node, 1, TENSOR_F32, &scalar, err) != WEIR_OK ||
        lower_define(lowering, node, 2, TENSOR_U8, &scalar, err) != WEIR_OK)
        return err->status;
    return wires_step(lowering, node, &operation, 1, 3, err);
}

static const struct operator_entry entries[] = {
    {"ConvInteger", " auto_pad dilations group kernel_shape pads strides ", 2, 4, 1, lower_integer_conv_integer},
    {"DequantizeLinear", " axis block_size ", 2, 3, 1, lower_dequantize_linear},
    {"DynamicQuantizeLinear", " ", 1, 1, 3, lower_dynamic_quantize},
    {"MatMulInteger", " ", 2, 4, 1, lower_integer_matmul_integer},
    {"QLinearConv", " auto_pad dilations group kernel_shape pads strides ", 8, 9, 1, lower_integer_qlinear_conv},
    {"QLinearMatMul", " ", 8, 8, 1, lower_integer_qlinear_matmul},
    {"QuantizeLinear", " axis block_size output_dtype saturate ", 2, 3, 1, lower_quantize_linear},
};

const struct operator_family lower_quantize_family = {entries, sizeof entries / sizeof entries[0]};
