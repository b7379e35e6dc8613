#include "engine/graph/lower.h"

#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"

/* What is known and small is copied from a constant when a program takes another shape of it. */
enum { SMALL_ELEMENTS = 4096 };

static const char *name_of(const struct lowering *lowering, const struct graph_node *node, int input) {
    const struct graph_value *value = node_input(lowering->graph, node, input);
    return value ? value->name : "";
}

const struct fact *lower_input(const struct lowering *lowering, const struct graph_node *node, int input) {
    if (input >= node->input_count || node->inputs[input] == GRAPH_NONE)
        return NULL;
    return &lowering->facts[node->inputs[input]];
}

enum weir_status lower_need(const struct lowering *lowering, const struct graph_node *node, int input,
                            const struct fact **out, struct weir_error *err) {
    const struct fact *fact = lower_input(lowering, node, input);
    if (!fact)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d is missing", input);
    *out = fact;
    return WEIR_OK;
}

enum weir_status lower_need_float(const struct lowering *lowering, const struct graph_node *node, int input,
                                  const struct fact **out, struct weir_error *err) {
    const struct fact *fact = NULL;
    enum weir_status status = lower_need(lowering, node, input, &fact, err);
    if (status != WEIR_OK)
        return status;
    if (fact->dtype != TENSOR_F32)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "input %d '%.64s' is %s; supported: float",
                         input, name_of(lowering, node, input), tensor_dtype_text(fact->dtype));
    *out = fact;
    return WEIR_OK;
}

static enum weir_status need_known(const struct lowering *lowering, const struct graph_node *node, int input,
                                   const struct fact *fact, struct weir_error *err) {
    if (fact->known || fact->elements == 0)
        return WEIR_OK;
    return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                     "input %d '%.64s' is computed from the input's numbers; supported: a constant, or computed from "
                     "shapes",
                     input, name_of(lowering, node, input));
}

enum weir_status lower_list(const struct lowering *lowering, const struct graph_node *node, int input,
                            const char *attribute, struct shapes_list *list, struct weir_error *err) {
    const struct fact *fact = input >= 0 ? lower_input(lowering, node, input) : NULL;
    list->count = -1;
    if (!fact)
        return attribute ? node_ints(lowering->graph, node, attribute, list, err) : WEIR_OK;
    if (need_known(lowering, node, input, fact, err) != WEIR_OK)
        return err->status;
    if (fact->dtype != TENSOR_I64 && fact->dtype != TENSOR_I32)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d '%.64s' is %s, expected int64", input,
                         name_of(lowering, node, input), tensor_dtype_text(fact->dtype));
    if (fact->shape.rank > 1 || fact->elements > TENSOR_MAX_RANK)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "input %d '%.64s' is not a list of at most %d numbers", input, name_of(lowering, node, input),
                         TENSOR_MAX_RANK);
    list->count = (int)fact->elements;
    for (int i = 0; i < list->count; i++)
        list->items[i] =
            fact->dtype == TENSOR_I64 ? ((const int64_t *)fact->known)[i] : ((const int32_t *)fact->known)[i];
    return WEIR_OK;
}

enum weir_status lower_scalar(const struct lowering *lowering, const struct graph_node *node, int input, double *value,
                              struct weir_error *err) {
    const struct fact *fact = lower_input(lowering, node, input);
    if (!fact)
        return WEIR_OK;
    if (fact->elements != 1)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "input %d '%.64s' is not a scalar", input,
                         name_of(lowering, node, input));
    if (need_known(lowering, node, input, fact, err) != WEIR_OK)
        return err->status;
    switch (fact->dtype) {
    case TENSOR_F32:
        *value = *(const float *)fact->known;
        break;
    case TENSOR_I64:
        *value = (double)*(const int64_t *)fact->known;
        break;
    case TENSOR_I32:
        *value = *(const int32_t *)fact->known;
        break;
    case TENSOR_I8:
        *value = *(const int8_t *)fact->known;
        break;
    default:
        *value = *(const uint8_t *)fact->known;
        break;
    }
    return WEIR_OK;
}

static enum weir_status check_shape(const struct lowering *lowering, const struct graph_node *node,
                                    const struct tensor_shape *shape, size_t *elements, struct weir_error *err) {
    char text[160];
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0)
            return node_fail(lowering->graph, node, err, WEIR_INVALID,
                             "dimension %d of its output would be negative (%lld)", i, (long long)shape->dims[i]);
    if (!tensor_shape_elements(shape, 0, elements) || *elements > GRAPH_MAX_ELEMENTS)
        return node_fail(lowering->graph, node, err, WEIR_TOO_LARGE,
                         "its output would have the shape %s; supported: up to %d elements",
                         tensor_shape_text(shape, text, sizeof text), GRAPH_MAX_ELEMENTS);
    return WEIR_OK;
}

