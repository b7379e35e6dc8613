#include "engine/graph/program.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/graph.h"

/* Grows *list, of *capacity items of that size, to hold one more than count. */
static bool make_room(void **list, size_t *capacity, size_t count, size_t bytes_each) {
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *grown = reallocarray(*list, wanted, bytes_each);
    if (!grown)
        return false;
    *list = grown;
    *capacity = wanted;
    return true;
}

struct program_step *program_add_step(struct program *program, enum operation_kind kind, const int *inputs,
                                      int input_count, const int *outputs, int output_count) {
    void *list = program->steps;
    bool room = make_room(&list, &program->step_capacity, program->step_count, sizeof *program->steps);
    program->steps = list;
    int *wires = region_take(&program->region, (size_t)(input_count + output_count) + 1, sizeof *wires);
    if (!room || !wires)
        return NULL;
    memcpy(wires, inputs, (size_t)input_count * sizeof *wires);
    memcpy(wires + input_count, outputs, (size_t)output_count * sizeof *wires);
    struct program_step *step = &program->steps[program->step_count++];
    *step = (struct program_step){.operation = {.kind = kind},
                                  .inputs = wires,
                                  .outputs = wires + input_count,
                                  .input_count = input_count,
                                  .output_count = output_count};
    return step;
}

int program_add_buffer(struct program *program, enum tensor_dtype dtype, const struct tensor_shape *shape) {
    size_t elements, bytes, capacity = (size_t)program->buffer_capacity;
    if (!tensor_shape_elements(shape, 0, &elements) ||
        __builtin_mul_overflow(elements, tensor_dtype_bytes(dtype), &bytes))
        return -1;
    void *list = program->buffers;
    bool room = make_room(&list, &capacity, (size_t)program->buffer_count, sizeof *program->buffers);
    program->buffers = list;
    program->buffer_capacity = (int)capacity;
    if (!room)
        return -1;
    program->buffers[program->buffer_count] = (struct program_buffer){
        .place = PROGRAM_ARENA, .dtype = dtype, .shape = *shape, .elements = elements, .bytes = bytes};
    return program->buffer_count++;
}

int program_root(const struct program *program, int buffer) {
    while (program->buffers[buffer].place == PROGRAM_ALIAS)
        buffer = program->buffers[buffer].index;
    return buffer;
}

struct view program_view(const struct program *program, int buffer) {
    struct view view = {.data = NULL};
    if (buffer < 0)
        return view;
    const struct program_buffer *of = &program->buffers[buffer];
    const struct program_buffer *root = &program->buffers[program_root(program, buffer)];
    view.element = (enum element)of->dtype;
    view.rank = of->shape.rank;
    for (int i = 0; i < view.rank; i++)
        view.dims[i] = (size_t)of->shape.dims[i];
    if (root->place == PROGRAM_CONSTANT)
        view.data = (void *)(uintptr_t)root->constant->bytes; /* inputs are not written to */
    return view;
}

void program_step_views(const struct program *program, const struct program_step *step, struct view *inputs,
                        struct view *outputs) {
    for (int i = 0; i < step->input_count; i++)
        inputs[i] = program_view(program, step->inputs[i]);
    for (int i = 0; i < step->output_count; i++)
        outputs[i] = program_view(program, step->outputs[i]);
}

double program_step_flops(const struct program *program, const struct program_step *step) {
    const struct operation *operation = &step->operation;
    const struct program_buffer *buffers = program->buffers;
    double y = step->output_count > 0 && step->outputs[0] >= 0 ? (double)buffers[step->outputs[0]].elements : 0;
    double x = step->input_count > 0 && step->inputs[0] >= 0 ? (double)buffers[step->inputs[0]].elements : 0;
    switch (operation->kind) {
    case OPERATION_MATMUL:
    case OPERATION_MATMUL_INTEGER:
    case OPERATION_QLINEAR_MATMUL: {
        const struct tensor_shape *a = &buffers[step->inputs[0]].shape;
        bool transposed = operation->kind == OPERATION_MATMUL && operation->matmul.transpose_a;
        int inner = transposed && a->rank > 1 ? a->rank - 2 : a->rank - 1;
        return 2 * y * (a->rank > 0 ? (double)a->dims[inner] : 1);
    }
    case OPERATION_CONV:
    case OPERATION_CONV_INTEGER:
    case OPERATION_QLINEAR_CONV: {
        int w = operation->kind == OPERATION_QLINEAR_CONV ? 3 : 1;
        const struct program_buffer *weights = &buffers[step->inputs[w]];
        return weights->shape.dims[0] > 0 ? 2 * y * (double)weights->elements / (double)weights->shape.dims[0] : 0;
    }
    case OPERATION_CONV_TRANSPOSE: {
        const struct program_buffer *weights = &buffers[step->inputs[1]];
        return weights->shape.dims[0] > 0 ? 2 * x * (double)weights->elements / (double)weights->shape.dims[0] : 0;
    }
    case OPERATION_POOL: {
        double window = 1;
        for (int i = 0; i < operation->pool.window.spatial; i++)
            window *= (double)operation->pool.window.kernel[i];
        return y * window;
    }
    case OPERATION_RECURRENT: {
        double weights = (double)buffers[step->inputs[1]].elements + (double)buffers[step->inputs[2]].elements;
        const struct tensor_shape *shape = &buffers[step->inputs[0]].shape;
        return 2 * weights * (double)shape->dims[0] * (double)shape->dims[1];
    }
    case OPERATION_COPY:
    case OPERATION_TRANSPOSE:
    case OPERATION_SLICE:
    case OPERATION_CONCAT:
    case OPERATION_GATHER:
    case OPERATION_GATHER_ELEMENTS:
    case OPERATION_GATHER_ND:
    case OPERATION_EXPAND:
    case OPERATION_TILE:
    case OPERATION_PAD:
        return 0;
    default:
        return x > y ? x : y;
    }
}

void program_release(struct program *program) {
    region_release(&program->region);
    free(program->steps);
    free(program->buffers);
    *program = (struct program){0};
}
