#include <stdlib.h>
#include <string.h>

#include "engine/graph/program.h"
#include "kernels/ref/ref.h"
#include "tests/conformance/run_network.h"

enum { ALIGNMENT = 64, MOST_WIRES = 1024 };

/* Memory for a buffer, never none: a step may have an output without elements. */
static void *take(size_t bytes) {
    size_t rounded;
    if (__builtin_add_overflow(bytes, (size_t)2 * ALIGNMENT - 1, &rounded))
        return NULL;
    rounded = rounded / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, rounded);
    if (memory)
        memset(memory, 0xa5, rounded); /* what no step wrote shows */
    return memory;
}

/* The memory of every buffer that owns some: inputs are filled. */
static enum weir_status take_buffers(const struct network *network, const struct program *program, void **memory,
                                     struct weir_error *err) {
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place != PROGRAM_ARENA && buffer->place != PROGRAM_INPUT && buffer->place != PROGRAM_OUTPUT)
            continue;
        memory[i] = take(buffer->bytes);
        if (!memory[i])
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for a buffer of %zu bytes", buffer->bytes);
        if (buffer->place == PROGRAM_INPUT && buffer->bytes > 0) {
            const struct network_input *input = &network->inputs[buffer->index];
            if (input->bytes != buffer->bytes)
                return weir_fail(err, WEIR_INTERNAL, "input %d has %zu bytes, its buffer %zu", buffer->index,
                                 input->bytes, buffer->bytes);
            memcpy(memory[i], input->data, input->bytes);
        }
    }
    return WEIR_OK;
}

/* Alias and owner share their memory; constants keep what program_view gave. */
static void place(const struct program *program, void *const *memory, const int *wires, int count, struct view *views) {
    for (int i = 0; i < count; i++) {
        void *data = wires[i] < 0 ? NULL : memory[program_root(program, wires[i])];
        if (data)
            views[i].data = data;
    }
}

static enum weir_status run_step(const struct program *program, const struct program_step *step, void *const *memory,
                                 struct weir_error *err) {
    static struct view inputs[MOST_WIRES], outputs[MOST_WIRES];
    if (step->input_count > MOST_WIRES || step->output_count > MOST_WIRES)
        return weir_fail(err, WEIR_TOO_LARGE, "a step has more than %d inputs or outputs", MOST_WIRES);
    program_step_views(program, step, inputs, outputs);
    place(program, memory, step->inputs, step->input_count, inputs);
    place(program, memory, step->outputs, step->output_count, outputs);
    size_t bytes = ref_scratch_bytes(&step->operation, inputs, outputs);
    void *scratch = take(bytes);
    if (!scratch)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu bytes of scratch", bytes);
    ref_find(step->operation.kind)(&step->operation, inputs, outputs, scratch);
    free(scratch);
    return WEIR_OK;
}

static const struct program_buffer *find_output(const struct program *program, int index, int *buffer) {
    for (int i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].place == PROGRAM_OUTPUT && program->buffers[i].index == index) {
            *buffer = i;
            return &program->buffers[i];
        }
    return NULL;
}

enum weir_status network_oracle_run(struct network *network, const struct tensor_dims *dims,
                                    network_output_function output, void *context, struct weir_error *err) {
    struct program program = {0};
    const struct signature *signature = plan_signature(network->plan);
    void **memory = NULL;
    enum weir_status status = plan_make_program(network->plan, dims, &program, err);
    if (status != WEIR_OK)
        return status;
    memory = calloc((size_t)program.buffer_count + 1, sizeof *memory);
    status = memory ? take_buffers(network, &program, memory, err) : weir_fail(err, WEIR_NO_MEMORY, "no memory");
    for (size_t i = 0; status == WEIR_OK && i < program.step_count; i++)
        status = run_step(&program, &program.steps[i], memory, err);
    for (int i = 0; status == WEIR_OK && i < signature->output_count; i++) {
        int buffer = 0;
        const struct program_buffer *found = find_output(&program, i, &buffer);
        if (!found)
            status = weir_fail(err, WEIR_INTERNAL, "the program has no output %d", i);
        else if (!output(context, i, found->dtype, &found->shape, memory[buffer]))
            status = weir_fail(err, WEIR_IO, "output %d could not be written", i);
    }
    for (int i = 0; memory && i < program.buffer_count; i++)
        free(memory[i]);
    free(memory);
    program_release(&program);
    return status;
}
