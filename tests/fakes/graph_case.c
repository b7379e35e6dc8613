#include "tests/fakes/graph_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/liveness.h"
#include "engine/graph/lower.h"
#include "engine/graph/onnx_reader.h"
#include "engine/graph/patterns.h"
#include "kernels/ref/ref.h"

enum { OPSET = 17, ROWS = 2 };

void graph_case_node(struct graph_case *test, const char *op, const char *inputs, const char *outputs,
                     const char *attributes) {
    onnx_add_node(&test->model, (struct onnx_node){op, inputs, outputs, attributes, outputs, NULL});
}

void graph_case_number(struct graph_case *test, const char *name, float value) {
    onnx_add_floats(&test->model, name, "", &value, 1);
}

void graph_case_floats(struct graph_case *test, const char *name, const char *dims) {
    float values[1024];
    size_t count = 1;
    char *end;
    for (const char *at = dims; *at; at = *end ? end + 1 : end)
        count *= (size_t)strtoul(at, &end, 10);
    for (size_t i = 0; i < count; i++)
        values[i] = 0.5f + (float)((i * 7 + strlen(name) * 3 + (size_t)name[0]) % 31) / 20;
    onnx_add_floats(&test->model, name, dims, values, count);
}

static struct tensor_shape read_shape(const char *dims) {
    struct tensor_shape shape = {.rank = 1, .dims = {ROWS}};
    char *end;
    for (const char *at = dims; *at; at = *end ? end + 1 : end)
        shape.dims[shape.rank++] = strtoll(at, &end, 10);
    return shape;
}

static void run(const struct program *program, float *out, size_t *count) {
    void **memory = calloc((size_t)program->buffer_count + 1, sizeof *memory);
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        memory[i] = calloc(1, buffer->bytes + 64);
        for (size_t j = 0; buffer->place == PROGRAM_INPUT && j < buffer->elements; j++)
            ((float *)memory[i])[j] = (float)((int)(j * 37 % 23) - 11) / 4;
    }
    for (size_t i = 0; i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        struct view inputs[16] = {0}, outputs[8] = {0};
        program_step_views(program, step, inputs, outputs);
        for (int j = 0; j < step->input_count; j++)
            if (step->inputs[j] >= 0 && !inputs[j].data)
                inputs[j].data = memory[program_root(program, step->inputs[j])];
        for (int j = 0; j < step->output_count; j++)
            if (step->outputs[j] >= 0)
                outputs[j].data = memory[program_root(program, step->outputs[j])];
        void *scratch = malloc(ref_scratch_bytes(&step->operation, inputs, outputs) + 64);
        ref_find(step->operation.kind)(&step->operation, inputs, outputs, scratch);
        free(scratch);
    }
    for (int i = 0; i < program->buffer_count; i++) {
        if (program->buffers[i].place == PROGRAM_OUTPUT) {
            *count = program->buffers[i].elements;
            memcpy(out, memory[i], program->buffers[i].bytes);
        }
        free(memory[i]);
    }
    free(memory);
}

/* Elements of y, 0 if it does not run. */
static size_t compute(struct graph_case *test, const struct tensor_shape *shape, float *out) {
    struct program program;
    struct weir_error err;
    size_t count = 0;
    if (lower_graph(test->graph, shape, ROWS, &program, &err) != WEIR_OK) {
        fprintf(stderr, "graph_case: %s\n", err.text);
        return 0;
    }
    run(&program, out, &count);
    program_release(&program);
    return count;
}

static void write_operators(struct graph_case *test) {
    size_t used = 0;
    test->text[0] = 0;
    for (int i = 0; i < test->graph->node_count; i++)
        if (!test->graph->nodes[i].dead && used < sizeof test->text)
            used += (size_t)snprintf(test->text + used, sizeof test->text - used, "%s%s", used > 0 ? " " : "",
                                     test->graph->nodes[i].op);
}

const char *graph_case_apply(struct graph_case *test, const char *dims) {
    static float before[8192], after[8192];
    struct tensor_shape shape = read_shape(dims);
    struct weir_error err = {.text = ""};
    char all[64] = "N,";
    onnx_add_input(&test->model, "x", strcat(all, dims));
    onnx_add_output(&test->model, "y", "");
    onnx_finish(&test->model, OPSET);
    test->graph = graph_create();
    if (onnx_reader_read(test->graph, test->model.file.data, test->model.file.size, -1, &err) != WEIR_OK ||
        liveness_mark(test->graph, &err) != WEIR_OK || lower_constants(test->graph, &err) != WEIR_OK)
        return strcpy(test->text, err.text);
    test->graph->outputs[0].has_shape = false;
    size_t count = compute(test, &shape, before);
    if (patterns_apply(test->graph, &err) != WEIR_OK || liveness_mark(test->graph, &err) != WEIR_OK)
        return strcpy(test->text, err.text);
    test->error = count > 0 && compute(test, &shape, after) == count ? 0 : -1;
    for (size_t i = 0; i < count && test->error >= 0; i++)
        test->error = fmax(test->error, fabs((double)before[i] - (double)after[i]));
    write_operators(test);
    return test->text;
}

const struct graph_node *graph_case_last(const struct graph_case *test) {
    return &test->graph->nodes[test->graph->values[test->graph->outputs[0].value].producer];
}

void graph_case_release(struct graph_case *test) {
    graph_destroy(test->graph);
    test->graph = NULL;
    onnx_begin(&test->model);
}
