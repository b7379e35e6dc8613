/* Pad. */
#include <string.h>

#include "engine/graph/lower_move.h"
#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

/* Reads where how much is added, and gives the result's shape. */
static enum weir_status read_pads(struct lowering *lowering, const struct graph_node *node, const struct fact *x,
                                  struct pad *pad, struct tensor_shape *shape, struct weir_error *err) {
    int64_t pads[2 * TENSOR_MAX_RANK];
    struct lower_move_list list = {pads, 2 * TENSOR_MAX_RANK, -1};
    struct shapes_list axes;
    if (lower_move_list(lowering, node, 1, "pads", &list, err) != WEIR_OK ||
        lower_move_axes(lowering, node, 3, x->shape.rank, &axes, err) != WEIR_OK)
        return err->status;
    *shape = x->shape;
    bool fits = list.count == 2 * axes.count;
    for (int i = 0; fits && i < axes.count; i++) {
        int64_t *dim = &shape->dims[axes.items[i]], size = *dim;
        pad->before[axes.items[i]] = pads[i];
        fits = pads[i] > -GRAPH_MAX_ELEMENTS && !__builtin_add_overflow(*dim, pads[i], dim) &&
               !__builtin_add_overflow(*dim, pads[axes.count + i], dim) && *dim >= 0 &&
               (size > 0 || *dim == 0 || pad->mode == PAD_CONSTANT);
    }
    if (!fits)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its pads do not fit its input");
    return WEIR_OK;
}

/* The buffer of what PAD_CONSTANT pads with, -1 for zeros. */
static enum weir_status read_value(struct lowering *lowering, const struct graph_node *node, const struct fact *x,
                                   int *buffer, struct weir_error *err) {
    static const struct tensor_shape scalar;
    const struct fact *value = lower_input(lowering, node, 2);
    float number = 0;
    void *bytes;
    *buffer = -1;
    if (value && value->elements > 0) { /* some exporters write an empty list for none */
        if (value->dtype != x->dtype || value->elements != 1)
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "its value is not one number of type %s",
                             tensor_dtype_text(x->dtype));
        return lower_input_buffer(lowering, node, 2, buffer, err);
    }
    if (node_float(lowering->graph, node, "value", &number, err) != WEIR_OK)
        return err->status;
    if (number == 0)
        return WEIR_OK;
    if (x->dtype != TENSOR_F32)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "attribute value with an input of %s; supported: float", tensor_dtype_text(x->dtype));
    if (lower_temporary_known(lowering, node, TENSOR_F32, &scalar, buffer, &bytes, err) != WEIR_OK)
        return err->status;
    *(float *)bytes = number;
    return WEIR_OK;
}

enum weir_status lower_pad(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap", NULL}; /* in the enum's order */
    const struct fact *x;
    struct operation operation = {.kind = OPERATION_PAD};
    struct tensor_shape shape;
    int mode = PAD_CONSTANT, inputs[2], output;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_word(lowering->graph, node, "mode", modes, &mode, err) != WEIR_OK)
        return err->status;
    operation.pad.mode = (enum pad_mode)mode;
    if (read_pads(lowering, node, x, &operation.pad, &shape, err) != WEIR_OK)
        return err->status;
    bool unchanged = shapes_equal(&shape, &x->shape);
    for (int d = 0; d < shape.rank; d++)
        unchanged = unchanged && operation.pad.before[d] == 0;
    if (unchanged)
        return lower_alias(lowering, node, 0, 0, &shape, err);
    if (lower_define(lowering, node, 0, x->dtype, &shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK ||
        read_value(lowering, node, x, &inputs[1], err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    if (output < 0)
        return WEIR_OK;
    return lower_wired_step(lowering, node, &operation, &(struct lower_wires){inputs, &output, 2, 1}, err);
}
