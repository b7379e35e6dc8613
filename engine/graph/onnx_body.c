#include "engine/graph/onnx_body.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/onnx_node.h"
#include "engine/graph/onnx_tensor.h"

/* Field numbers of NodeProto, AttributeProto and ValueInfoProto. */
enum { NODE_INPUT = 1, NODE_ATTRIBUTE = 5, ATTRIBUTE_GRAPH = 6, ATTRIBUTE_GRAPHS = 11, INFO_NAME = 1 };

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory for the graph, or more than %d names in it", GRAPH_MAX_VALUES);
}

enum weir_status onnx_body_measure(const struct graph *graph, struct wire body, struct onnx_body_parts *parts,
                                   struct weir_error *err) {
    struct wire_field field;
    enum wire_result result;
    struct onnx_body_parts found = {0};
    while ((result = wire_next(&body, &field)) == WIRE_FIELD) {
        found.nodes += field.number == ONNX_BODY_NODE;
        found.inputs += field.number == ONNX_BODY_INPUT;
        found.outputs += field.number == ONNX_BODY_OUTPUT;
        if (field.number == ONNX_BODY_SPARSE)
            return weir_fail(err, WEIR_UNSUPPORTED, "sparse initializers; supported: dense ones");
    }
    if (result == WIRE_BROKEN)
        return weir_fail(err, WEIR_INVALID, "not a whole ONNX model: at byte %zu its graph is cut off or broken",
                         (size_t)(body.at - graph->start));
    if (found.nodes > GRAPH_MAX_NODES || found.inputs > GRAPH_MAX_VALUES || found.outputs > GRAPH_MAX_NODE_VALUES)
        return weir_fail(err, WEIR_TOO_LARGE, "%zu nodes, %zu inputs, %zu outputs; supported: up to %d, %d, %d",
                         found.nodes, found.inputs, found.outputs, GRAPH_MAX_NODES, GRAPH_MAX_VALUES,
                         GRAPH_MAX_NODE_VALUES);
    *parts = found;
    return WEIR_OK;
}

/* ---- what a body reads from outside ---- */

struct capture {
    struct graph *graph;
    const struct graph_scope *scope;
    bool *seen; /* by value */
    int *found;
    int count;
    struct weir_error *err;
};

static void note_name(struct capture *capture, const struct wire_field *name) {
    size_t size = wire_size(name->bytes);
    if (name->type != WIRE_BYTES || size == 0 || size > GRAPH_MAX_NAME_BYTES)
        return;
    int value = onnx_node_find(capture->graph, capture->scope, name->bytes);
    if (value == GRAPH_NONE || capture->seen[value] || !graph_defined(&capture->graph->values[value]))
        return;
    capture->seen[value] = true;
    capture->found[capture->count++] = value;
}

static enum weir_status scan_body(struct capture *capture, struct wire body, int depth);

static enum weir_status scan_attribute(struct capture *capture, struct wire attribute, int depth) {
    struct wire_field field;
    while (wire_next(&attribute, &field) == WIRE_FIELD)
        if ((field.number == ATTRIBUTE_GRAPH || field.number == ATTRIBUTE_GRAPHS) && field.type == WIRE_BYTES &&
            scan_body(capture, field.bytes, depth + 1) != WEIR_OK)
            return capture->err->status;
    return WEIR_OK;
}

static enum weir_status scan_node(struct capture *capture, struct wire node, int depth) {
    struct wire_field field;
    while (wire_next(&node, &field) == WIRE_FIELD) {
        if (field.number == NODE_INPUT)
            note_name(capture, &field);
        else if (field.number == NODE_ATTRIBUTE && field.type == WIRE_BYTES &&
                 scan_attribute(capture, field.bytes, depth) != WEIR_OK)
            return capture->err->status;
    }
    return WEIR_OK;
}

/* depth is bounded, and so is the recursion. */
static enum weir_status scan_body(struct capture *capture, struct wire body, int depth) {
    struct wire_field field, part;
    if (depth > GRAPH_MAX_DEPTH)
        return weir_fail(capture->err, WEIR_UNSUPPORTED, "graphs within graphs, more than %d deep", GRAPH_MAX_DEPTH);
    while (wire_next(&body, &field) == WIRE_FIELD) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == ONNX_BODY_NODE && scan_node(capture, field.bytes, depth) != WEIR_OK)
            return capture->err->status;
        while (field.number == ONNX_BODY_OUTPUT && wire_next(&field.bytes, &part) == WIRE_FIELD)
            if (part.number == INFO_NAME)
                note_name(capture, &part);
    }
    return WEIR_OK;
}

