/* The walk over the graph: facts in, steps out, and what is known computed on the spot. */
#include <stdlib.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/lower.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/pages.h"
#include "kernels/ref/ref.h"

/* What folding may cost: when the graph is loaded, and for each program. */
#define LOAD_MAX_FLOPS 2e9
enum { PROGRAM_MAX_ELEMENTS = 1 << 16 };

/* May programs use the constant as it is? */
static bool is_ready(const struct graph_constant *constant) {
    return constant->dtype != TENSOR_F16 && constant->dtype != TENSOR_BF16 && constant->dtype != TENSOR_F64 &&
           (uintptr_t)constant->bytes % tensor_dtype_bytes(constant->dtype) == 0;
}

static enum weir_status start_facts(struct lowering *lowering, struct weir_error *err) {
    struct graph *graph = lowering->graph;
    lowering->facts = calloc((size_t)graph->value_count + 1, sizeof *lowering->facts);
    if (!lowering->facts)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %d values", graph->value_count);
    for (int i = 0; i < graph->value_count; i++) {
        struct fact *fact = &lowering->facts[i];
        const struct graph_constant *constant = graph->values[i].constant;
        fact->buffer = GRAPH_NONE;
        if (!constant || !is_ready(constant))
            continue;
        *fact = (struct fact){true,     constant->dtype, constant->shape, constant->elements, constant->bytes,
                              constant, GRAPH_NONE};
    }
    return WEIR_OK;
}

/* Brings the node's constants into the form that programs use, once for all programs. */
static enum weir_status convert_constants(struct lowering *lowering, const struct graph_node *node,
                                          struct weir_error *err) {
    for (int i = 0; i < node->input_count; i++) {
        struct graph_value *value = node_input(lowering->graph, node, i);
        if (!value || !value->constant || lowering->facts[node->inputs[i]].defined)
            continue;
        const struct graph_constant *before = value->constant;
        const struct graph_constant *constant = constant_as_program_type(&lowering->graph->region, before);
        if (!constant)
            return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory for '%.64s'", value->name);
        if (constant != before && lowering->graph->file && before->bytes >= lowering->graph->file &&
            before->bytes < lowering->graph->file + lowering->graph->file_size)
            pages_let_go(before->bytes, before->elements * tensor_dtype_bytes(before->dtype));
        value->constant = constant;
        lowering->facts[node->inputs[i]] = (struct fact){
            true, constant->dtype, constant->shape, constant->elements, constant->bytes, constant, GRAPH_NONE};
    }
    return WEIR_OK;
}

/* Are all inputs defined (else *missing is the first that is not), and known? */
static bool inputs_known(const struct lowering *lowering, const struct graph_node *node, int *missing) {
    bool known = true;
    *missing = -1;
    for (int i = 0; i < node->input_count; i++) {
        const struct fact *fact = lower_input(lowering, node, i);
        if (fact && !fact->defined && *missing < 0)
            *missing = i;
        known = known && (!fact || fact->known || (fact->defined && fact->elements == 0 && fact->constant));
    }
    return known;
}

/* Memory of the buffers that folded steps compute. */
struct folding {
    struct lowering *lowering;
    size_t first_step;
    int first_buffer;
    void **memory; /* by buffer, from first_buffer on */
};

static bool worth_folding(const struct folding *folding) {
    const struct program *program = folding->lowering->program;
    double flops = 0;
    size_t elements = 0;
    for (size_t i = folding->first_step; i < program->step_count; i++)
        flops += program_step_flops(program, &program->steps[i]);
    for (int i = folding->first_buffer; i < program->buffer_count; i++)
        if (program->buffers[i].place == PROGRAM_ARENA)
            elements += program->buffers[i].elements;
    return folding->lowering->rows == 0 ? flops <= LOAD_MAX_FLOPS && elements <= GRAPH_MAX_ELEMENTS
                                        : elements <= PROGRAM_MAX_ELEMENTS && flops <= 64 * PROGRAM_MAX_ELEMENTS;
}

