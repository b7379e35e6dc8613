#include "engine/graph/fold.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

struct folding {
    struct graph *graph;
    const struct graph_node *node;
    const struct graph_constant *input;
    struct weir_error *err;
};

static enum weir_status fail(const struct folding *folding, enum weir_status status, const char *why) {
    return node_fail(folding->graph, folding->node, folding->err, status, "%s", why);
}

static enum weir_status number_list(struct folding *folding, const struct graph_attribute *attribute, bool scalar,
                                    const struct graph_constant **out) {
    bool floats = attribute->type == GRAPH_ATTRIBUTE_FLOATS || attribute->type == GRAPH_ATTRIBUTE_FLOAT;
    size_t count = scalar ? 1 : attribute->item_count;
    struct tensor_shape shape = {.rank = scalar ? 0 : 1, .dims = {(int64_t)count}};
    unsigned char *bytes;
    const struct graph_constant *made =
        constant_make(&folding->graph->region, floats ? TENSOR_F32 : TENSOR_I64, &shape, &bytes);
    if (!made)
        return fail(folding, WEIR_NO_MEMORY, "no memory");
    const void *from = !scalar  ? (floats ? (const void *)attribute->floats : (const void *)attribute->ints)
                       : floats ? (const void *)&attribute->number
                                : (const void *)&attribute->integer;
    memcpy(bytes, from, count * tensor_dtype_bytes(made->dtype));
    *out = made;
    return WEIR_OK;
}

/* Constant has its value in one of several attributes. */
static enum weir_status fold_constant(struct folding *folding, const struct graph_constant **out) {
    static const struct {
        const char *name;
        int type;
    } forms[] = {{"value", GRAPH_ATTRIBUTE_TENSOR},
                 {"value_float", GRAPH_ATTRIBUTE_FLOAT},
                 {"value_floats", GRAPH_ATTRIBUTE_FLOATS},
                 {"value_int", GRAPH_ATTRIBUTE_INT},
                 {"value_ints", GRAPH_ATTRIBUTE_INTS}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct graph_attribute *attribute = graph_attribute(folding->node, forms[i].name);
        if (!attribute)
            continue;
        if (attribute->type != forms[i].type)
            return fail(folding, WEIR_INVALID, "its value has the wrong attribute type");
        if (forms[i].type != GRAPH_ATTRIBUTE_TENSOR)
            return number_list(folding, attribute, i % 2 == 1, out);
        *out = attribute->tensor;
        return *out ? WEIR_OK : fail(folding, WEIR_INVALID, "its value is missing");
    }
    return fail(folding, WEIR_UNSUPPORTED,
                "its form of value; supported: value, value_float, value_floats, value_int, value_ints");
}

static enum weir_status fold_cast(struct folding *folding, const struct graph_constant **out) {
    int64_t to = 0;
    enum tensor_dtype dtype;
    bool supported = false;
    if (node_int(folding->graph, folding->node, "to", &to, folding->err) != WEIR_OK)
        return folding->err->status;
    *out = NULL;
    if (to >= 0 && to < INT32_MAX && tensor_dtype_from_onnx((int32_t)to, &dtype))
        *out = constant_cast(&folding->graph->region, folding->input, dtype, &supported);
    if (*out)
        return WEIR_OK;
    return supported ? fail(folding, WEIR_NO_MEMORY, "no memory")
                     : fail(folding, WEIR_UNSUPPORTED,
                            "a cast between these types; supported: to a float type, or of integers to int64");
}

static enum weir_status fold_transpose(struct folding *folding, const struct graph_constant **out) {
    struct shapes_list permutation;
    struct tensor_shape shape;
    int order[TENSOR_MAX_RANK] = {0};
    const char *fault;
    if (node_list(folding->graph, folding->node, -1, "perm", &permutation, folding->err) != WEIR_OK)
        return folding->err->status;
    enum weir_status status = shapes_transpose(&folding->input->shape, &permutation, order, &shape, &fault);
    if (status != WEIR_OK)
        return fail(folding, status, fault);
    *out = constant_transpose(&folding->graph->region, folding->input, order);
    return *out ? WEIR_OK : fail(folding, WEIR_NO_MEMORY, "no memory");
}

