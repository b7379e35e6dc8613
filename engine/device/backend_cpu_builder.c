#include "engine/device/backend_cpu_builder.h"

#include <stdlib.h>
#include <string.h>

#include "engine/device/backend_cpu_choose.h"
#include "engine/device/backend_cpu_layout.h"
#include "engine/graph/arena.h"
#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

enum weir_status backend_cpu_builder_no_memory(const struct backend_cpu_builder *builder) {
    return weir_fail(builder->err, WEIR_NO_MEMORY, "no memory for the steps of a program");
}

static void *take(struct backend_cpu_builder *builder, size_t count, size_t bytes_each) {
    return region_take(&builder->made->source.region, count, bytes_each);
}

const struct program_step *backend_cpu_builder_step(const struct backend_cpu_builder *builder) {
    return &builder->made->source.steps[builder->at];
}

static int root_of(const struct backend_cpu_builder *builder, int buffer) {
    return program_root(&builder->made->source, buffer);
}

int backend_cpu_builder_take(struct backend_cpu_builder *builder, size_t bytes) {
    const struct tensor_shape shape = {.rank = 1, .dims = {(int64_t)bytes}};
    int memory = bytes <= INT64_MAX ? program_add_buffer(&builder->memory, TENSOR_U8, &shape) : -1;
    if (memory >= builder->size_capacity) {
        int wanted = builder->size_capacity * 2 + 16;
        size_t *grown = reallocarray(builder->sizes, (size_t)wanted, sizeof *grown);
        if (!grown)
            return -1;
        builder->sizes = grown;
        builder->size_capacity = wanted;
    }
    if (memory >= 0)
        builder->sizes[memory] = bytes;
    return memory;
}

static struct backend_cpu_step *add_step(struct backend_cpu_builder *builder) {
    struct backend_cpu_program *made = builder->made;
    if (made->step_count == made->step_capacity) {
        size_t wanted = made->step_capacity ? made->step_capacity * 2 : 16;
        struct backend_cpu_step *grown = reallocarray(made->steps, wanted, sizeof *grown);
        if (!grown)
            return NULL;
        made->steps = grown;
        made->step_capacity = wanted;
    }
    struct backend_cpu_step *step = &made->steps[made->step_count++];
    memset(step, 0, sizeof *step);
    return step;
}

/* index is the memory's number until the arena is placed. */
static struct backend_cpu_binding *add_binding(struct backend_cpu_builder *builder, enum program_place place,
                                               int memory) {
    struct backend_cpu_program *made = builder->made;
    if (made->binding_count == made->binding_capacity) {
        size_t wanted = made->binding_capacity ? made->binding_capacity * 2 : 32;
        struct backend_cpu_binding *grown = reallocarray(made->bindings, wanted, sizeof *grown);
        if (!grown)
            return NULL;
        made->bindings = grown;
        made->binding_capacity = wanted;
    }
    struct backend_cpu_binding *binding = &made->bindings[made->binding_count++];
    *binding = (struct backend_cpu_binding){.place = place, .index = memory};
    return binding;
}

static bool bind_pointer(struct backend_cpu_builder *builder, void **pointer, int memory) {
    struct backend_cpu_binding *binding = add_binding(builder, PROGRAM_ARENA, memory);
    if (binding)
        binding->pointer = pointer;
    return binding;
}