/* The fact of an output, to be filled; NULL where the output is omitted. */
static struct fact *output_fact(struct lowering *lowering, const struct graph_node *node, int output) {
    if (output >= node->output_count || node->outputs[output] == GRAPH_NONE)
        return NULL;
    return &lowering->facts[node->outputs[output]];
}

enum weir_status lower_temporary(struct lowering *lowering, const struct graph_node *node, enum tensor_dtype dtype,
                                 const struct tensor_shape *shape, int *buffer, struct weir_error *err) {
    size_t elements;
    if (check_shape(lowering, node, shape, &elements, err) != WEIR_OK)
        return err->status;
    int added = program_add_buffer(lowering->program, dtype, shape);
    if (added < 0)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
    *buffer = added;
    return WEIR_OK;
}

enum weir_status lower_define(struct lowering *lowering, const struct graph_node *node, int output,
                              enum tensor_dtype dtype, const struct tensor_shape *shape, struct weir_error *err) {
    struct fact *fact = output_fact(lowering, node, output);
    size_t elements;
    int buffer;
    if (!fact)
        return WEIR_OK;
    if (check_shape(lowering, node, shape, &elements, err) != WEIR_OK ||
        lower_temporary(lowering, node, dtype, shape, &buffer, err) != WEIR_OK)
        return err->status;
    *fact = (struct fact){.defined = true, .dtype = dtype, .shape = *shape, .elements = elements, .buffer = buffer};
    return WEIR_OK;
}

/* A constant of the lowering's region with those bytes. */
static const struct graph_constant *make_constant(struct lowering *lowering, enum tensor_dtype dtype,
                                                  const struct tensor_shape *shape, size_t elements,
                                                  const void *bytes) {
    struct graph_constant *constant = region_take(lowering->region, 1, sizeof *constant);
    if (constant)
        *constant = (struct graph_constant){.dtype = dtype, .shape = *shape, .elements = elements, .bytes = bytes};
    return constant;
}

enum weir_status lower_known(struct lowering *lowering, const struct graph_node *node, int output,
                             enum tensor_dtype dtype, const struct tensor_shape *shape, void **bytes,
                             struct weir_error *err) {
    struct fact *fact = output_fact(lowering, node, output), unread;
    size_t elements;
    if (check_shape(lowering, node, shape, &elements, err) != WEIR_OK)
        return err->status;
    fact = fact ? fact : &unread;
    void *memory = region_take(lowering->region, elements + 1, tensor_dtype_bytes(dtype));
    const struct graph_constant *constant = memory ? make_constant(lowering, dtype, shape, elements, memory) : NULL;
    if (!constant)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory for %zu elements", elements);
    *fact = (struct fact){.defined = true,
                          .dtype = dtype,
                          .shape = *shape,
                          .elements = elements,
                          .known = memory,
                          .constant = constant,
                          .buffer = GRAPH_NONE};
    *bytes = memory;
    return WEIR_OK;
}

enum weir_status lower_temporary_known(struct lowering *lowering, const struct graph_node *node,
                                       enum tensor_dtype dtype, const struct tensor_shape *shape, int *buffer,
                                       void **bytes, struct weir_error *err) {
    size_t elements;
    int added;
    if (check_shape(lowering, node, shape, &elements, err) != WEIR_OK ||
        lower_temporary(lowering, node, dtype, shape, &added, err) != WEIR_OK)
        return err->status;
    void *memory = region_take(lowering->region, elements + 1, tensor_dtype_bytes(dtype));
    const struct graph_constant *constant = memory ? make_constant(lowering, dtype, shape, elements, memory) : NULL;
    if (!constant)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory for %zu elements", elements);
    lowering->program->buffers[added].place = PROGRAM_CONSTANT;
    lowering->program->buffers[added].constant = constant;
    *buffer = added;
    *bytes = memory;
    return WEIR_OK;
}

