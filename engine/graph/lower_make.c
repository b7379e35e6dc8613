/* Operators that make tensors: from shapes, numbers or indices. */
#include <math.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/shapes.h"

/* What programs hold such elements as. */
static enum tensor_dtype held_as(enum tensor_dtype dtype) {
    return dtype == TENSOR_F16 || dtype == TENSOR_BF16 || dtype == TENSOR_F64 ? TENSOR_F32 : dtype;
}

/* The constant's only element as programs hold it. Returns its bytes. */
static size_t held_element(const struct graph_constant *constant, unsigned char element[8]) {
    size_t bytes = tensor_dtype_bytes(constant->dtype);
    memcpy(element, constant->bytes, bytes);
    if (held_as(constant->dtype) == constant->dtype)
        return bytes;
    float number = constant_element(constant, 0);
    memcpy(element, &number, sizeof number);
    return sizeof number;
}

static enum weir_status lower_constant_of_shape(struct lowering *lowering, const struct graph_node *node,
                                                struct weir_error *err) {
    const struct graph_attribute *value = graph_attribute(node, "value");
    struct shapes_list dims = {.count = -1};
    struct tensor_shape shape = {0};
    unsigned char element[8] = {0};
    size_t count = 1, size = sizeof(float);
    void *bytes;
    if (lower_list(lowering, node, 0, NULL, &dims, err) != WEIR_OK)
        return err->status;
    if (dims.count < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its shape is missing");
    if (value && (value->type != GRAPH_ATTRIBUTE_TENSOR || !value->tensor || value->tensor->elements != 1 ||
                  !value->tensor->bytes))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its value is not a tensor of one element");
    if (value)
        size = held_element(value->tensor, element);
    shape.rank = dims.count;
    memcpy(shape.dims, dims.items, (size_t)dims.count * sizeof dims.items[0]);
    if (lower_known(lowering, node, 0, value ? held_as(value->tensor->dtype) : TENSOR_F32, &shape, &bytes, err) !=
        WEIR_OK)
        return err->status;
    count = shapes_product(&shape, 0, shape.rank);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)bytes + i * size, element, size);
    return WEIR_OK;
}

/* Start, limit and delta; in integers or in floats, as their common type is. */
struct range_numbers {
    enum tensor_dtype dtype;
    int64_t integers[3];
    double floats[3];
};

static enum weir_status range_read(struct lowering *lowering, const struct graph_node *node,
                                   struct range_numbers *numbers, struct weir_error *err) {
    for (int i = 0; i < 3; i++) {
        const struct fact *fact;
        if (lower_need(lowering, node, i, &fact, err) != WEIR_OK)
            return err->status;
        if (!fact->known)
            return node_fail(
                lowering->graph, node, err, WEIR_UNSUPPORTED,
                "input %d is computed from the input's numbers; supported: a constant, or computed from shapes", i);
        if (fact->elements != 1 || (i > 0 && fact->dtype != numbers->dtype))
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d is not one number of the same type",
                             i);
        numbers->dtype = fact->dtype;
        float number;
        int32_t narrow;
        if (fact->dtype == TENSOR_F32) {
            memcpy(&number, fact->known, sizeof number);
            numbers->floats[i] = (double)number;
        } else if (fact->dtype == TENSOR_I32) {
            memcpy(&narrow, fact->known, sizeof narrow);
            numbers->integers[i] = narrow;
        } else if (fact->dtype == TENSOR_I64) {
            memcpy(&numbers->integers[i], fact->known, sizeof numbers->integers[i]);
        } else {
            return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "of %s; supported: float32, int32, int64",
                             tensor_dtype_text(fact->dtype));
        }
    }
    return WEIR_OK;
}

