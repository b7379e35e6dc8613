#include "engine/device/cuda/cuda_program.h"

#include <stdlib.h>

#include "engine/device/cuda/cuda_steps.h"
#include "engine/graph/arena.h"
#include "engine/graph/graph.h"
#include "engine/graph/plan.h"

bool cuda_program_is_constant(const struct cuda_program *program, int buffer) {
    return program->source.buffers[program_root(&program->source, buffer)].place == PROGRAM_CONSTANT;
}

bool cuda_program_want(const struct cuda_program_maker *maker, struct cuda_program *program, int buffer,
                       enum cuda_form form) {
    if (buffer < 0 || !cuda_program_is_constant(program, buffer))
        return true;
    const struct graph_constant *constant = program->source.buffers[program_root(&program->source, buffer)].constant;
    bool own = region_holds(&program->source.region, constant) ||
               (maker->frozen && !cuda_constants_find(maker->shared, constant, form));
    return cuda_constants_want(own ? &program->own : maker->shared, constant, form);
}

void *cuda_program_address(const struct cuda_program *program, const struct cuda_slot_memory *memory, int buffer,
                           enum cuda_form form) {
    if (buffer < 0)
        return NULL;
    int root = program_root(&program->source, buffer);
    const struct program_buffer *of = &program->source.buffers[root];
    if (of->place != PROGRAM_CONSTANT)
        return program->offsets[root] == SIZE_MAX ? NULL : memory->device + program->offsets[root];
    const struct cuda_constants *list = &program->own;
    const struct cuda_constant *item = cuda_constants_find(list, of->constant, form);
    if (!item) {
        list = program->shared;
        item = cuda_constants_find(list, of->constant, form);
    }
    return item ? (void *)(uintptr_t)(list->memory + item->offset) : NULL; /* inputs are not written to */
}

/* Adds a buffer of so many bytes at *end. */
static bool add(size_t bytes, size_t *offset, size_t *end) {
    *offset = *end;
    return !__builtin_add_overflow(*end, cuda_memory_plan_align(bytes ? bytes : 1), end);
}

static bool place_ports(struct cuda_program *program, enum program_place place, int *buffers, size_t *end) {
    bool fits = true;
    for (int i = 0; i < program->source.buffer_count; i++) {
        const struct program_buffer *buffer = &program->source.buffers[i];
        if (buffer->place != place)
            continue;
        buffers[buffer->index] = i;
        fits = fits && add(buffer->bytes, &program->offsets[i], end);
    }
    return fits;
}

/* Sizes are rounded up, so that every place in the arena is a multiple of CUDA_ALIGNMENT. */
static bool place_all(struct cuda_program *program) {
    const struct program *source = &program->source;
    size_t *sizes = calloc((size_t)source->buffer_count + 1, sizeof *sizes), arena_bytes = 0, end = 0;
    for (int i = 0; sizes && i < source->buffer_count; i++)
        sizes[i] = cuda_memory_plan_align(source->buffers[i].bytes);
    bool placed = sizes && arena_place(source, sizes, program->offsets, &arena_bytes) &&
                  place_ports(program, PROGRAM_INPUT, program->input_buffers, &end);
    program->input_bytes = program->outputs_at = end;
    placed = placed && place_ports(program, PROGRAM_OUTPUT, program->output_buffers, &end);
    program->output_bytes = end - program->outputs_at;
    for (int i = 0; placed && i < source->buffer_count; i++)
        if (source->buffers[i].place == PROGRAM_ARENA && program->offsets[i] != SIZE_MAX)
            program->offsets[i] += end;
    placed = placed && !__builtin_add_overflow(end, cuda_memory_plan_align(arena_bytes), &program->scratch_at) &&
             !__builtin_add_overflow(program->scratch_at, cuda_memory_plan_align(program->scratch_bytes),
                                     &program->slot_bytes);
    free(sizes);
    return placed;
}

static bool take_lists(struct cuda_program *program, const struct signature *signature) {
    const struct program *source = &program->source;
    int inputs = 0, outputs = 0;
    for (size_t i = 0; i < source->step_count; i++) {
        inputs = source->steps[i].input_count > inputs ? source->steps[i].input_count : inputs;
        outputs = source->steps[i].output_count > outputs ? source->steps[i].output_count : outputs;
    }
    program->view_count = inputs + PROGRAM_SPARE_VIEWS;
    program->steps = calloc(source->step_count + 1, sizeof *program->steps);
    program->views = calloc((size_t)inputs + (size_t)outputs + 2 * PROGRAM_SPARE_VIEWS, sizeof *program->views);
    program->offsets = calloc((size_t)source->buffer_count + 1, sizeof *program->offsets);
    program->input_buffers = calloc((size_t)signature->input_count + 1, sizeof *program->input_buffers);
    program->output_buffers = calloc((size_t)signature->output_count + 1, sizeof *program->output_buffers);
    return program->steps && program->views && program->offsets && program->input_buffers && program->output_buffers;
}

enum weir_status cuda_program_make(const struct cuda_program_maker *maker, const struct tensor_dims *dims,
                                   struct cuda_program *program, struct weir_error *err) {
    *program = (struct cuda_program){.dims = *dims, .shared = maker->shared};
    enum weir_status status = plan_make_program(maker->plan, dims, &program->source, err);
    if (status != WEIR_OK)
        return status;
    if (!take_lists(program, plan_signature(maker->plan)))
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a program");
    status = cuda_steps_plan(maker, program, err);
    if (status == WEIR_OK && !place_all(program))
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for a program, or its values do not fit any");
    return status;
}

size_t cuda_program_host_bytes(const struct cuda_program *program) {
    return program->outputs_at + program->output_bytes;
}

void cuda_program_release(struct cuda_program *program) {
    cuda_steps_release(program);
    cuda_constants_release(&program->own);
    free(program->steps);
    free(program->views);
    free(program->offsets);
    free(program->input_buffers);
    free(program->output_buffers);
    program_release(&program->source);
    *program = (struct cuda_program){0};
}