static bool take_memory(struct folding *folding) {
    const struct program *program = folding->lowering->program;
    int count = program->buffer_count - folding->first_buffer;
    folding->memory = calloc((size_t)count + 1, sizeof *folding->memory);
    for (int i = 0; folding->memory && i < count; i++) {
        const struct program_buffer *buffer = &program->buffers[folding->first_buffer + i];
        if (buffer->place != PROGRAM_ARENA)
            continue;
        folding->memory[i] = region_take(folding->lowering->region, buffer->bytes + 8, 1);
        if (!folding->memory[i])
            return false;
    }
    return folding->memory;
}

static void bind(const struct folding *folding, const int *buffers, int count, struct view *views) {
    for (int i = 0; i < count; i++)
        if (buffers[i] >= 0 && !views[i].data) {
            int root = program_root(folding->lowering->program, buffers[i]);
            views[i].data = root >= folding->first_buffer ? folding->memory[root - folding->first_buffer] : NULL;
        }
}

static bool run_step(const struct folding *folding, const struct program_step *step) {
    const struct program *program = folding->lowering->program;
    size_t input_count = (size_t)step->input_count + PROGRAM_SPARE_VIEWS;
    struct view *views = calloc(input_count + (size_t)step->output_count + PROGRAM_SPARE_VIEWS, sizeof *views);
    if (!views)
        return false;
    struct view *outputs = views + input_count;
    program_step_views(program, step, views, outputs);
    bind(folding, step->inputs, step->input_count, views);
    bind(folding, step->outputs, step->output_count, outputs);
    size_t scratch_bytes = ref_scratch_bytes(&step->operation, views, outputs);
    void *scratch = scratch_bytes > 0 ? aligned_alloc(64, (scratch_bytes + 63) / 64 * 64) : NULL;
    bool ran = scratch_bytes == 0 || scratch;
    if (ran)
        ref_find(step->operation.kind)(&step->operation, views, outputs, scratch);
    free(scratch);
    free(views);
    return ran;
}

/* The outputs' facts become known, and the steps go. */
static bool note_results(const struct folding *folding, const struct graph_node *node) {
    struct lowering *lowering = folding->lowering;
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == GRAPH_NONE)
            continue;
        struct fact *fact = &lowering->facts[node->outputs[i]];
        if (!fact->defined || fact->known || fact->buffer == GRAPH_NONE)
            continue;
        int root = program_root(lowering->program, fact->buffer);
        const struct program_buffer *buffer = &lowering->program->buffers[root];
        const void *bytes =
            buffer->place == PROGRAM_CONSTANT ? buffer->constant->bytes : folding->memory[root - folding->first_buffer];
        struct graph_constant *constant = region_take(lowering->region, 1, sizeof *constant);
        if (!constant)
            return false;
        *constant = (struct graph_constant){
            .dtype = fact->dtype, .shape = fact->shape, .elements = fact->elements, .bytes = bytes};
        fact->known = bytes;
        fact->constant = constant;
        fact->buffer = GRAPH_NONE;
    }
    return true;
}

/* Buffers that constants got for the folded steps are forgotten with them. */
static void forget_buffers(struct folding *folding, const struct graph_node *node) {
    struct lowering *lowering = folding->lowering;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] != GRAPH_NONE && lowering->facts[node->inputs[i]].buffer >= folding->first_buffer)
            lowering->facts[node->inputs[i]].buffer = GRAPH_NONE;
    lowering->program->step_count = folding->first_step;
    lowering->program->buffer_count = folding->first_buffer;
}

static enum weir_status fold(struct folding *folding, const struct graph_node *node, struct weir_error *err) {
    struct program *program = folding->lowering->program;
    bool folded = take_memory(folding);
    for (size_t i = folding->first_step; folded && i < program->step_count; i++)
        folded = run_step(folding, &program->steps[i]);
    folded = folded && note_results(folding, node);
    free(folding->memory);
    if (!folded)
        return node_fail(folding->lowering->graph, node, err, WEIR_NO_MEMORY, "no memory for its results");
    forget_buffers(folding, node);
    return WEIR_OK;
}

/* *folded: the node's outputs are known, no steps are left of it. */
static enum weir_status lower_node(struct lowering *lowering, const struct graph_node *node, bool known, bool *folded,
                                   struct weir_error *err) {
    struct folding folding = {lowering, lowering->program->step_count, lowering->program->buffer_count, NULL};
    *folded = false;
    if (operators_lower(lowering, node, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] != GRAPH_NONE && !lowering->facts[node->outputs[i]].defined)
            return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "output %d '%.64s' is not supported", i,
                             lowering->graph->values[node->outputs[i]].name);
    if (!known)
        return WEIR_OK;
    if (!worth_folding(&folding)) {
        if (lowering->rows == 0)
            forget_buffers(&folding, node);
        return WEIR_OK;
    }
    *folded = true;
    return fold(&folding, node, err);
}