static enum weir_status append_inputs(struct graph *graph, struct graph_node *node, const struct capture *capture) {
    int *inputs = region_take(&graph->region, (size_t)node->input_count + (size_t)capture->count, sizeof *inputs);
    if (!inputs)
        return no_memory(capture->err);
    if (node->input_count > 0)
        memcpy(inputs, node->inputs, (size_t)node->input_count * sizeof *inputs);
    if (capture->count > 0)
        memcpy(inputs + node->input_count, capture->found, (size_t)capture->count * sizeof *inputs);
    node->inputs = inputs;
    node->input_count += capture->count;
    return WEIR_OK;
}

enum weir_status onnx_body_capture(struct graph *graph, struct graph_node *node, struct weir_error *err) {
    struct capture capture = {.graph = graph, .scope = node->scope, .err = err};
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < node->attribute_count; i++) {
        const struct graph_attribute *attribute = &node->attributes[i];
        if (!attribute->body)
            continue;
        if (!capture.seen) {
            capture.seen = calloc((size_t)graph->value_count + 1, sizeof *capture.seen);
            capture.found = calloc((size_t)graph->value_count + 1, sizeof *capture.found);
            if (!capture.seen || !capture.found) {
                status = no_memory(err);
                goto out;
            }
        }
        status =
            scan_body(&capture, wire_over(attribute->body, attribute->body_size), node->scope ? node->scope->depth : 0);
        if (status != WEIR_OK)
            goto out;
    }
    if (capture.count > 0)
        status = append_inputs(graph, node, &capture);
out:
    free(capture.seen);
    free(capture.found);
    return status;
}

/* ---- reading a body ---- */

enum weir_status onnx_body_read_initializer(struct graph *graph, struct wire message, const struct graph_scope *scope,
                                            struct weir_error *err) {
    struct onnx_tensor tensor;
    if (onnx_tensor_read(graph, message, &tensor, err) != WEIR_OK)
        return err->status;
    int index = onnx_node_define(graph, scope, wire_over(tensor.name, strlen(tensor.name)));
    if (index == GRAPH_NONE)
        return no_memory(err);
    struct graph_value *value = &graph->values[index];
    if (tensor.name[0] == 0 || graph_defined(value))
        return weir_fail(err, WEIR_INVALID, "initializer '%.64s' %s", tensor.name,
                         tensor.name[0] ? "is there twice" : "has no name");
    value->constant = tensor.constant;
    value->unsupported_type = tensor.unsupported_type;
    return WEIR_OK;
}

static enum weir_status read_output(struct graph *graph, struct wire message, const struct graph_scope *scope,
                                    int *value, struct weir_error *err) {
    struct wire_field field;
    *value = GRAPH_NONE;
    while (wire_next(&message, &field) == WIRE_FIELD)
        if (field.number == INFO_NAME && field.type == WIRE_BYTES && wire_size(field.bytes) > 0 &&
            wire_size(field.bytes) <= GRAPH_MAX_NAME_BYTES && !memchr(field.bytes.at, 0, wire_size(field.bytes)))
            *value = onnx_node_resolve(graph, scope, field.bytes);
    return *value != GRAPH_NONE ? WEIR_OK
                                : weir_fail(err, WEIR_INVALID, "an output of a branch has no name that can be used");
}

/* Reads the fields of one number: initializers come before nodes, nodes before outputs, wherever they stand. */
static enum weir_status read_fields(struct graph *graph, struct wire body, const struct onnx_body_target *target,
                                    uint32_t number, struct weir_error *err) {
    struct wire_field field;
    int count = 0;
    while (wire_next(&body, &field) == WIRE_FIELD) {
        enum weir_status status;
        if (field.number != number)
            continue;
        if (field.type != WIRE_BYTES)
            return weir_fail(err, WEIR_INVALID, "a part of a branch is not a message");
        if (number == ONNX_BODY_INITIALIZER) {
            status = onnx_body_read_initializer(graph, field.bytes, target->scope, err);
        } else if (number == ONNX_BODY_NODE) {
            struct graph_node *node = &target->nodes[count++];
            node->index = target->index;
            node->scope = target->scope;
            status = onnx_node_read(graph, field.bytes, node, err);
        } else {
            status = read_output(graph, field.bytes, target->scope, &target->outputs[count++], err);
        }
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

enum weir_status onnx_body_read(struct graph *graph, struct wire body, const struct onnx_body_target *target,
                                struct weir_error *err) {
    static const uint32_t numbers[] = {ONNX_BODY_INITIALIZER, ONNX_BODY_NODE, ONNX_BODY_OUTPUT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (read_fields(graph, body, target, numbers[i], err) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}