enum weir_status backend_cpu_builder_call(struct backend_cpu_builder *builder,
                                          const struct backend_cpu_kernel *kernel) {
    size_t count = (size_t)kernel->input_count + (size_t)kernel->output_count;
    struct view *views = take(builder, count + 2 * BACKEND_CPU_SPARE_VIEWS, sizeof *views);
    struct view *output_views = views ? views + kernel->input_count + BACKEND_CPU_SPARE_VIEWS : NULL;
    struct backend_cpu_call *call = take(builder, 1, sizeof *call);
    int *used = take(builder, count + 2, sizeof *used);
    int scratch = kernel->scratch_bytes > 0 ? backend_cpu_builder_take(builder, kernel->scratch_bytes) : -1;
    struct backend_cpu_step *step = add_step(builder);
    if (!views || !call || !used || !step || (kernel->scratch_bytes > 0 && scratch < 0))
        return backend_cpu_builder_no_memory(builder);
    int inputs = 0, outputs = 0;
    for (int i = 0; i < kernel->input_count; i++) {
        views[i] = kernel->inputs[i];
        if (kernel->input_memories[i] < 0)
            continue;
        used[inputs++] = kernel->input_memories[i];
        if (!bind_pointer(builder, &views[i].data, kernel->input_memories[i]))
            return backend_cpu_builder_no_memory(builder);
    }
    for (int i = 0; i < kernel->output_count; i++) {
        struct view *view = &output_views[i];
        *view = kernel->outputs[i];
        if (kernel->output_memories[i] < 0)
            continue;
        used[inputs + outputs++] = kernel->output_memories[i];
        if (!bind_pointer(builder, &view->data, kernel->output_memories[i]))
            return backend_cpu_builder_no_memory(builder);
    }
    if (scratch >= 0) {
        used[inputs + outputs++] = scratch;
        if (!bind_pointer(builder, &call->scratch, scratch))
            return backend_cpu_builder_no_memory(builder);
    }
    call->kernel = kernel->kernel;
    call->operation = kernel->operation;
    call->inputs = views;
    call->outputs = output_views;
    step->call = call;
    return program_add_step(&builder->memory, OPERATION_COPY, used, inputs, used + inputs, outputs)
               ? WEIR_OK
               : backend_cpu_builder_no_memory(builder);
}

void backend_cpu_builder_find_kernel(struct backend_cpu_kernel *kernel) {
    kernel->kernel = cpu_find(kernel->operation, kernel->inputs, kernel->outputs);
    if (kernel->kernel) {
        kernel->scratch_bytes = cpu_scratch_bytes(kernel->operation, kernel->inputs, kernel->outputs);
        return;
    }
    kernel->kernel = ref_find(kernel->operation->kind);
    kernel->scratch_bytes = ref_scratch_bytes(kernel->operation, kernel->inputs, kernel->outputs);
}

/* oneDNN's memory object for an argument. */
static dnnl_status_t bind_memory(struct backend_cpu_builder *builder, const struct backend_cpu_argument *argument,
                                 dnnl_memory_t *out) {
    *out = argument->constant;
    if (argument->memory < 0)
        return dnnl_success;
    struct backend_cpu_binding *binding = add_binding(builder, PROGRAM_ARENA, argument->memory);
    if (!binding)
        return dnnl_out_of_memory;
    dnnl_status_t status =
        dnnl_memory_create(&binding->memory, argument->desc, builder->device->engine, DNNL_MEMORY_NONE);
    *out = binding->memory;
    return status;
}

enum weir_status backend_cpu_builder_primitive(struct backend_cpu_builder *builder, dnnl_primitive_desc_t desc,
                                               const struct backend_cpu_argument *arguments, int count) {
    const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    size_t scratch_bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    struct backend_cpu_argument extra = {.arg = DNNL_ARG_SCRATCHPAD, .memory = -1, .desc = scratch};
    dnnl_exec_arg_t *args = take(builder, (size_t)count + 1, sizeof *args);
    int *used = take(builder, (size_t)count + 1, sizeof *used), *written = take(builder, 2, sizeof *written);
    struct backend_cpu_step *step = add_step(builder);
    if (scratch_bytes > 0)
        extra.memory = backend_cpu_builder_take(builder, scratch_bytes);
    if (!args || !used || !written || !step || (scratch_bytes > 0 && extra.memory < 0))
        return backend_cpu_builder_no_memory(builder);
    int used_count = 0, written_count = 0;
    dnnl_status_t status = dnnl_primitive_create(&step->primitive, desc);
    for (int i = 0; status == dnnl_success && i < count + (scratch_bytes > 0); i++) {
        const struct backend_cpu_argument *argument = i < count ? &arguments[i] : &extra;
        args[i].arg = argument->arg;
        status = bind_memory(builder, argument, &args[i].memory);
        if (argument->memory < 0)
            continue;
        if (argument->arg == DNNL_ARG_DST || argument->arg == DNNL_ARG_SCRATCHPAD)
            written[written_count++] = argument->memory;
        else
            used[used_count++] = argument->memory;
    }
    if (status != dnnl_success)
        return backend_cpu_dnnl_fail(builder->err, status, "making a primitive");
    step->args = args;
    step->arg_count = count + (scratch_bytes > 0);
    return program_add_step(&builder->memory, OPERATION_COPY, used, used_count, written, written_count)
               ? WEIR_OK
               : backend_cpu_builder_no_memory(builder);
}