enum weir_status lower_constants(struct graph *graph, struct weir_error *err) {
    struct program scratch = {0};
    struct lowering lowering = {.graph = graph, .program = &scratch, .region = &graph->region};
    if (start_facts(&lowering, err) != WEIR_OK)
        return err->status;
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < graph->node_count && status == WEIR_OK; i++) {
        struct graph_node *node = &graph->nodes[i];
        struct weir_error later; /* a node that cannot be lowered yet says so when its program is made */
        int missing;
        bool folded = false;
        if (node->dead || operators_check(graph, node, &later) != WEIR_OK)
            continue;
        status = convert_constants(&lowering, node, err);
        if (status != WEIR_OK || !inputs_known(&lowering, node, &missing))
            continue;
        if (lower_node(&lowering, node, true, &folded, &later) != WEIR_OK)
            status = later.status == WEIR_NO_MEMORY ? weir_fail(err, WEIR_NO_MEMORY, "%s", later.text) : WEIR_OK;
        for (int j = 0; j < node->output_count; j++) {
            struct fact *fact = node->outputs[j] == GRAPH_NONE ? NULL : &lowering.facts[node->outputs[j]];
            if (fact && folded && fact->constant)
                graph->values[node->outputs[j]].constant = fact->constant;
            else if (fact)
                *fact = (struct fact){.buffer = GRAPH_NONE};
        }
        node->dead = node->dead || folded;
    }
    free(lowering.facts);
    program_release(&scratch);
    return status;
}

static bool is_narrowed(enum tensor_dtype dtype) {
    return dtype == TENSOR_F16 || dtype == TENSOR_BF16 || dtype == TENSOR_F64;
}

static enum weir_status add_cast(struct program *program, int from, int to, struct weir_error *err) {
    struct program_step *step = program_add_step(program, OPERATION_CAST, &from, 1, &to, 1);
    if (!step)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory");
    step->operation.through = ELEMENT_F32;
    step->node = -1;
    return WEIR_OK;
}

static enum weir_status lower_port_in(struct lowering *lowering, int index, const struct tensor_shape *shape,
                                      struct weir_error *err) {
    struct graph *graph = lowering->graph;
    const struct graph_port *port = &graph->inputs[index];
    enum tensor_dtype dtype;
    size_t elements;
    const char *name = graph->values[port->value].name;
    if (!tensor_dtype_from_onnx(port->onnx_type, &dtype))
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "input '%.64s' has ONNX type %d; supported: floats, int8, uint8, "
                         "int32, int64, bool",
                         name, (int)port->onnx_type);
    if (!tensor_shape_elements(shape, 0, &elements) || elements > GRAPH_MAX_ELEMENTS)
        return weir_fail(err, WEIR_TOO_LARGE, "input '%.64s' would have more than %d elements", name,
                         GRAPH_MAX_ELEMENTS);
    int buffer = program_add_buffer(lowering->program, dtype, shape), inside = buffer;
    if (buffer < 0)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory");
    lowering->program->buffers[buffer].place = PROGRAM_INPUT;
    lowering->program->buffers[buffer].index = index;
    if (is_narrowed(dtype)) {
        inside = program_add_buffer(lowering->program, TENSOR_F32, shape);
        if (inside < 0)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory");
        if (add_cast(lowering->program, buffer, inside, err) != WEIR_OK)
            return err->status;
        dtype = TENSOR_F32;
    }
    lowering->facts[port->value] =
        (struct fact){.defined = true, .dtype = dtype, .shape = *shape, .elements = elements, .buffer = inside};
    return WEIR_OK;
}

