#include "engine/graph/lower_convert.h"

#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"

/* Types of the format that programs do not have. Source: onnx.proto, TensorProto.DataType. */
static const char *foreign_type(int64_t number) {
    static const char *const names[] = {
        [0] = "undefined",     [4] = "uint16",          [5] = "int16",       [8] = "string",
        [12] = "uint32",       [13] = "uint64",         [14] = "complex64",  [15] = "complex128",
        [17] = "float8e4m3fn", [18] = "float8e4m3fnuz", [19] = "float8e5m2", [20] = "float8e5m2fnuz",
        [21] = "uint4",        [22] = "int4",           [23] = "float4e2m1",
    };
    bool listed = number >= 0 && number < (int64_t)(sizeof names / sizeof names[0]) && names[number];
    return listed ? names[number] : "unknown";
}

static enum weir_status cast_target(struct lowering *lowering, const struct graph_node *node, enum tensor_dtype *dtype,
                                    struct weir_error *err) {
    int64_t to = 0;
    if (strcmp(node->op, "CastLike") == 0) {
        const struct fact *like;
        if (lower_need(lowering, node, 1, &like, err) != WEIR_OK)
            return err->status;
        *dtype = like->dtype;
        return WEIR_OK;
    }
    if (!graph_attribute(node, "to"))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its type is missing");
    if (node_int(lowering->graph, node, "to", &to, err) != WEIR_OK)
        return err->status;
    if (to < 0 || to > INT32_MAX || !tensor_dtype_from_onnx((int32_t)to, dtype))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "to type %lld (%s); supported: floats, int8, uint8, int32, int64, bool", (long long)to,
                         foreign_type(to));
    return WEIR_OK;
}

enum weir_status lower_convert_cast(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_CAST, .through = ELEMENT_F32};
    const struct fact *x;
    enum tensor_dtype dtype;
    int input, output;
    struct lower_wires wires = {&input, &output, 1, 1};
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || cast_target(lowering, node, &dtype, err) != WEIR_OK)
        return err->status;
    if (dtype == TENSOR_F16 || dtype == TENSOR_BF16)
        operation.through = dtype == TENSOR_F16 ? ELEMENT_F16 : ELEMENT_BF16;
    if (dtype == TENSOR_F16 || dtype == TENSOR_BF16 || dtype == TENSOR_F64)
        dtype = TENSOR_F32;
    if (dtype == x->dtype && operation.through == ELEMENT_F32)
        return lower_alias(lowering, node, 0, 0, &x->shape, err);
    if (lower_define(lowering, node, 0, dtype, &x->shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &input, err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

enum weir_status lower_convert_dropout(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    const struct fact *x;
    double training = 0;
    void *mask;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || lower_scalar(lowering, node, 2, &training, err) != WEIR_OK)
        return err->status;
    if (training != 0)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "training_mode is set; supported: inference");
    struct tensor_shape shape = x->shape;
    size_t elements = x->elements;
    bool like_x = lowering->graph->opset < 10; /* the mask has the type of x */
    if (like_x && x->dtype != TENSOR_F32)
        return lower_need_float(lowering, node, 0, &x, err);
    if (lower_alias(lowering, node, 0, 0, &shape, err) != WEIR_OK)
        return err->status;
    if (!node_output(lowering->graph, node, 1))
        return WEIR_OK;
    if (lower_known(lowering, node, 1, like_x ? TENSOR_F32 : TENSOR_BOOL, &shape, &mask, err) != WEIR_OK)
        return err->status;
    for (size_t i = 0; i < elements; i++) {
        if (like_x)
            ((float *)mask)[i] = 1.0f;
        else
            ((unsigned char *)mask)[i] = 1;
    }
    return WEIR_OK;
}

enum weir_status lower_convert_identity(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    const struct fact *x;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = x->shape;
    return lower_alias(lowering, node, 0, 0, &shape, err);
}

/* The attribute's tensor itself, or float32 made of it: the elements are not copied without need. */
static enum weir_status define_tensor(struct lowering *lowering, const struct graph_node *node,
                                      const struct graph_constant *tensor, struct weir_error *err) {
    const struct graph_constant *constant = constant_as_program_type(lowering->region, tensor);
    if (!constant)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory for %zu elements", tensor->elements);
    lowering->facts[node->outputs[0]] = (struct fact){.defined = true,
                                                      .dtype = constant->dtype,
                                                      .shape = constant->shape,
                                                      .elements = constant->elements,
                                                      .known = constant->bytes,
                                                      .constant = constant,
                                                      .buffer = GRAPH_NONE};
    return WEIR_OK;
}

static enum weir_status define_list(struct lowering *lowering, const struct graph_node *node, enum tensor_dtype dtype,
                                    const struct graph_attribute *attribute, struct weir_error *err) {
    bool floats = dtype == TENSOR_F32;
    bool single = attribute->type == GRAPH_ATTRIBUTE_FLOAT || attribute->type == GRAPH_ATTRIBUTE_INT;
    struct tensor_shape shape = {.rank = single ? 0 : 1, .dims = {(int64_t)attribute->item_count}};
    void *bytes;
    if (lower_known(lowering, node, 0, dtype, &shape, &bytes, err) != WEIR_OK)
        return err->status;
    if (single && floats)
        *(float *)bytes = attribute->number;
    else if (single)
        *(int64_t *)bytes = attribute->integer;
    else if (attribute->item_count > 0 && floats)
        memcpy(bytes, attribute->floats, attribute->item_count * sizeof *attribute->floats);
    else if (attribute->item_count > 0)
        memcpy(bytes, attribute->ints, attribute->item_count * sizeof *attribute->ints);
    return WEIR_OK;
}

enum weir_status lower_convert_constant(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) {
    static const struct {
        const char *name;
        int type;
        enum tensor_dtype dtype;
    } forms[] = {{"value", GRAPH_ATTRIBUTE_TENSOR, TENSOR_F32},
                 {"value_float", GRAPH_ATTRIBUTE_FLOAT, TENSOR_F32},
                 {"value_floats", GRAPH_ATTRIBUTE_FLOATS, TENSOR_F32},
                 {"value_int", GRAPH_ATTRIBUTE_INT, TENSOR_I64},
                 {"value_ints", GRAPH_ATTRIBUTE_INTS, TENSOR_I64}};
    if (node->attribute_count != 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "it has %d attributes, expected one value",
                         node->attribute_count);
    const struct graph_attribute *attribute = &node->attributes[0];
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].name, attribute->name) != 0 || forms[i].type != attribute->type)
            continue;
        if (attribute->type == GRAPH_ATTRIBUTE_TENSOR && !attribute->tensor)
            return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                             "its value has ONNX type %d; supported: floats, integers, bool",
                             (int)attribute->unsupported_type);
        if (attribute->type == GRAPH_ATTRIBUTE_TENSOR)
            return define_tensor(lowering, node, attribute->tensor, err);
        return define_list(lowering, node, forms[i].dtype, attribute, err);
    }
    return node_fail(lowering->graph, node, err, WEIR_INVALID, "attribute %.64s has the wrong type (%d)",
                     attribute->name, attribute->type);
}
