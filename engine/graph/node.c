#include "engine/graph/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/graph/constant.h"

static int64_t opset_of(const struct graph *graph, const char *domain) {
    for (int i = 0; i < graph->import_count; i++)
        if (strcmp(graph->imports[i].domain, domain) == 0)
            return graph->imports[i].version;
    return 0;
}

enum weir_status node_fail(const struct graph *graph, const struct graph_node *node, struct weir_error *err,
                           enum weir_status status, const char *format, ...) {
    char what[320];
    char place[96] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (node->name[0])
        snprintf(place, sizeof place, " '%.64s'", node->name);
    const struct graph_value *output = node_output(graph, node, 0);
    const char *gives = !node->name[0] && output ? output->name : "";
    long long opset = (long long)opset_of(graph, node->domain);
    return weir_fail(err, status, "node %d%s (%.64s%s%.64s, domain %.64s, opset %lld): %s", node->index, place,
                     node->op, gives[0] ? " -> " : "", gives, node->domain[0] ? node->domain : "ai.onnx", opset, what);
}

static const struct graph_attribute *find(const struct graph *graph, const struct graph_node *node, const char *name,
                                          int type, struct weir_error *err) {
    const struct graph_attribute *attribute = graph_attribute(node, name);
    err->status = WEIR_OK;
    if (attribute && attribute->type != type) {
        node_fail(graph, node, err, WEIR_INVALID, "attribute %s has the wrong type (%d, not %d)", name, attribute->type,
                  type);
        return NULL;
    }
    return attribute;
}

enum weir_status node_int(const struct graph *graph, const struct graph_node *node, const char *name, int64_t *value,
                          struct weir_error *err) {
    const struct graph_attribute *attribute = find(graph, node, name, GRAPH_ATTRIBUTE_INT, err);
    if (attribute)
        *value = attribute->integer;
    return err->status;
}

enum weir_status node_float(const struct graph *graph, const struct graph_node *node, const char *name, float *value,
                            struct weir_error *err) {
    const struct graph_attribute *attribute = find(graph, node, name, GRAPH_ATTRIBUTE_FLOAT, err);
    if (attribute)
        *value = attribute->number;
    return err->status;
}

enum weir_status node_list(const struct graph *graph, const struct graph_node *node, int input, const char *attribute,
                           struct shapes_list *list, struct weir_error *err) {
    const struct graph_value *value = input >= 0 ? node_input(graph, node, input) : NULL;
    if (value) {
        if (!value->constant)
            return node_fail(graph, node, err, WEIR_UNSUPPORTED,
                             "input %d '%.64s' is computed; supported: a constant list", input, value->name);
        if (value->constant->shape.rank > 1 || value->constant->elements > TENSOR_MAX_RANK)
            return node_fail(graph, node, err, WEIR_UNSUPPORTED, "input %d '%.64s' is not a list of at most %d numbers",
                             input, value->name, TENSOR_MAX_RANK);
        if (!constant_integers(value->constant, list->items))
            return node_fail(graph, node, err, WEIR_INVALID, "input %d '%.64s' is not of an integer type", input,
                             value->name);
        list->count = (int)value->constant->elements;
        return WEIR_OK;
    }
    const struct graph_attribute *found = attribute ? find(graph, node, attribute, GRAPH_ATTRIBUTE_INTS, err) : NULL;
    if (attribute && err->status != WEIR_OK)
        return err->status;
    list->count = -1;
    if (!found)
        return WEIR_OK;
    if (found->item_count > TENSOR_MAX_RANK)
        return node_fail(graph, node, err, WEIR_UNSUPPORTED, "attribute %s has more than %d numbers", attribute,
                         TENSOR_MAX_RANK);
    list->count = (int)found->item_count;
    for (int i = 0; i < list->count; i++)
        list->items[i] = found->ints[i];
    return WEIR_OK;
}

struct graph_value *node_input(const struct graph *graph, const struct graph_node *node, int input) {
    if (input >= node->input_count || node->inputs[input] == GRAPH_NONE)
        return NULL;
    return &graph->values[node->inputs[input]];
}

struct graph_value *node_output(const struct graph *graph, const struct graph_node *node, int output) {
    if (output >= node->output_count || node->outputs[output] == GRAPH_NONE)
        return NULL;
    return &graph->values[node->outputs[output]];
}