enum weir_status backend_cpu_builder_constant(struct backend_cpu_builder *builder, int buffer,
                                              const dnnl_memory_desc_t *desc, dnnl_memory_t *out) {
    struct view view;
    int memory;
    if (backend_cpu_layout_operand(builder, buffer, &view, &memory) != WEIR_OK)
        return builder->err->status;
    struct backend_cpu_binding *binding = add_binding(builder, PROGRAM_CONSTANT, -1);
    if (!binding)
        return backend_cpu_builder_no_memory(builder);
    dnnl_status_t status = dnnl_memory_create(&binding->memory, desc, builder->device->engine, view.data);
    *out = binding->memory;
    return status == dnnl_success ? WEIR_OK : backend_cpu_dnnl_fail(builder->err, status, "describing a constant");
}

enum weir_status backend_cpu_builder_pack(struct backend_cpu_builder *builder, int buffer,
                                          const dnnl_memory_desc_t *source, const dnnl_memory_desc_t *wanted,
                                          dnnl_memory_t *out) {
    int root = root_of(builder, buffer);
    const struct graph_constant *constant = builder->made->source.buffers[root].constant;
    const struct backend_cpu_packing packing = {
        .constant = constant,
        .owner = region_holds(&builder->made->source.region, constant) ? builder->made : NULL,
        .source = source,
        .wanted = wanted,
        .drop = builder->forms[root].weight_uses == builder->forms[root].uses};
    return backend_cpu_constants_pack(builder->constants, &packing, out, builder->err);
}

bool backend_cpu_builder_in_place(struct backend_cpu_builder *builder, int x, int x_memory, int y) {
    const struct program *source = &builder->made->source;
    int x_root = root_of(builder, x);
    if (x_memory < 0 || source->buffers[y].place != PROGRAM_ARENA || builder->forms[x_root].last_read != builder->at)
        return false;
    x_memory = program_root(&builder->memory, x_memory);
    if (builder->memory.buffers[x_memory].place != PROGRAM_ARENA)
        return false;
    if (builder->sizes[y] > builder->sizes[x_memory])
        builder->sizes[x_memory] = builder->sizes[y];
    builder->memory.buffers[y].place = PROGRAM_ALIAS;
    builder->memory.buffers[y].index = x_memory;
    return true;
}

