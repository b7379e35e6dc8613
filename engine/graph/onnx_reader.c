#include "engine/graph/onnx_reader.h"

#include <string.h>

#include "engine/graph/graph_check.h"
#include "engine/graph/onnx_body.h"
#include "engine/graph/onnx_node.h"
#include "engine/graph/onnx_tensor.h"

/* Field numbers of ModelProto, GraphProto, ValueInfoProto, TypeProto and below. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { IMPORT_DOMAIN = 1, IMPORT_VERSION = 2 };
enum { INFO_NAME = 1, INFO_TYPE = 2 };
enum { TYPE_TENSOR = 1, TENSOR_ELEM_TYPE = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1, DIM_NAME = 2 };

struct reader {
    struct graph *graph;
    struct wire body; /* of the GraphProto */
    struct weir_error *err;
};

static enum weir_status broken(struct weir_error *err, const char *what) {
    return weir_fail(err, WEIR_INVALID, "not a whole ONNX model: %s", what);
}

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory for the graph, or more than %d names in it", GRAPH_MAX_VALUES);
}

static enum weir_status read_import(struct reader *reader, struct wire message) {
    struct graph *graph = reader->graph;
    struct wire_field field;
    enum wire_result result;
    if (graph->import_count == GRAPH_MAX_IMPORTS)
        return weir_fail(reader->err, WEIR_TOO_LARGE, "more than %d opset imports", GRAPH_MAX_IMPORTS);
    struct graph_import *import = &graph->imports[graph->import_count];
    *import = (struct graph_import){.domain = ""};
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        if (field.number == IMPORT_DOMAIN && onnx_text(&graph->region, &field, &import->domain, reader->err) != WEIR_OK)
            return reader->err->status;
        if (field.number == IMPORT_VERSION)
            import->version = (int64_t)field.scalar;
    }
    if (result == WIRE_BROKEN)
        return broken(reader->err, "a broken opset import");
    if (strcmp(import->domain, "ai.onnx") == 0)
        import->domain = "";
    if (import->domain[0] == 0)
        graph->opset = import->version;
    graph->import_count++;
    return WEIR_OK;
}

static enum weir_status read_model(struct reader *reader, struct wire message) {
    struct graph *graph = reader->graph;
    struct wire_field field;
    enum wire_result result;
    bool has_graph = false;
    graph->producer = "";
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        enum weir_status status = WEIR_OK;
        if (field.number == MODEL_IR_VERSION) {
            graph->ir_version = (int64_t)field.scalar;
        } else if (field.number == MODEL_PRODUCER) {
            status = onnx_text(&graph->region, &field, &graph->producer, reader->err);
        } else if (field.number == MODEL_OPSET && field.type == WIRE_BYTES) {
            status = read_import(reader, field.bytes);
        } else if (field.number == MODEL_GRAPH && field.type == WIRE_BYTES) {
            reader->body = field.bytes;
            has_graph = true;
        }
        if (status != WEIR_OK)
            return status;
    }
    if (result == WIRE_BROKEN)
        return weir_fail(reader->err, WEIR_INVALID,
                         "not a whole ONNX model: at byte %zu it is cut off, or no protobuf message",
                         (size_t)(message.at - graph->start));
    if (!has_graph)
        return broken(reader->err, "it holds no graph");
    return WEIR_OK;
}

/* Counts the parts of the graph, so that each list is taken once and within its cap. */
static enum weir_status make_lists(struct reader *reader) {
    struct graph *graph = reader->graph;
    struct onnx_body_parts parts;
    if (onnx_body_measure(reader->graph, reader->body, &parts, reader->err) != WEIR_OK)
        return reader->err->status;
    graph->nodes = region_take(&graph->region, parts.nodes, sizeof *graph->nodes);
    graph->node_capacity = (int)parts.nodes;
    graph->inputs = region_take(&graph->region, parts.inputs, sizeof *graph->inputs);
    graph->outputs = region_take(&graph->region, parts.outputs, sizeof *graph->outputs);
    return graph->nodes && graph->inputs && graph->outputs ? WEIR_OK : no_memory(reader->err);
}

/* *dim is -1 and *name the dimension's name, or "", where its size is free. */
static bool read_dim(struct region *region, struct wire message, int64_t *dim, const char **name) {
    struct wire_field field;
    enum wire_result result;
    struct weir_error ignored;
    *dim = -1;
    *name = "";
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        if (field.number == DIM_VALUE && field.type == WIRE_VARINT)
            *dim = (int64_t)field.scalar >= 0 ? (int64_t)field.scalar : -1;
        if (field.number == DIM_NAME && onnx_text(region, &field, name, &ignored) != WEIR_OK)
            return false;
    }
    return result == WIRE_END;
}