/* Makes a buffer the memory of output `index`: itself where it is a value between steps, else through a copy. */
static enum weir_status place_output(struct program *program, int buffer, int index, enum tensor_dtype dtype,
                                     struct weir_error *err) {
    int root = program_root(program, buffer);
    bool own = program->buffers[root].place == PROGRAM_ARENA && program->buffers[buffer].dtype == dtype;
    int output = buffer;
    if (own && buffer != root) { /* the alias takes over the memory */
        program->buffers[root].place = PROGRAM_ALIAS;
        program->buffers[root].index = buffer;
    } else if (!own) {
        struct tensor_shape shape = program->buffers[buffer].shape;
        output = program_add_buffer(program, dtype, &shape);
        if (output < 0)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory");
        if (program->buffers[buffer].dtype != dtype) {
            if (add_cast(program, buffer, output, err) != WEIR_OK)
                return err->status;
        } else if (!program_add_step(program, OPERATION_COPY, &buffer, 1, &output, 1)) {
            return weir_fail(err, WEIR_NO_MEMORY, "no memory");
        }
    }
    program->buffers[output].place = PROGRAM_OUTPUT;
    program->buffers[output].index = index;
    return WEIR_OK;
}

static enum weir_status lower_port_out(struct lowering *lowering, int index, struct weir_error *err) {
    struct graph *graph = lowering->graph;
    const struct graph_port *port = &graph->outputs[index];
    struct fact *fact = &lowering->facts[port->value];
    const char *name = graph->values[port->value].name;
    char declared[160], computed[160];
    if (!fact->defined)
        return weir_fail(err, WEIR_INVALID, "output '%.64s' is computed by no node", name);
    enum tensor_dtype dtype = fact->dtype;
    if (port->onnx_type != 0 && !tensor_dtype_from_onnx(port->onnx_type, &dtype))
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "output '%.64s' has ONNX type %d; supported: floats, int8, uint8, "
                         "int32, int64, bool",
                         name, (int)port->onnx_type);
    if (dtype != fact->dtype && !(is_narrowed(dtype) && fact->dtype == TENSOR_F32))
        return weir_fail(err, WEIR_INVALID, "output '%.64s' is declared as %s, but its nodes give %s", name,
                         tensor_dtype_text(dtype), tensor_dtype_text(fact->dtype));
    bool fits = !port->has_shape || port->shape.rank == fact->shape.rank;
    for (int i = 1; fits && port->has_shape && i < port->shape.rank; i++)
        fits = port->shape.dims[i] <= 0 || port->shape.dims[i] == fact->shape.dims[i] ||
               port->shape.dims[i] == (int64_t)graph->fixed_batch;
    if (!fits)
        return weir_fail(err, WEIR_INVALID, "output '%.64s' is declared as %s, but its nodes give %s", name,
                         tensor_shape_text(&port->shape, declared, sizeof declared),
                         tensor_shape_text(&fact->shape, computed, sizeof computed));
    if (fact->buffer == GRAPH_NONE) {
        fact->buffer = program_add_buffer(lowering->program, fact->dtype, &fact->shape);
        if (fact->buffer < 0)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory");
        lowering->program->buffers[fact->buffer].place = PROGRAM_CONSTANT;
        lowering->program->buffers[fact->buffer].constant = fact->constant;
    }
    return place_output(lowering->program, fact->buffer, index, dtype, err);
}

static enum weir_status fail_missing(const struct graph *graph, const struct graph_node *node, int input,
                                     struct weir_error *err) {
    const struct graph_value *value = &graph->values[node->inputs[input]];
    if (value->unsupported_type != 0)
        return node_fail(graph, node, err, WEIR_UNSUPPORTED,
                         "input %d '%.64s' has ONNX type %d; supported: floats, int8, uint8, int32, int64, bool", input,
                         value->name, (int)value->unsupported_type);
    return node_fail(graph, node, err, WEIR_INVALID, "input %d '%.64s' is computed by no node", input, value->name);
}

