#include "engine/graph/lower.h"

#include "engine/graph/constant.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"

enum weir_status lower_computed(struct lowering *lowering, const struct graph_node *node, int input,
                                struct graph_value **out, struct weir_error *err) {
    struct graph_value *value = node_input(lowering->graph, node, input);
    if (!value)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d is missing", input);
    if (value->constant)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input %d '%.64s' is a constant; supported: a value computed from the input", input,
                         value->name);
    *out = value;
    return WEIR_OK;
}

enum weir_status lower_constant(struct lowering *lowering, const struct graph_node *node, int input,
                                const struct graph_constant **out, struct weir_error *err) {
    const struct graph_value *value = node_input(lowering->graph, node, input);
    *out = NULL;
    if (!value)
        return WEIR_OK;
    if (!value->constant)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input %d '%.64s' is computed; supported: a constant", input, value->name);
    if (!constant_is_float(value->constant))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input %d '%.64s' is %s; supported: float32, float16, bfloat16, float64", input, value->name,
                         tensor_dtype_text(value->constant->dtype));
    *out = value->constant;
    return WEIR_OK;
}

enum weir_status lower_define(struct lowering *lowering, const struct graph_node *node,
                              const struct tensor_shape *shape, int buffer, struct weir_error *err) {
    size_t elements;
    struct graph_value *value = node_output(lowering->graph, node, 0);
    if (!value)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its output is missing");
    for (int i = 1; i < node->output_count; i++)
        if (node_output(lowering->graph, node, i))
            return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                             "output %d '%.64s'; supported: the first one", i,
                             node_output(lowering->graph, node, i)->name);
    if (!tensor_shape_elements(shape, 1, &elements) || elements > GRAPH_MAX_ROW_ELEMENTS)
        return node_fail(lowering->graph, node, err, WEIR_TOO_LARGE, "its output has more than %d elements a row",
                         GRAPH_MAX_ROW_ELEMENTS);
    if (buffer == GRAPH_NONE && (buffer = program_add_buffer(lowering->program, elements)) < 0)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
    value->shape = *shape;
    value->buffer = buffer;
    return WEIR_OK;
}

struct program_step *lower_step(struct lowering *lowering, const struct graph_node *node, enum program_step_kind kind,
                                int x, int *y, struct weir_error *err) {
    if (*y == GRAPH_NONE)
        *y = program_add_buffer(lowering->program, lowering->program->buffers[x].row_elements);
    struct program_step *step = *y < 0 ? NULL : program_add_step(lowering->program, kind, x, *y);
    if (!step)
        node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
    return step;
}

enum weir_status lower_floats(struct lowering *lowering, const struct graph_node *node, size_t count, float **out,
                              struct weir_error *err) {
    *out = region_take(&lowering->program->region, count, sizeof **out);
    return *out ? WEIR_OK
                : node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory for %zu float32 weights", count);
}

static enum weir_status lower_inputs(struct lowering *lowering, struct weir_error *err) {
    struct graph *graph = lowering->graph;
    size_t elements;
    if (graph->input_count != 1)
        return weir_fail(err, WEIR_UNSUPPORTED, "the model has %d inputs%s%.64s%s; supported: one", graph->input_count,
                         graph->input_count > 1 ? " ('" : "",
                         graph->input_count > 1 ? graph->values[graph->inputs[1].value].name : "",
                         graph->input_count > 1 ? "' is the second)" : "");
    const struct graph_port *port = &graph->inputs[0];
    struct graph_value *value = &graph->values[port->value];
    if (port->onnx_type != 1) {
        enum tensor_dtype dtype;
        return weir_fail(err, WEIR_UNSUPPORTED, "input '%.64s' is %s (ONNX type %d); supported: float32", value->name,
                         tensor_dtype_from_onnx(port->onnx_type, &dtype) ? tensor_dtype_text(dtype) : "no known tensor",
                         (int)port->onnx_type);
    }
    if (!port->has_shape || port->shape.rank == 0)
        return weir_fail(err, WEIR_UNSUPPORTED, "input '%.64s' has no shape; supported: [batch, ...]", value->name);
    for (int i = 1; i < port->shape.rank; i++)
        if (port->shape.dims[i] < 0)
            return weir_fail(err, WEIR_UNSUPPORTED,
                             "input '%.64s': dimension %d is free; supported: only dimension 0, the batch", value->name,
                             i);
    if (!tensor_shape_elements(&port->shape, 1, &elements) || elements > GRAPH_MAX_ROW_ELEMENTS ||
        port->shape.dims[0] > UINT32_MAX)
        return weir_fail(err, WEIR_TOO_LARGE, "input '%.64s' has more than %d elements a row", value->name,
                         GRAPH_MAX_ROW_ELEMENTS);
    graph->fixed_batch = port->shape.dims[0] > 0 ? (uint32_t)port->shape.dims[0] : 0;
    value->shape = port->shape;
    value->shape.dims[0] = -1;
    if ((value->buffer = program_add_buffer(lowering->program, elements)) < 0)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory");
    lowering->program->buffers[value->buffer].place = PROGRAM_INPUT;
    return WEIR_OK;
}

