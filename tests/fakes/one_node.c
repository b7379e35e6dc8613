#include "tests/fakes/one_node.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"

void one_node_begin(struct one_node *one, const char *op, int opset) {
    one_node_end(one);
    one->graph = graph_create();
    one->graph->opset = opset;
    for (int i = 0; i < 2 * ONE_NODE_MOST; i++) {
        const char name[2] = {(char)('a' + i), 0};
        graph_intern(one->graph, name, 1);
    }
    one->node = (struct graph_node){.op = op,
                                    .name = "",
                                    .domain = "",
                                    .inputs = one->inputs,
                                    .outputs = one->outputs,
                                    .attributes = one->attributes};
    one->lowering = (struct lowering){one->graph, &one->program, one->facts, &one->program.region, 1};
}

void one_node_end(struct one_node *one) {
    for (int i = 0; i < one->program.buffer_count; i++)
        free(one->memory[i]);
    program_release(&one->program);
    graph_destroy(one->graph);
    *one = (struct one_node){.graph = NULL};
}

void one_node_input(struct one_node *one, enum tensor_dtype dtype, struct tensor_shape shape, const void *elements,
                    bool known) {
    int at = one->node.input_count++;
    size_t count = 0;
    if (!tensor_shape_elements(&shape, 0, &count))
        abort();
    one->constants[at] = (struct graph_constant){.dtype = dtype, .shape = shape, .elements = count, .bytes = elements};
    one->inputs[at] = at;
    one->facts[at] = (struct fact){true, dtype, shape, count, NULL, NULL, GRAPH_NONE};
    if (known) {
        one->facts[at].known = elements;
        one->facts[at].constant = one->graph->values[at].constant = &one->constants[at];
        return;
    }
    int buffer = one->facts[at].buffer = program_add_buffer(&one->program, dtype, &shape);
    size_t bytes = count * tensor_dtype_bytes(dtype);
    one->memory[buffer] = malloc(bytes + 1);
    if (bytes > 0)
        memcpy(one->memory[buffer], elements, bytes);
}

void one_node_omit(struct one_node *one) {
    one->inputs[one->node.input_count++] = GRAPH_NONE;
}

void one_node_integers(struct one_node *one, const int64_t *items, int count) {
    one_node_input(one, TENSOR_I64, (struct tensor_shape){1, {count}}, items, true);
}

static struct graph_attribute *add(struct one_node *one, const char *name, int type) {
    struct graph_attribute *attribute = &one->attributes[one->node.attribute_count++];
    *attribute = (struct graph_attribute){.name = name, .type = type};
    return attribute;
}

void one_node_int(struct one_node *one, const char *name, int64_t value) {
    add(one, name, GRAPH_ATTRIBUTE_INT)->integer = value;
}

void one_node_ints(struct one_node *one, const char *name, const int64_t *items, size_t count) {
    struct graph_attribute *attribute = add(one, name, GRAPH_ATTRIBUTE_INTS);
    attribute->ints = items;
    attribute->item_count = count;
}

void one_node_float(struct one_node *one, const char *name, float value) {
    add(one, name, GRAPH_ATTRIBUTE_FLOAT)->number = value;
}

void one_node_text(struct one_node *one, const char *name, const char *value) {
    add(one, name, GRAPH_ATTRIBUTE_STRING)->text = value;
}

enum weir_status one_node_lower(struct one_node *one, const struct operator_family *family, int output_count,
                                struct weir_error *err) {
    one->node.output_count = output_count;
    for (int i = 0; i < output_count; i++)
        one->outputs[i] = ONE_NODE_MOST + i;
    for (size_t i = 0; i < family->count; i++)
        if (strcmp(family->entries[i].name, one->node.op) == 0)
            return family->entries[i].lower(&one->lowering, &one->node, err);
    return weir_fail(err, WEIR_NOT_FOUND, "%s is not of this family", one->node.op);
}

static void bind(const struct one_node *one, const int *buffers, int count, struct view *views) {
    for (int i = 0; i < count; i++)
        if (buffers[i] >= 0 && !views[i].data)
            views[i].data = one->memory[program_root(&one->program, buffers[i])];
}

const void *one_node_output(struct one_node *one, int output) {
    struct view views[2 * ONE_NODE_MOST];
    const struct fact *fact = one_node_fact(one, output);
    for (int i = 0; i < one->program.buffer_count; i++)
        if (one->program.buffers[i].place == PROGRAM_ARENA && !one->memory[i])
            one->memory[i] = malloc(one->program.buffers[i].bytes + 1);
    for (size_t i = 0; i < one->program.step_count; i++) {
        const struct program_step *step = &one->program.steps[i];
        program_step_views(&one->program, step, views, views + step->input_count);
        bind(one, step->inputs, step->input_count, views);
        bind(one, step->outputs, step->output_count, views + step->input_count);
        void *scratch = malloc(ref_scratch_bytes(&step->operation, views, views + step->input_count) + 1);
        ref_find(step->operation.kind)(&step->operation, views, views + step->input_count, scratch);
        free(scratch);
    }
    return fact->known ? fact->known : one->memory[program_root(&one->program, fact->buffer)];
}

const struct fact *one_node_fact(const struct one_node *one, int output) {
    return &one->facts[ONE_NODE_MOST + output];
}