/* TypeProto.Tensor. */
static bool read_tensor_type(struct region *region, struct wire message, struct graph_port *port) {
    struct wire_field field, dim;
    enum wire_result result;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        if (field.number == TENSOR_ELEM_TYPE)
            port->onnx_type = (int32_t)field.scalar;
        if (field.number != TENSOR_SHAPE || field.type != WIRE_BYTES)
            continue;
        port->has_shape = true;
        port->shape.rank = 0;
        while ((result = wire_next(&field.bytes, &dim)) == WIRE_FIELD) {
            if (dim.number != SHAPE_DIM || dim.type != WIRE_BYTES)
                continue;
            int at = port->shape.rank;
            if (at == TENSOR_MAX_RANK || !read_dim(region, dim.bytes, &port->shape.dims[at], &port->names[at]))
                return false;
            port->shape.rank++;
        }
        if (result == WIRE_BROKEN)
            return false;
    }
    return result == WIRE_END;
}

static bool read_type(struct region *region, struct wire message, struct graph_port *port) {
    struct wire_field field;
    enum wire_result result;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD)
        if (field.number == TYPE_TENSOR && field.type == WIRE_BYTES && !read_tensor_type(region, field.bytes, port))
            return false;
    return result == WIRE_END;
}

static enum weir_status read_port(struct reader *reader, struct wire message, struct graph_port *port) {
    struct wire_field field;
    enum wire_result result;
    const char *name = "";
    bool whole = true;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        if (field.number == INFO_NAME && onnx_text(&reader->graph->region, &field, &name, reader->err) != WEIR_OK)
            return reader->err->status;
        if (field.number == INFO_TYPE && field.type == WIRE_BYTES)
            whole = whole && read_type(&reader->graph->region, field.bytes, port);
    }
    if (result == WIRE_BROKEN || !whole)
        return weir_fail(reader->err, WEIR_INVALID,
                         "input or output '%.64s': its type is broken or has over %d dimensions", name,
                         TENSOR_MAX_RANK);
    if (name[0] == 0)
        return weir_fail(reader->err, WEIR_INVALID, "an input or output without a name");
    port->value = graph_intern(reader->graph, name, strlen(name));
    return port->value == GRAPH_NONE ? no_memory(reader->err) : WEIR_OK;
}

static enum weir_status read_initializers(struct reader *reader) {
    struct wire rest = reader->body;
    struct wire_field field;
    while (wire_next(&rest, &field) == WIRE_FIELD) {
        if (field.number != ONNX_BODY_INITIALIZER)
            continue;
        if (field.type != WIRE_BYTES)
            return broken(reader->err, "an initializer is not a message");
        if (onnx_body_read_initializer(reader->graph, field.bytes, NULL, reader->err) != WEIR_OK)
            return reader->err->status;
    }
    return WEIR_OK;
}

static enum weir_status read_part(struct reader *reader, const struct wire_field *field) {
    struct graph *graph = reader->graph;
    if (field->number == ONNX_BODY_NODE) {
        struct graph_node *node = &graph->nodes[graph->node_count];
        node->index = graph->node_count++;
        return onnx_node_read(graph, field->bytes, node, reader->err);
    }
    struct graph_port *port =
        field->number == ONNX_BODY_INPUT ? &graph->inputs[graph->input_count] : &graph->outputs[graph->output_count];
    if (read_port(reader, field->bytes, port) != WEIR_OK)
        return reader->err->status;
    struct graph_value *value = &graph->values[port->value];
    if (field->number == ONNX_BODY_OUTPUT) {
        graph->output_count++;
        return WEIR_OK;
    }
    if (value->constant ||
        value->unsupported_type != 0) { /* an initializer listed as an input is that input's default, not an input */
        memset(port, 0, sizeof *port);
        return WEIR_OK;
    }
    if (value->is_input)
        return weir_fail(reader->err, WEIR_INVALID, "input '%.64s' of the graph is listed twice", value->name);
    value->is_input = true;
    graph->input_count++;
    return WEIR_OK;
}

enum weir_status onnx_reader_read(struct graph *graph, const void *bytes, size_t size, int directory,
                                  struct weir_error *err) {
    graph->start = bytes;
    struct reader reader = {.graph = graph, .err = err};
    struct wire_field field;
    graph->directory = directory;
    if (read_model(&reader, wire_over(bytes, size)) != WEIR_OK || graph_check_opset(graph, err) != WEIR_OK ||
        make_lists(&reader) != WEIR_OK || read_initializers(&reader) != WEIR_OK)
        return err->status;
    struct wire rest = reader.body;
    while (wire_next(&rest, &field) == WIRE_FIELD) {
        if (field.number != ONNX_BODY_NODE && field.number != ONNX_BODY_INPUT && field.number != ONNX_BODY_OUTPUT)
            continue;
        if (field.type != WIRE_BYTES)
            return broken(err, "a node, input or output is not a message");
        if (read_part(&reader, &field) != WEIR_OK)
            return err->status;
    }
    return graph_check(graph, err);
}