static enum weir_status check_output(const struct graph_port *port, const struct graph_value *value,
                                     struct weir_error *err) {
    char declared[96], computed[96];
    if (value->buffer == GRAPH_NONE)
        return weir_fail(err, WEIR_UNSUPPORTED, "output '%.64s' does not depend on the input", value->name);
    if (port->onnx_type != 1 && port->onnx_type != 0)
        return weir_fail(err, WEIR_UNSUPPORTED, "output '%.64s' has ONNX type %d; supported: float32 (1)", value->name,
                         (int)port->onnx_type);
    bool fits = !port->has_shape || port->shape.rank == value->shape.rank;
    for (int i = 1; fits && i < port->shape.rank; i++)
        fits = port->shape.dims[i] < 0 || port->shape.dims[i] == value->shape.dims[i];
    if (!fits)
        return weir_fail(err, WEIR_INVALID, "output '%.64s' is declared as %s, but its nodes give %s", value->name,
                         tensor_shape_text(&port->shape, declared, sizeof declared),
                         tensor_shape_text(&value->shape, computed, sizeof computed));
    return WEIR_OK;
}

/* An output that is also an input or another output (Identity, Reshape) gets a copy: each has memory of its own. */
static enum weir_status lower_outputs(struct lowering *lowering, struct weir_error *err) {
    struct graph *graph = lowering->graph;
    struct program *program = lowering->program;
    if (graph->output_count == 0)
        return weir_fail(err, WEIR_INVALID, "the model has no outputs");
    for (int i = 0; i < graph->output_count; i++) {
        struct graph_value *value = &graph->values[graph->outputs[i].value];
        if (check_output(&graph->outputs[i], value, err) != WEIR_OK)
            return err->status;
        int buffer = value->buffer;
        if (program->buffers[buffer].place != PROGRAM_ARENA) {
            size_t elements = program->buffers[buffer].row_elements;
            int copy = program_add_buffer(program, elements);
            struct program_step *step = copy < 0 ? NULL : program_add_step(program, PROGRAM_COPY, buffer, copy);
            if (!step)
                return weir_fail(err, WEIR_NO_MEMORY, "no memory");
            step->copy = (struct program_copy){.outer = 1, .chunk = elements, .stride = elements};
            buffer = copy;
        }
        program->buffers[buffer].place = PROGRAM_OUTPUT;
        program->buffers[buffer].index = i;
    }
    return WEIR_OK;
}

enum weir_status lower_graph(struct graph *graph, struct program *program, struct weir_error *err) {
    struct lowering lowering = {graph, program};
    /* Operators first: an unknown one says more than an input of the wrong kind. */
    for (int i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].dead && operators_check(graph, &graph->nodes[i], err) != WEIR_OK)
            return err->status;
    if (lower_inputs(&lowering, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].dead && operators_lower(&lowering, &graph->nodes[i], err) != WEIR_OK)
            return err->status;
    return lower_outputs(&lowering, err);
}
