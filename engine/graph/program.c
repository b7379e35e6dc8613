#include "engine/graph/program.h"

#include <stdlib.h>
#include <string.h>

struct program_step *program_add_step(struct program *program, enum program_step_kind kind, int x, int y) {
    if (program->step_count == program->step_capacity) {
        size_t capacity = program->step_capacity ? program->step_capacity * 2 : 16;
        struct program_step *steps = realloc(program->steps, capacity * sizeof *steps);
        if (!steps)
            return NULL;
        program->steps = steps;
        program->step_capacity = capacity;
    }
    struct program_step *step = &program->steps[program->step_count++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->x = x;
    step->x2 = -1;
    step->y = y;
    return step;
}

int program_add_buffer(struct program *program, size_t row_elements) {
    if (program->buffer_count == program->buffer_capacity) {
        int capacity = program->buffer_capacity ? program->buffer_capacity * 2 : 16;
        struct program_buffer *buffers = realloc(program->buffers, (size_t)capacity * sizeof *buffers);
        if (!buffers)
            return -1;
        program->buffers = buffers;
        program->buffer_capacity = capacity;
    }
    program->buffers[program->buffer_count] =
        (struct program_buffer){.place = PROGRAM_ARENA, .row_elements = row_elements};
    return program->buffer_count++;
}

double program_row_flops(const struct program_step *step, const struct program *program) {
    double elements = (double)program->buffers[step->y].row_elements;
    double activation = step->activation.kind == ACTIVATION_NONE ? 0 : elements;
    switch (step->kind) {
    case PROGRAM_DENSE:
        return 2.0 * (double)step->dense.in * elements + (step->dense.bias ? elements : 0) + activation;
    case PROGRAM_ACTIVATE:
        return activation;
    case PROGRAM_COMBINE:
    case PROGRAM_COMBINE_CONSTANT:
        return elements;
    case PROGRAM_SOFTMAX:
        return 4 * elements; /* subtract, exponential, sum, divide */
    default:
        return 0;
    }
}

const char *program_step_text(enum program_step_kind kind) {
    static const char *const texts[] = {
        [PROGRAM_DENSE] = "dense",     [PROGRAM_ACTIVATE] = "activate",
        [PROGRAM_COMBINE] = "combine", [PROGRAM_COMBINE_CONSTANT] = "combine with constant",
        [PROGRAM_SOFTMAX] = "softmax", [PROGRAM_COPY] = "copy",
    };
    return (unsigned)kind < PROGRAM_STEP_KINDS ? texts[kind] : "unknown";
}

const char *program_activation_text(enum activation_kind kind) {
    static const char *const texts[] = {
        [ACTIVATION_NONE] = "none", [ACTIVATION_RELU] = "relu",       [ACTIVATION_LEAKY_RELU] = "leaky relu",
        [ACTIVATION_CLIP] = "clip", [ACTIVATION_SIGMOID] = "sigmoid", [ACTIVATION_TANH] = "tanh",
    };
    return (unsigned)kind <= ACTIVATION_TANH ? texts[kind] : "unknown";
}

void program_release(struct program *program) {
    region_release(&program->region);
    free(program->steps);
    free(program->buffers);
    memset(program, 0, sizeof *program);
}
