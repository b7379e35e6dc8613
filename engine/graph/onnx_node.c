#include "engine/graph/onnx_node.h"

#include <string.h>

/* Field numbers of NodeProto and AttributeProto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REFERENCE = 21
};

/* Items by kind of list. */
struct lists {
    size_t floats, ints, strings;
};

static enum weir_status read_tensor(struct graph *graph, struct wire message, struct graph_attribute *attribute,
                                    struct weir_error *err) {
    struct onnx_tensor tensor;
    if (onnx_tensor_read(graph, message, &tensor, err) != WEIR_OK)
        return err->status;
    attribute->tensor = tensor.constant;
    attribute->unsupported_type = tensor.unsupported_type;
    return WEIR_OK;
}

/* A string attribute is bytes: what stands behind a NUL in it is not seen. */
static enum weir_status copy_string(struct region *region, const struct wire_field *field, const char **out,
                                    const struct graph_attribute *attribute, struct weir_error *err) {
    size_t size = wire_size(field->bytes);
    if (field->type != WIRE_BYTES)
        return weir_fail(err, WEIR_INVALID, "attribute %.64s: broken", attribute->name);
    if (size > GRAPH_MAX_ATTRIBUTE_ITEMS)
        return weir_fail(err, WEIR_TOO_LARGE, "attribute %.64s: a text of over %d bytes", attribute->name,
                         GRAPH_MAX_ATTRIBUTE_ITEMS);
    *out = region_copy_text(region, field->bytes.at, size);
    return *out ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "attribute %.64s: no memory", attribute->name);
}

/* Adds the items of one piece of a list to those that are there; the list has been taken at its full length. */
static void append(struct graph_attribute *attribute, struct wire_field *field, float *floats, int64_t *ints) {
    enum wire_type type = floats ? WIRE_FIXED32 : WIRE_VARINT;
    size_t count;
    if (!wire_count(field, type, &count))
        return;
    while (count-- > 0) {
        uint64_t value = wire_take(field, type);
        uint32_t bits = (uint32_t)value;
        if (floats)
            memcpy(&floats[attribute->item_count++], &bits, sizeof bits);
        else
            ints[attribute->item_count++] = (int64_t)value;
    }
}

static enum weir_status read_numbers(struct region *region, struct wire message, uint32_t number, size_t items,
                                     struct graph_attribute *attribute, struct weir_error *err) {
    struct wire_field field;
    float *floats = number == ATTRIBUTE_FLOATS ? region_take(region, items, sizeof *floats) : NULL;
    int64_t *ints = number == ATTRIBUTE_INTS ? region_take(region, items, sizeof *ints) : NULL;
    if (!floats && !ints)
        return weir_fail(err, WEIR_NO_MEMORY, "attribute %.64s: no memory", attribute->name);
    attribute->item_count = 0;
    while (wire_next(&message, &field) == WIRE_FIELD)
        if (field.number == number)
            append(attribute, &field, floats, ints);
    attribute->floats = floats;
    attribute->ints = ints;
    return WEIR_OK;
}

static enum weir_status read_strings(struct region *region, struct wire message, size_t items,
                                     struct graph_attribute *attribute, struct weir_error *err) {
    struct wire_field field;
    const char **texts = region_take(region, items, sizeof *texts);
    if (!texts)
        return weir_fail(err, WEIR_NO_MEMORY, "attribute %.64s: no memory", attribute->name);
    attribute->item_count = 0;
    while (wire_next(&message, &field) == WIRE_FIELD)
        if (field.number == ATTRIBUTE_STRINGS &&
            copy_string(region, &field, &texts[attribute->item_count++], attribute, err) != WEIR_OK)
            return err->status;
    attribute->texts = texts;
    return WEIR_OK;
}