static enum weir_status walk(struct lowering *lowering, const struct tensor_shape *inputs, struct weir_error *err) {
    struct graph *graph = lowering->graph;
    for (int i = 0; i < graph->input_count; i++)
        if (lower_port_in(lowering, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    for (int i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        bool folded;
        int missing;
        if (node->dead)
            continue;
        if (convert_constants(lowering, node, err) != WEIR_OK)
            return err->status;
        bool known = inputs_known(lowering, node, &missing);
        if (missing >= 0)
            return fail_missing(graph, node, missing, err);
        if (lower_node(lowering, node, known, &folded, err) != WEIR_OK)
            return err->status;
    }
    for (int i = 0; i < graph->output_count; i++)
        if (lower_port_out(lowering, i, err) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}

enum weir_status lower_graph(struct graph *graph, const struct tensor_shape *inputs, uint32_t rows,
                             struct program *program, struct weir_error *err) {
    struct program made = {0};
    struct lowering lowering = {.graph = graph, .program = &made, .region = &made.region, .rows = rows};
    enum weir_status status = start_facts(&lowering, err);
    if (status == WEIR_OK)
        status = walk(&lowering, inputs, err);
    free(lowering.facts);
    if (status == WEIR_OK)
        *program = made;
    else
        program_release(&made);
    return status;
}

static bool is_if(const struct graph_node *node) {
    return !node->dead && node->domain[0] == 0 && strcmp(node->op, "If") == 0;
}

enum condition { CONDITION_OPEN, CONDITION_FALSE, CONDITION_TRUE };

/* As far as it goes without the branches: writes what is known of each If's condition. */
static enum weir_status walk_to_conditions(struct graph *graph, const struct tensor_shape *inputs,
                                           unsigned char *conditions, struct weir_error *err) {
    struct program program = {0};
    struct lowering lowering = {.graph = graph, .program = &program, .region = &program.region, .rows = 1};
    struct weir_error later;
    enum weir_status status = start_facts(&lowering, err);
    for (int i = 0; status == WEIR_OK && i < graph->input_count; i++)
        if (lower_port_in(&lowering, i, &inputs[i], &later) != WEIR_OK)
            goto out;
    for (int i = 0; status == WEIR_OK && i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        int missing;
        bool folded;
        if (is_if(node)) {
            const struct fact *fact = lower_input(&lowering, node, 0);
            if (fact && fact->known && fact->elements == 1 && fact->dtype == TENSOR_BOOL)
                conditions[i] = *(const unsigned char *)fact->known ? CONDITION_TRUE : CONDITION_FALSE;
            continue;
        }
        if (node->dead || operators_check(graph, node, &later) != WEIR_OK)
            continue;
        status = convert_constants(&lowering, node, err);
        bool known = status == WEIR_OK && inputs_known(&lowering, node, &missing);
        if (status != WEIR_OK || missing >= 0)
            continue;
        if (lower_node(&lowering, node, known, &folded, &later) != WEIR_OK)
            for (int j = 0; j < node->output_count; j++)
                if (node->outputs[j] != GRAPH_NONE)
                    lowering.facts[node->outputs[j]] = (struct fact){.buffer = GRAPH_NONE};
    }
out:
    free(lowering.facts);
    program_release(&program);
    return status;
}

/* The condition becomes a constant. */
static enum weir_status settle(struct graph *graph, const struct graph_node *node, bool value, struct weir_error *err) {
    struct tensor_shape scalar = {.rank = 0};
    unsigned char *bytes;
    const struct graph_constant *constant = constant_make(&graph->region, TENSOR_BOOL, &scalar, &bytes);
    if (!constant)
        return node_fail(graph, node, err, WEIR_NO_MEMORY, "no memory");
    *bytes = value;
    node_input(graph, node, 0)->constant = constant;
    return WEIR_OK;
}

enum weir_status lower_conditions(struct graph *graph, const struct tensor_shape *inputs,
                                  const struct tensor_shape *other_inputs, bool *found, struct weir_error *err) {
    size_t count = (size_t)graph->node_count + 1;
    unsigned char *one = calloc(count, 1), *other = calloc(count, 1);
    enum weir_status status = WEIR_OK;
    *found = false;
    if (!one || !other)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for %d nodes", graph->node_count);
    if (status == WEIR_OK)
        status = walk_to_conditions(graph, inputs, one, err);
    if (status == WEIR_OK)
        status = walk_to_conditions(graph, other_inputs, other, err);
    for (int i = 0; status == WEIR_OK && i < graph->node_count; i++)
        if (one[i] != CONDITION_OPEN && one[i] == other[i] && !node_input(graph, &graph->nodes[i], 0)->constant) {
            status = settle(graph, &graph->nodes[i], one[i] == CONDITION_TRUE, err);
            *found = true;
        }
    free(one);
    free(other);
    return status;
}
