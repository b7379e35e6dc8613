#include "engine/device/backend_cpu_program.h"

#include <stdlib.h>

static void *address(const struct backend_cpu_binding *binding, const struct backend_cpu_memory *memory) {
    switch (binding->place) {
    case PROGRAM_INPUT:
        return memory->inputs[binding->index];
    case PROGRAM_OUTPUT:
        return memory->outputs[binding->index];
    default:
        return memory->arena + binding->offset;
    }
}

enum weir_status backend_cpu_program_bind(struct backend_cpu_program *program, const struct backend_cpu_memory *memory,
                                          struct weir_error *err) {
    for (size_t i = 0; i < program->binding_count; i++) {
        struct backend_cpu_binding *binding = &program->bindings[i];
        if (binding->place == PROGRAM_CONSTANT)
            continue;
        void *to = address(binding, memory);
        if (binding->pointer)
            *binding->pointer = to;
        dnnl_status_t status = binding->memory ? dnnl_memory_set_data_handle(binding->memory, to) : dnnl_success;
        if (status != dnnl_success)
            return backend_cpu_dnnl_fail(err, status, "setting an address");
    }
    return WEIR_OK;
}

enum weir_status backend_cpu_program_run(const struct backend_cpu_device *device,
                                         const struct backend_cpu_program *program, struct weir_error *err) {
    const struct backend_cpu_step *end = program->steps + program->step_count;
    for (const struct backend_cpu_step *step = program->steps; step < end; step++) {
        if (!step->primitive) {
            const struct backend_cpu_call *call = step->call;
            call->kernel(call->operation, call->inputs, call->outputs, call->scratch);
            continue;
        }
        dnnl_status_t status = dnnl_primitive_execute(step->primitive, device->stream, step->arg_count, step->args);
        if (status != dnnl_success)
            return backend_cpu_dnnl_fail(err, status, "a primitive");
    }
    return WEIR_OK;
}

void backend_cpu_program_destroy(struct backend_cpu_program *program) {
    if (!program)
        return;
    for (size_t i = 0; i < program->step_count; i++)
        dnnl_primitive_destroy(program->steps[i].primitive);
    for (size_t i = 0; i < program->binding_count; i++)
        dnnl_memory_destroy(program->bindings[i].memory);
    free(program->steps);
    free(program->bindings);
    program_release(&program->source);
    free(program);
}
