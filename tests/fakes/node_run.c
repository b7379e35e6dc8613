#include "tests/fakes/node_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/lower.h"
#include "kernels/ref/ref.h"

enum { ATTRIBUTES = 12, ITEMS = 8, VALUES = NODE_RUN_INPUTS + NODE_RUN_OUTPUTS, VIEWS = 16 };

/* Everything a lowering works on. */
struct bench {
    struct graph *graph;
    struct program program;
    struct fact facts[VALUES];
    struct lowering lowering;
    struct graph_node node;
    int inputs[NODE_RUN_INPUTS], outputs[NODE_RUN_OUTPUTS];
    struct graph_attribute attributes[ATTRIBUTES];
    int64_t items[ATTRIBUTES][ITEMS];
    char text[512];
};

static struct tensor_shape read_dims(const char *dims) {
    struct tensor_shape shape = {.rank = 0};
    while (*dims) {
        char *end;
        shape.dims[shape.rank++] = strtoll(dims, &end, 10);
        dims = *end == ',' ? end + 1 : end;
    }
    return shape;
}

static void read_attribute(struct bench *bench, char *word) {
    int at = bench->node.attribute_count++;
    struct graph_attribute *attribute = &bench->attributes[at];
    char *kind = strchr(word, ':'), *value = strchr(word, '=') + 1;
    *kind = '\0';
    attribute->name = word;
    if (kind[1] == 'f') {
        attribute->type = GRAPH_ATTRIBUTE_FLOAT;
        attribute->number = strtof(value, NULL);
    } else if (kind[1] == 'i') {
        attribute->type = GRAPH_ATTRIBUTE_INT;
        attribute->integer = strtoll(value, NULL, 10);
    } else if (kind[1] == 's') {
        attribute->type = GRAPH_ATTRIBUTE_STRING;
        attribute->text = value;
    } else {
        attribute->type = GRAPH_ATTRIBUTE_INTS;
        attribute->ints = bench->items[at];
        while (*value) {
            bench->items[at][attribute->item_count++] = strtoll(value, &value, 10);
            value += *value == ',';
        }
    }
}

static void make(struct bench *bench, const struct node_case *node) {
    memset(bench, 0, sizeof *bench);
    bench->graph = graph_create();
    bench->graph->opset = 13;
    bench->node = (struct graph_node){.op = node->op,
                                      .name = "",
                                      .domain = "",
                                      .inputs = bench->inputs,
                                      .outputs = bench->outputs,
                                      .input_count = node->input_count,
                                      .output_count = node->output_count,
                                      .attributes = bench->attributes};
    bench->lowering = (struct lowering){bench->graph, &bench->program, bench->facts, &bench->program.region, 1};
    snprintf(bench->text, sizeof bench->text, "%s", node->attributes ? node->attributes : "");
    char *rest, *word = strtok_r(bench->text, " ", &rest);
    for (; word; word = strtok_r(NULL, " ", &rest))
        read_attribute(bench, word);
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        bool is_input = i < node->input_count;
        char name[16];
        snprintf(name, sizeof name, "%c%d", is_input ? 'x' : 'y', is_input ? i : i - node->input_count);
        int value = graph_intern(bench->graph, name, strlen(name));
        bench->facts[value].buffer = GRAPH_NONE;
        if (!is_input) {
            bench->outputs[i - node->input_count] = value;
            continue;
        }
        bench->inputs[i] = node->inputs[i].dims ? value : GRAPH_NONE;
        if (!node->inputs[i].dims)
            continue;
        struct fact *fact = &bench->facts[value];
        *fact =
            (struct fact){.defined = true, .dtype = node->inputs[i].dtype, .shape = read_dims(node->inputs[i].dims)};
        fact->buffer = program_add_buffer(&bench->program, fact->dtype, &fact->shape);
        if (tensor_shape_elements(&fact->shape, 0, &fact->elements) && fact->buffer >= 0) {
            bench->program.buffers[fact->buffer].place = PROGRAM_INPUT;
            bench->program.buffers[fact->buffer].index = i;
        }
    }
}

static void *memory_of(const struct bench *bench, const struct node_case *node, void **memory, int buffer) {
    if (buffer < 0)
        return NULL;
    int root = program_root(&bench->program, buffer);
    const struct program_buffer *of = &bench->program.buffers[root];
    if (of->place == PROGRAM_INPUT)
        return (void *)(uintptr_t)node->inputs[of->index].data;
    if (of->place == PROGRAM_CONSTANT)
        return (void *)(uintptr_t)of->constant->bytes;
    if (!memory[root])
        memory[root] = calloc(of->bytes + 1, 1);
    return memory[root];
}

static void run_steps(struct bench *bench, const struct node_case *node, struct node_result *result) {
    void **memory = calloc((size_t)bench->program.buffer_count + 1, sizeof *memory);
    result->step_count = (int)bench->program.step_count;
    for (int s = 0; s < result->step_count; s++) {
        const struct program_step *step = &bench->program.steps[s];
        struct view inputs[VIEWS] = {{0}}, outputs[VIEWS] = {{0}};
        if (s < NODE_RUN_STEPS)
            result->steps[s] = step->operation;
        program_step_views(&bench->program, step, inputs, outputs);
        for (int i = 0; i < step->input_count; i++)
            inputs[i].data = memory_of(bench, node, memory, step->inputs[i]);
        for (int i = 0; i < step->output_count; i++)
            outputs[i].data = memory_of(bench, node, memory, step->outputs[i]);
        void *scratch = aligned_alloc(64, (ref_scratch_bytes(&step->operation, inputs, outputs) / 64 + 1) * 64);
        ref_find(step->operation.kind)(&step->operation, inputs, outputs, scratch);
        free(scratch);
    }
    for (int i = 0; i < node->output_count && i < NODE_RUN_OUTPUTS; i++) {
        const struct fact *fact = &bench->facts[bench->outputs[i]];
        struct node_output *output = &result->outputs[i];
        output->dtype = fact->dtype;
        output->shape = fact->shape;
        const void *bytes = fact->known ? fact->known : memory_of(bench, node, memory, fact->buffer);
        size_t size = fact->elements * tensor_dtype_bytes(fact->dtype);
        if (bytes && size <= sizeof output->longs)
            memcpy(output->bytes, bytes, size);
    }
    for (int i = 0; i < bench->program.buffer_count; i++)
        free(memory[i]);
    free(memory);
}

enum weir_status node_run(const struct operator_family *family, const struct node_case *node,
                          struct node_result *result) {
    static struct bench bench;
    lower_function lower = NULL;
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < family->count; i++)
        if (strcmp(family->entries[i].name, node->op) == 0)
            lower = family->entries[i].lower;
    if (!lower)
        return weir_fail(&result->err, WEIR_NOT_FOUND, "the family has no %s", node->op);
    make(&bench, node);
    enum weir_status status = lower(&bench.lowering, &bench.node, &result->err);
    if (status == WEIR_OK)
        run_steps(&bench, node, result);
    program_release(&bench.program);
    graph_destroy(bench.graph);
    return status;
}

bool node_run_has_shape(const struct node_output *output, const char *dims) {
    struct tensor_shape shape = read_dims(dims);
    return shapes_equal(&output->shape, &shape);
}
