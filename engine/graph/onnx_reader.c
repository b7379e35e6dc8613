#include "engine/graph/onnx_reader.h"

#include <string.h>

#include "engine/graph/graph_check.h"
#include "engine/graph/onnx_node.h"
#include "engine/graph/onnx_tensor.h"

/* Field numbers of ModelProto, GraphProto, ValueInfoProto, TypeProto and below. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { IMPORT_DOMAIN = 1, IMPORT_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_SPARSE = 15 };
enum { INFO_NAME = 1, INFO_TYPE = 2 };
enum { TYPE_TENSOR = 1, TENSOR_ELEM_TYPE = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1 };

struct reader {
    struct graph *graph;
    struct onnx_source source;
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
        return broken(reader->err, "it is cut off, or no protobuf message");
    if (!has_graph)
        return broken(reader->err, "it holds no graph");
    return WEIR_OK;
}

/* Counts the parts of the graph, so that each list is taken once and within its cap. */
static enum weir_status make_lists(struct reader *reader) {
    struct graph *graph = reader->graph;
    struct wire rest = reader->body;
    struct wire_field field;
    enum wire_result result;
    size_t nodes = 0, inputs = 0, outputs = 0;
    while ((result = wire_next(&rest, &field)) == WIRE_FIELD) {
        nodes += field.number == GRAPH_NODE;
        inputs += field.number == GRAPH_INPUT;
        outputs += field.number == GRAPH_OUTPUT;
        if (field.number == GRAPH_SPARSE)
            return weir_fail(reader->err, WEIR_UNSUPPORTED, "sparse initializers; supported: dense ones");
    }
    if (result == WIRE_BROKEN)
        return broken(reader->err, "its graph is cut off or broken");
    if (nodes > GRAPH_MAX_NODES || inputs > GRAPH_MAX_VALUES || outputs > GRAPH_MAX_NODE_VALUES)
        return weir_fail(reader->err, WEIR_TOO_LARGE, "%zu nodes, %zu inputs, %zu outputs; supported: up to %d, %d, %d",
                         nodes, inputs, outputs, GRAPH_MAX_NODES, GRAPH_MAX_VALUES, GRAPH_MAX_NODE_VALUES);
    graph->nodes = region_take(&graph->region, nodes, sizeof *graph->nodes);
    graph->inputs = region_take(&graph->region, inputs, sizeof *graph->inputs);
    graph->outputs = region_take(&graph->region, outputs, sizeof *graph->outputs);
    return graph->nodes && graph->inputs && graph->outputs ? WEIR_OK : no_memory(reader->err);
}

static enum weir_status read_initializer(struct reader *reader, struct wire message) {
    const char *name;
    const struct graph_constant *constant;
    if (onnx_tensor_read(&reader->source, message, &name, &constant, reader->err) != WEIR_OK)
        return reader->err->status;
    int index = graph_intern(reader->graph, name, strlen(name));
    if (index == GRAPH_NONE)
        return no_memory(reader->err);
    if (name[0] == 0 || reader->graph->values[index].constant)
        return weir_fail(reader->err, WEIR_INVALID, "initializer '%.64s' %s", name,
                         name[0] ? "is there twice" : "has no name");
    reader->graph->values[index].constant = constant;
    return WEIR_OK;
}

static bool read_dim(struct wire message, int64_t *dim) {
    struct wire_field field;
    enum wire_result result;
    *dim = -1;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD)
        if (field.number == DIM_VALUE && field.type == WIRE_VARINT)
            *dim = (int64_t)field.scalar > 0 ? (int64_t)field.scalar : -1;
    return result == WIRE_END;
}

/* TypeProto.Tensor. */
static bool read_tensor_type(struct wire message, struct graph_port *port) {
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
            if (port->shape.rank == TENSOR_MAX_RANK || !read_dim(dim.bytes, &port->shape.dims[port->shape.rank]))
                return false;
            port->shape.rank++;
        }
        if (result == WIRE_BROKEN)
            return false;
    }
    return result == WIRE_END;
}

static bool read_type(struct wire message, struct graph_port *port) {
    struct wire_field field;
    enum wire_result result;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD)
        if (field.number == TYPE_TENSOR && field.type == WIRE_BYTES && !read_tensor_type(field.bytes, port))
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
            whole = whole && read_type(field.bytes, port);
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
        if (field.number != GRAPH_INITIALIZER)
            continue;
        if (field.type != WIRE_BYTES)
            return broken(reader->err, "an initializer is not a message");
        if (read_initializer(reader, field.bytes) != WEIR_OK)
            return reader->err->status;
    }
    return WEIR_OK;
}

static enum weir_status read_part(struct reader *reader, const struct wire_field *field) {
    struct graph *graph = reader->graph;
    if (field->number == GRAPH_NODE) {
        struct graph_node *node = &graph->nodes[graph->node_count];
        node->index = graph->node_count++;
        return onnx_node_read(graph, &reader->source, field->bytes, node, reader->err);
    }
    struct graph_port *port =
        field->number == GRAPH_INPUT ? &graph->inputs[graph->input_count] : &graph->outputs[graph->output_count];
    if (read_port(reader, field->bytes, port) != WEIR_OK)
        return reader->err->status;
    struct graph_value *value = &graph->values[port->value];
    if (field->number == GRAPH_OUTPUT) {
        graph->output_count++;
        return WEIR_OK;
    }
    if (value->constant) { /* an initializer listed as an input is that input's default, not an input */
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
    struct reader reader = {.graph = graph, .source = {&graph->region, directory, 0}, .err = err};
    struct wire_field field;
    if (read_model(&reader, wire_over(bytes, size)) != WEIR_OK || graph_check_opset(graph, err) != WEIR_OK ||
        make_lists(&reader) != WEIR_OK || read_initializers(&reader) != WEIR_OK)
        return err->status;
    struct wire rest = reader.body;
    while (wire_next(&rest, &field) == WIRE_FIELD) {
        if (field.number != GRAPH_NODE && field.number != GRAPH_INPUT && field.number != GRAPH_OUTPUT)
            continue;
        if (field.type != WIRE_BYTES)
            return broken(err, "a node, input or output is not a message");
        if (read_part(&reader, &field) != WEIR_OK)
            return err->status;
    }
    return graph_check(graph, err);
}