enum weir_status backend_cpu_builder_activate(struct backend_cpu_builder *builder, int memory, size_t elements,
                                              const struct unary *then) {
    struct operation *operation = take(builder, 1, sizeof *operation);
    if (!operation)
        return backend_cpu_builder_no_memory(builder);
    operation->kind = OPERATION_UNARY;
    operation->unary = *then;
    const struct view view = {.element = ELEMENT_F32, .rank = 1, .dims = {elements}};
    struct backend_cpu_kernel kernel = {.operation = operation,
                                        .inputs = &view,
                                        .outputs = &view,
                                        .input_memories = &memory,
                                        .output_memories = &memory,
                                        .input_count = 1,
                                        .output_count = 1};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

/* Fills in what is known before the first step is built. */
static bool start(struct backend_cpu_builder *builder) {
    const struct program *source = &builder->made->source;
    size_t buffers = (size_t)source->buffer_count;
    builder->memory.buffers = calloc(buffers + 1, sizeof *builder->memory.buffers);
    builder->sizes = calloc(buffers + 1, sizeof *builder->sizes);
    builder->forms = calloc(buffers + 1, sizeof *builder->forms);
    builder->moved_by = calloc(buffers + 1, sizeof *builder->moved_by);
    builder->skipped = calloc(source->step_count + 1, sizeof *builder->skipped);
    if (!builder->memory.buffers || !builder->sizes || !builder->forms || !builder->moved_by || !builder->skipped)
        return false;
    builder->memory.buffer_count = source->buffer_count;
    builder->memory.buffer_capacity = builder->size_capacity = source->buffer_count + 1;
    for (size_t i = 0; i < buffers; i++) {
        builder->memory.buffers[i] = source->buffers[i];
        builder->sizes[i] = source->buffers[i].bytes;
        builder->forms[i] = (struct backend_cpu_form){.plain = -1, .other = -1, .last_read = SIZE_MAX};
        builder->moved_by[i] = -1;
    }
    return true;
}

static void count_reads(struct backend_cpu_builder *builder) {
    const struct program *source = &builder->made->source;
    for (size_t i = 0; i < source->step_count; i++) {
        const struct program_step *step = &source->steps[i];
        for (int j = 0; j < step->input_count && !builder->skipped[i]; j++) {
            if (step->inputs[j] < 0)
                continue;
            int mover = builder->moved_by[step->inputs[j]];
            int root = root_of(builder, mover >= 0 ? source->steps[mover].inputs[0] : step->inputs[j]);
            builder->forms[root].last_read = i;
            builder->forms[root].uses++;
            builder->forms[root].weight_uses += backend_cpu_choose_is_weight(source, step, j);
        }
    }
}

/* Places everything in the arena, and turns the bindings' memories into addresses. */
static bool place(struct backend_cpu_builder *builder) {
    struct backend_cpu_program *made = builder->made;
    size_t *offsets = calloc((size_t)builder->memory.buffer_count + 1, sizeof *offsets);
    bool placed = offsets && arena_place(&builder->memory, builder->sizes, offsets, &made->arena_bytes);
    for (size_t i = 0; placed && i < made->binding_count; i++) {
        struct backend_cpu_binding *binding = &made->bindings[i];
        if (binding->place == PROGRAM_CONSTANT)
            continue;
        int root = program_root(&builder->memory, binding->index);
        binding->place = builder->memory.buffers[root].place;
        binding->index = builder->memory.buffers[root].index;
        binding->offset = offsets[root];
    }
    free(offsets);
    return placed;
}

enum weir_status backend_cpu_builder_make(const struct backend_cpu_build *build, struct program *source,
                                          struct backend_cpu_program **out, struct weir_error *err) {
    struct weir_error local;
    struct backend_cpu_builder builder = {.device = build->device,
                                          .constants = build->constants,
                                          .bf16 = build->bf16,
                                          .strict = build->strict,
                                          .made = calloc(1, sizeof *builder.made),
                                          .err = err ? err : &local};
    enum weir_status status = WEIR_OK;
    if (!builder.made)
        return backend_cpu_builder_no_memory(&builder);
    builder.made->source = *source;
    *source = (struct program){0};
    if (!start(&builder)) {
        status = backend_cpu_builder_no_memory(&builder);
        goto out;
    }
    backend_cpu_choose_moves(&builder);
    count_reads(&builder);
    for (; status == WEIR_OK && builder.at < builder.made->source.step_count; builder.at++)
        if (!builder.skipped[builder.at])
            status = backend_cpu_choose_step(&builder);
    if (status == WEIR_OK && !place(&builder))
        status = backend_cpu_builder_no_memory(&builder);
out:
    free(builder.sizes);
    free(builder.forms);
    free(builder.moved_by);
    free(builder.skipped);
    program_release(&builder.memory);
    if (status == WEIR_OK) {
        *out = builder.made;
    } else {
        backend_cpu_constants_forget(build->constants, builder.made);
        backend_cpu_program_destroy(builder.made);
    }
    return status;
}