/* max(0, ceil((limit - start) / delta)); -1 where there is no such number, or a senseless one. */
static int64_t range_count(const struct range_numbers *numbers) {
    if (numbers->dtype == TENSOR_F32) {
        double count = ceil((numbers->floats[1] - numbers->floats[0]) / numbers->floats[2]);
        return !(count <= (double)GRAPH_MAX_ELEMENTS) ? -1 : count > 0 ? (int64_t)count : 0;
    }
    int64_t start = numbers->integers[0], limit = numbers->integers[1], delta = numbers->integers[2];
    if (delta == 0)
        return -1;
    if (delta > 0 ? limit <= start : limit >= start)
        return 0;
    uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t count = 1 + (span - 1) / (delta > 0 ? (uint64_t)delta : -(uint64_t)delta);
    return count > GRAPH_MAX_ELEMENTS ? -1 : (int64_t)count;
}

static enum weir_status lower_range(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct range_numbers numbers = {0};
    void *bytes;
    if (range_read(lowering, node, &numbers, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = {.rank = 1, .dims = {range_count(&numbers)}};
    if (shape.dims[0] < 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its delta is 0, or its range too long");
    if (lower_known(lowering, node, 0, numbers.dtype, &shape, &bytes, err) != WEIR_OK)
        return err->status;
    for (int64_t i = 0; i < shape.dims[0]; i++) {
        int64_t integer = (int64_t)((uint64_t)numbers.integers[0] + (uint64_t)i * (uint64_t)numbers.integers[2]);
        if (numbers.dtype == TENSOR_F32)
            ((float *)bytes)[i] = (float)(numbers.floats[0] + (double)i * numbers.floats[2]);
        else if (numbers.dtype == TENSOR_I32)
            ((int32_t *)bytes)[i] = (int32_t)integer;
        else
            ((int64_t *)bytes)[i] = integer;
    }
    return WEIR_OK;
}

static enum weir_status lower_eye_like(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    const struct fact *x;
    int64_t onnx_type = 0, k = 0;
    enum tensor_dtype dtype;
    unsigned char one[8] = {1};
    void *bytes;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK ||
        node_int(lowering->graph, node, "dtype", &onnx_type, err) != WEIR_OK ||
        node_int(lowering->graph, node, "k", &k, err) != WEIR_OK)
        return err->status;
    dtype = x->dtype;
    if (graph_attribute(node, "dtype") &&
        (onnx_type < 0 || onnx_type > INT32_MAX || !tensor_dtype_from_onnx((int32_t)onnx_type, &dtype)))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "of ONNX type %lld", (long long)onnx_type);
    if (x->shape.rank != 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "of %d dimensions, not 2", x->shape.rank);
    dtype = held_as(dtype);
    if (dtype == TENSOR_F32)
        memcpy(one, &(float){1}, sizeof(float));
    struct tensor_shape shape = x->shape;
    if (lower_known(lowering, node, 0, dtype, &shape, &bytes, err) != WEIR_OK)
        return err->status;
    size_t size = tensor_dtype_bytes(dtype);
    for (int64_t row = 0; k > -shape.dims[0] && k < shape.dims[1] && row < shape.dims[0]; row++)
        if (row + k >= 0 && row + k < shape.dims[1])
            memcpy((char *)bytes + (size_t)(row * shape.dims[1] + row + k) * size, one, size);
    return WEIR_OK;
}

static enum weir_status lower_one_hot(struct lowering *lowering, const struct graph_node *node,
                                      struct weir_error *err) {
    const struct fact *indices, *values;
    double depth = -1;
    int64_t wanted = -1;
    struct operation operation = {.kind = OPERATION_ONE_HOT};
    int inputs[2], output;
    if (lower_need(lowering, node, 0, &indices, err) != WEIR_OK ||
        lower_scalar(lowering, node, 1, &depth, err) != WEIR_OK ||
        lower_need(lowering, node, 2, &values, err) != WEIR_OK ||
        node_int(lowering->graph, node, "axis", &wanted, err) != WEIR_OK)
        return err->status;
    if (!(depth >= 0 && depth <= (double)GRAPH_MAX_ELEMENTS) || values->elements != 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its depth is no size, or its values are not two");
    struct tensor_shape shape = {.rank = indices->shape.rank + 1};
    if (shape.rank > TENSOR_MAX_RANK)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "more than %d dimensions", TENSOR_MAX_RANK);
    if (!shapes_axis(wanted, shape.rank, &operation.axis))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "axis %lld of %d dimensions", (long long)wanted,
                         shape.rank);
    for (int d = 0, from = 0; d < shape.rank; d++)
        shape.dims[d] = d == operation.axis ? (int64_t)depth : indices->shape.dims[from++];
    if (lower_define(lowering, node, 0, values->dtype, &shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &inputs[0], err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 2, &inputs[1], err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    return lower_wired_step(lowering, node, &operation, &(struct lower_wires){inputs, &output, 2, 1}, err);
}

static enum weir_status lower_trilu(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    int64_t upper = 1;
    double k = 0;
    int input, output;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || lower_scalar(lowering, node, 1, &k, err) != WEIR_OK ||
        node_int(lowering->graph, node, "upper", &upper, err) != WEIR_OK)
        return err->status;
    if (x->shape.rank < 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "of %d dimensions; it takes matrices",
                         x->shape.rank);
    k = fmax(-(double)GRAPH_MAX_ELEMENTS, fmin(k, (double)GRAPH_MAX_ELEMENTS));
    struct operation operation = {.kind = OPERATION_TRILU, .trilu = {.k = (int64_t)k, .upper = upper != 0}};
    if (lower_define(lowering, node, 0, x->dtype, &x->shape, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 0, &input, err) != WEIR_OK)
        return err->status;
    output = lower_output_buffer(lowering, node, 0);
    return lower_wired_step(lowering, node, &operation, &(struct lower_wires){&input, &output, 1, 1}, err);
}

static bool is_zero(const struct fact *x, size_t at) {
    static const unsigned char zeros[8];
    size_t bytes = tensor_dtype_bytes(x->dtype);
    const char *element = (const char *)x->known + at * bytes;
    float number;
    if (x->dtype != TENSOR_F32)
        return memcmp(element, zeros, bytes) == 0;
    memcpy(&number, element, sizeof number);
    return number == 0;
}

static enum weir_status lower_non_zero(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) {
    const struct fact *x;
    size_t count = 0, at = 0;
    void *bytes;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK)
        return err->status;
    if (!x->known)
        return node_fail(
            lowering->graph, node, err, WEIR_UNSUPPORTED,
            "its output's size is computed from the input's numbers; supported: a constant, or computed from shapes");
    for (size_t i = 0; i < x->elements; i++)
        count += !is_zero(x, i);
    struct tensor_shape shape = {.rank = 2, .dims = {x->shape.rank, (int64_t)count}};
    if (lower_known(lowering, node, 0, TENSOR_I64, &shape, &bytes, err) != WEIR_OK)
        return err->status;
    for (size_t i = 0; i < x->elements; i++) {
        size_t rest = i;
        if (is_zero(x, i))
            continue;
        for (int d = x->shape.rank - 1; d >= 0; d--) {
            ((int64_t *)bytes)[(size_t)d * count + at] = (int64_t)(rest % (size_t)x->shape.dims[d]);
            rest /= (size_t)x->shape.dims[d];
        }
        at++;
    }
    return WEIR_OK;
}

static const struct operator_entry entries[] = {
    {"ConstantOfShape", " value ", 1, 1, 1, lower_constant_of_shape},
    {"EyeLike", " dtype k ", 1, 1, 1, lower_eye_like},
    {"NonZero", " ", 1, 1, 1, lower_non_zero},
    {"OneHot", " axis ", 3, 3, 1, lower_one_hot},
    {"Range", " ", 3, 3, 1, lower_range},
    {"Trilu", " upper ", 1, 2, 1, lower_trilu},
};

const struct operator_family lower_make_family = {entries, sizeof entries / sizeof entries[0]};