enum weir_status lower_temporary_alias(struct lowering *lowering, const struct graph_node *node, int of,
                                       const struct tensor_shape *shape, int *buffer, struct weir_error *err) {
    int added;
    if (lower_temporary(lowering, node, lowering->program->buffers[of].dtype, shape, &added, err) != WEIR_OK)
        return err->status;
    if (lowering->program->buffers[added].bytes != lowering->program->buffers[of].bytes)
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "another shape would hold another number of elements");
    lowering->program->buffers[added].place = PROGRAM_ALIAS;
    lowering->program->buffers[added].index = of;
    *buffer = added;
    return WEIR_OK;
}

enum weir_status lower_alias(struct lowering *lowering, const struct graph_node *node, int output, int input,
                             const struct tensor_shape *shape, struct weir_error *err) {
    const struct fact *from;
    struct fact *fact = output_fact(lowering, node, output);
    size_t elements;
    int buffer = GRAPH_NONE;
    if (lower_need(lowering, node, input, &from, err) != WEIR_OK ||
        check_shape(lowering, node, shape, &elements, err) != WEIR_OK)
        return err->status;
    if (elements != from->elements) {
        char text[160], wanted[160];
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "input %d has the shape %s, which %s cannot hold: another number of elements", input,
                         tensor_shape_text(&from->shape, text, sizeof text),
                         tensor_shape_text(shape, wanted, sizeof wanted));
    }
    if (!fact)
        return WEIR_OK;
    /* A large constant keeps one owner, so that a backend can let go of it. */
    if (from->known && (lowering->rows == 0 || elements <= SMALL_ELEMENTS)) {
        const void *bytes = from->known;
        if (lowering->rows > 0) {
            void *copy = region_take(lowering->region, elements + 1, tensor_dtype_bytes(from->dtype));
            if (copy)
                memcpy(copy, bytes, elements * tensor_dtype_bytes(from->dtype));
            bytes = copy;
        }
        const struct graph_constant *constant =
            bytes ? make_constant(lowering, from->dtype, shape, elements, bytes) : NULL;
        if (!constant)
            return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
        *fact = (struct fact){true, from->dtype, *shape, elements, bytes, constant, GRAPH_NONE};
        return WEIR_OK;
    }
    int of;
    if (lower_input_buffer(lowering, node, input, &of, err) != WEIR_OK ||
        lower_temporary_alias(lowering, node, of, shape, &buffer, err) != WEIR_OK)
        return err->status;
    *fact = (struct fact){true, from->dtype, *shape, elements, NULL, NULL, buffer};
    return WEIR_OK;
}

enum weir_status lower_input_buffer(struct lowering *lowering, const struct graph_node *node, int input, int *buffer,
                                    struct weir_error *err) {
    *buffer = -1;
    if (input >= node->input_count || node->inputs[input] == GRAPH_NONE)
        return WEIR_OK;
    struct fact *fact = &lowering->facts[node->inputs[input]];
    if (fact->buffer == GRAPH_NONE) {
        int added = program_add_buffer(lowering->program, fact->dtype, &fact->shape);
        if (added < 0)
            return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
        lowering->program->buffers[added].place = PROGRAM_CONSTANT;
        lowering->program->buffers[added].constant = fact->constant;
        fact->buffer = added;
    }
    *buffer = fact->buffer;
    return WEIR_OK;
}

int lower_output_buffer(const struct lowering *lowering, const struct graph_node *node, int output) {
    if (output >= node->output_count || node->outputs[output] == GRAPH_NONE)
        return -1;
    return lowering->facts[node->outputs[output]].buffer;
}

enum weir_status lower_wired_step(struct lowering *lowering, const struct graph_node *node,
                                  const struct operation *operation, const struct lower_wires *wires,
                                  struct weir_error *err) {
    struct program_step *step = program_add_step(lowering->program, operation->kind, wires->inputs, wires->input_count,
                                                 wires->outputs, wires->output_count);
    if (!step)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
    step->operation = *operation;
    step->node = node->index;
    return WEIR_OK;
}

enum weir_status lower_step(struct lowering *lowering, const struct graph_node *node, const struct operation *operation,
                            struct weir_error *err) {
    int inputs[GRAPH_MAX_NODE_VALUES], outputs[GRAPH_MAX_NODE_VALUES];
    for (int i = 0; i < node->input_count; i++)
        if (lower_input_buffer(lowering, node, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    for (int i = 0; i < node->output_count; i++)
        outputs[i] = lower_output_buffer(lowering, node, i);
    struct lower_wires wires = {inputs, outputs, node->input_count, node->output_count};
    return lower_wired_step(lowering, node, operation, &wires, err);
}