/* One field that is not a list. *guess becomes the type that the field implies: old files leave the type out. */
static enum weir_status read_scalar(struct graph *graph, const struct wire_field *field,
                                    struct graph_attribute *attribute, int *guess, struct weir_error *err) {
    uint32_t bits = (uint32_t)field->scalar;
    switch (field->number) {
    case ATTRIBUTE_NAME:
        return onnx_text(&graph->region, field, &attribute->name, err);
    case ATTRIBUTE_F:
        if (field->type != WIRE_FIXED32)
            return weir_fail(err, WEIR_INVALID, "attribute %.64s: broken", attribute->name);
        memcpy(&attribute->number, &bits, sizeof bits);
        *guess = GRAPH_ATTRIBUTE_FLOAT;
        break;
    case ATTRIBUTE_I:
        attribute->integer = (int64_t)field->scalar;
        *guess = GRAPH_ATTRIBUTE_INT;
        break;
    case ATTRIBUTE_S:
        *guess = GRAPH_ATTRIBUTE_STRING;
        return copy_string(&graph->region, field, &attribute->text, attribute, err);
    case ATTRIBUTE_T:
    case ATTRIBUTE_G:
        *guess = field->number == ATTRIBUTE_T ? GRAPH_ATTRIBUTE_TENSOR : GRAPH_ATTRIBUTE_GRAPH;
        if (field->type != WIRE_BYTES)
            return weir_fail(err, WEIR_INVALID, "attribute %.64s: broken", attribute->name);
        if (field->number == ATTRIBUTE_T)
            return read_tensor(graph, field->bytes, attribute, err);
        attribute->body = field->bytes.at;
        attribute->body_size = wire_size(field->bytes);
        break;
    case ATTRIBUTE_TYPE:
        attribute->type = (int)field->scalar;
        break;
    case ATTRIBUTE_REFERENCE:
        return weir_fail(err, WEIR_UNSUPPORTED, "attribute %.64s: it refers to one of a function", attribute->name);
    default:
        break;
    }
    return WEIR_OK;
}

/* Counts the items of one piece of a list. *is_list: the field is one. */
static bool count_items(const struct wire_field *field, struct lists *lists, int *guess, bool *is_list) {
    size_t count = 1;
    *is_list = true;
    switch (field->number) {
    case ATTRIBUTE_FLOATS:
        *guess = GRAPH_ATTRIBUTE_FLOATS;
        if (!wire_count(field, WIRE_FIXED32, &count))
            return false;
        lists->floats += count;
        return true;
    case ATTRIBUTE_INTS:
        *guess = GRAPH_ATTRIBUTE_INTS;
        if (!wire_count(field, WIRE_VARINT, &count))
            return false;
        lists->ints += count;
        return true;
    case ATTRIBUTE_STRINGS:
        *guess = GRAPH_ATTRIBUTE_STRINGS;
        lists->strings++;
        return field->type == WIRE_BYTES;
    default:
        *is_list = false;
        return true;
    }
}

static enum weir_status read_attribute(struct graph *graph, struct wire message, struct graph_attribute *attribute,
                                       struct weir_error *err) {
    struct wire rest = message;
    struct wire_field field;
    enum wire_result result;
    struct lists lists = {0};
    bool is_list;
    int guess = 0;
    attribute->name = "";
    attribute->text = "";
    while ((result = wire_next(&rest, &field)) == WIRE_FIELD) {
        if (!count_items(&field, &lists, &guess, &is_list))
            return weir_fail(err, WEIR_INVALID, "attribute %.64s: a broken list", attribute->name);
        if (!is_list && read_scalar(graph, &field, attribute, &guess, err) != WEIR_OK)
            return err->status;
    }
    if (result == WIRE_BROKEN)
        return weir_fail(err, WEIR_INVALID, "attribute %.64s: cut off or broken", attribute->name);
    if (lists.floats > GRAPH_MAX_ATTRIBUTE_ITEMS || lists.ints > GRAPH_MAX_ATTRIBUTE_ITEMS ||
        lists.strings > GRAPH_MAX_ATTRIBUTE_ITEMS)
        return weir_fail(err, WEIR_TOO_LARGE, "attribute %.64s: more than %d items", attribute->name,
                         GRAPH_MAX_ATTRIBUTE_ITEMS);
    if (attribute->type == 0)
        attribute->type = guess;
    if (attribute->type == GRAPH_ATTRIBUTE_FLOATS)
        return read_numbers(&graph->region, message, ATTRIBUTE_FLOATS, lists.floats, attribute, err);
    if (attribute->type == GRAPH_ATTRIBUTE_INTS)
        return read_numbers(&graph->region, message, ATTRIBUTE_INTS, lists.ints, attribute, err);
    if (attribute->type == GRAPH_ATTRIBUTE_STRINGS)
        return read_strings(&graph->region, message, lists.strings, attribute, err);
    return WEIR_OK;
}

/* Counts inputs, outputs and attributes, and takes the lists. */
static enum weir_status make_lists(struct graph *graph, struct wire message, struct graph_node *node,
                                   struct weir_error *err) {
    struct wire_field field;
    enum wire_result result;
    size_t inputs = 0, outputs = 0, attributes = 0;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        inputs += field.number == NODE_INPUT;
        outputs += field.number == NODE_OUTPUT;
        attributes += field.number == NODE_ATTRIBUTE;
    }
    if (result == WIRE_BROKEN)
        return weir_fail(err, WEIR_INVALID, "its message is cut off or broken");
    if (inputs > GRAPH_MAX_NODE_VALUES || outputs > GRAPH_MAX_NODE_VALUES || attributes > GRAPH_MAX_ATTRIBUTES)
        return weir_fail(err, WEIR_TOO_LARGE, "more than %d inputs or outputs, or more than %d attributes",
                         GRAPH_MAX_NODE_VALUES, GRAPH_MAX_ATTRIBUTES);
    node->inputs = region_take(&graph->region, inputs, sizeof *node->inputs);
    node->outputs = region_take(&graph->region, outputs, sizeof *node->outputs);
    node->attributes = region_take(&graph->region, attributes, sizeof *node->attributes);
    if (!node->inputs || !node->outputs || !node->attributes)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory");
    return WEIR_OK;
}

