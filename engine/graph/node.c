#include "engine/graph/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

enum weir_status node_text(const struct graph *graph, const struct graph_node *node, const char *name,
                           const char **value, struct weir_error *err) {
    const struct graph_attribute *attribute = find(graph, node, name, GRAPH_ATTRIBUTE_STRING, err);
    if (attribute)
        *value = attribute->text ? attribute->text : "";
    return err->status;
}

enum weir_status node_ints(const struct graph *graph, const struct graph_node *node, const char *name,
                           struct shapes_list *list, struct weir_error *err) {
    const struct graph_attribute *attribute = find(graph, node, name, GRAPH_ATTRIBUTE_INTS, err);
    if (err->status != WEIR_OK)
        return err->status;
    list->count = -1;
    if (!attribute)
        return WEIR_OK;
    if (attribute->item_count > TENSOR_MAX_RANK)
        return node_fail(graph, node, err, WEIR_UNSUPPORTED, "attribute %s has more than %d numbers", name,
                         TENSOR_MAX_RANK);
    list->count = (int)attribute->item_count;
    for (int i = 0; i < list->count; i++)
        list->items[i] = attribute->ints[i];
    return WEIR_OK;
}

enum weir_status node_word(const struct graph *graph, const struct graph_node *node, const char *name,
                           const char *const *words, int *value, struct weir_error *err) {
    char known[160] = "";
    const char *text = NULL;
    if (node_text(graph, node, name, &text, err) != WEIR_OK || !text)
        return err->status;
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *value = i;
            return WEIR_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, " %s", words[i]);
    }
    return node_fail(graph, node, err, WEIR_UNSUPPORTED, "attribute %s is '%.64s'; supported:%s", name, text, known);
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