/* Reshape, Flatten, Squeeze and Unsqueeze. */
static enum weir_status fold_reshape(struct folding *folding, const struct graph_constant **out) {
    const struct graph_node *node = folding->node;
    const struct tensor_shape *in = &folding->input->shape;
    struct tensor_shape shape = *in;
    struct shapes_list list = {.count = -1};
    int64_t axis = 1, allow_zero = 0;
    const char *fault = "";
    bool reshape = strcmp(node->op, "Reshape") == 0, flatten = strcmp(node->op, "Flatten") == 0;
    enum weir_status status;
    if (node_int(folding->graph, node, "axis", &axis, folding->err) != WEIR_OK ||
        node_int(folding->graph, node, "allowzero", &allow_zero, folding->err) != WEIR_OK ||
        node_list(folding->graph, node, flatten ? -1 : 1, reshape || flatten ? NULL : "axes", &list, folding->err) !=
            WEIR_OK)
        return folding->err->status;
    if (flatten)
        status = shapes_flatten(in, axis, &shape, &fault);
    else if (reshape && list.count < 0)
        return fail(folding, WEIR_INVALID, "no shape is given");
    else if (reshape)
        status = shapes_reshape(in, &list, allow_zero != 0, 0, &shape, &fault);
    else if (strcmp(node->op, "Squeeze") == 0)
        status = shapes_squeeze(in, &list, 0, &shape, &fault);
    else
        status = shapes_unsqueeze(in, &list, &shape, &fault);
    if (status != WEIR_OK)
        return fail(folding, status, fault);
    *out = constant_reshape(&folding->graph->region, folding->input, &shape);
    return *out ? WEIR_OK : fail(folding, WEIR_NO_MEMORY, "no memory");
}

static enum weir_status fold_identity(struct folding *folding, const struct graph_constant **out) {
    *out = folding->input;
    return WEIR_OK;
}

static const struct {
    const char *op;
    enum weir_status (*fold)(struct folding *folding, const struct graph_constant **out);
} foldable[] = {
    {"Constant", fold_constant}, {"Identity", fold_identity},   {"Dropout", fold_identity},
    {"Cast", fold_cast},         {"Transpose", fold_transpose}, {"Reshape", fold_reshape},
    {"Flatten", fold_reshape},   {"Squeeze", fold_reshape},     {"Unsqueeze", fold_reshape},
};

static bool inputs_constant(const struct graph *graph, const struct graph_node *node) {
    for (int i = 0; i < node->input_count; i++) {
        const struct graph_value *value = node_input(graph, node, i);
        if (value && !value->constant)
            return false;
    }
    return true;
}

static enum weir_status fold_node(struct graph *graph, struct graph_node *node, struct weir_error *err) {
    const struct graph_constant *result = NULL;
    if (node->domain[0] || !inputs_constant(graph, node))
        return WEIR_OK;
    for (size_t i = 0; i < sizeof foldable / sizeof foldable[0]; i++) {
        if (strcmp(node->op, foldable[i].op) != 0)
            continue;
        const struct graph_value *input = node_input(graph, node, 0);
        struct graph_value *output = node_output(graph, node, 0);
        struct folding folding = {graph, node, input ? input->constant : NULL, err};
        if (!output || (!input && strcmp(node->op, "Constant") != 0))
            return node_fail(graph, node, err, WEIR_INVALID, "an input or output is missing");
        if (node_output(graph, node, 1))
            return node_fail(graph, node, err, WEIR_UNSUPPORTED, "a second output of a constant");
        if (foldable[i].fold(&folding, &result) != WEIR_OK)
            return err->status;
        output->constant = result;
        node->dead = true;
        return WEIR_OK;
    }
    return WEIR_OK;
}

enum weir_status fold_constants(struct graph *graph, struct weir_error *err) {
    for (int i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].dead && fold_node(graph, &graph->nodes[i], err) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}

enum weir_status fold_dead_code(struct graph *graph, struct weir_error *err) {
    bool *needed = calloc((size_t)graph->value_count + 1, sizeof *needed);
    if (!needed)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %d values", graph->value_count);
    for (int i = 0; i < graph->output_count; i++)
        needed[graph->outputs[i].value] = true;
    for (int i = graph->node_count - 1; i >= 0; i--) {
        struct graph_node *node = &graph->nodes[i];
        bool used = false;
        for (int j = 0; j < node->output_count; j++)
            used = used || (node->outputs[j] != GRAPH_NONE && needed[node->outputs[j]]);
        node->dead = node->dead || !used;
        for (int j = 0; !node->dead && j < node->input_count; j++)
            if (node->inputs[j] != GRAPH_NONE)
                needed[node->inputs[j]] = true;
    }
    free(needed);
    return WEIR_OK;
}