/* The name of scope's prefix and name together, in text of at least GRAPH_MAX_NAME_BYTES bytes. */
static bool join(const struct graph_scope *scope, struct wire name, char *text, size_t *size) {
    size_t prefix = strlen(scope->prefix);
    *size = prefix + wire_size(name);
    if (*size > GRAPH_MAX_NAME_BYTES)
        return false;
    memcpy(text, scope->prefix, prefix);
    memcpy(text + prefix, name.at, wire_size(name));
    return true;
}

int onnx_node_find(const struct graph *graph, const struct graph_scope *scope, struct wire name) {
    char text[GRAPH_MAX_NAME_BYTES];
    size_t size;
    for (; scope; scope = scope->outer) {
        int found = join(scope, name, text, &size) ? graph_find(graph, text, size) : GRAPH_NONE;
        if (found != GRAPH_NONE)
            return found;
    }
    return graph_find(graph, name.at, wire_size(name));
}

int onnx_node_resolve(struct graph *graph, const struct graph_scope *scope, struct wire name) {
    int found = scope ? onnx_node_find(graph, scope, name) : GRAPH_NONE;
    return found != GRAPH_NONE ? found : graph_intern(graph, name.at, wire_size(name));
}

int onnx_node_define(struct graph *graph, const struct graph_scope *scope, struct wire name) {
    char text[GRAPH_MAX_NAME_BYTES];
    size_t size;
    if (!scope)
        return graph_intern(graph, name.at, wire_size(name));
    return join(scope, name, text, &size) ? graph_intern(graph, text, size) : GRAPH_NONE;
}

static enum weir_status read_value(struct graph *graph, const struct graph_node *node, const struct wire_field *field,
                                   int *out, struct weir_error *err) {
    size_t size = wire_size(field->bytes);
    *out = GRAPH_NONE;
    if (field->type == WIRE_BYTES && size == 0)
        return WEIR_OK; /* an omitted optional one */
    if (field->type != WIRE_BYTES || size > GRAPH_MAX_NAME_BYTES || memchr(field->bytes.at, 0, size))
        return weir_fail(err, WEIR_INVALID, "an input or output has a broken name");
    *out = field->number == NODE_OUTPUT ? onnx_node_define(graph, node->scope, field->bytes)
                                        : onnx_node_resolve(graph, node->scope, field->bytes);
    return *out == GRAPH_NONE ? weir_fail(err, WEIR_NO_MEMORY, "no memory, or more than %d names", GRAPH_MAX_VALUES)
                              : WEIR_OK;
}

static enum weir_status read_fields(struct graph *graph, struct wire message, struct graph_node *node,
                                    struct weir_error *err) {
    struct wire_field field;
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && wire_next(&message, &field) == WIRE_FIELD) {
        switch (field.number) {
        case NODE_INPUT:
            status = read_value(graph, node, &field, &node->inputs[node->input_count++], err);
            break;
        case NODE_OUTPUT:
            status = read_value(graph, node, &field, &node->outputs[node->output_count++], err);
            break;
        case NODE_NAME:
            status = onnx_text(&graph->region, &field, &node->name, err);
            break;
        case NODE_OP:
            status = onnx_text(&graph->region, &field, &node->op, err);
            break;
        case NODE_DOMAIN:
            status = onnx_text(&graph->region, &field, &node->domain, err);
            break;
        case NODE_ATTRIBUTE:
            status = field.type != WIRE_BYTES
                         ? weir_fail(err, WEIR_INVALID, "an attribute is not a message")
                         : read_attribute(graph, field.bytes, &node->attributes[node->attribute_count++], err);
            break;
        default:
            break;
        }
    }
    return status;
}

enum weir_status onnx_node_read(struct graph *graph, struct wire message, struct graph_node *node,
                                struct weir_error *err) {
    node->op = node->name = node->domain = "";
    if (make_lists(graph, message, node, err) != WEIR_OK || read_fields(graph, message, node, err) != WEIR_OK)
        return weir_fail_in(err, "node %d '%.64s' (%.64s)", node->index, node->name, node->op);
    if (strcmp(node->domain, "ai.onnx") == 0)
        node->domain = "";
    return WEIR_OK;
}
