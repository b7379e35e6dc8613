/* A program made ready for one set of sizes: a flat list of steps, each a kernel or a oneDNN primitive with its
 * arguments filled in. backend_cpu_builder makes it. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_PROGRAM_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_PROGRAM_H

#include "engine/device/backend_cpu_dnnl.h"
#include "engine/graph/program.h"
#include "engine/tensor.h"

/* A kernel with its arguments. */
struct backend_cpu_call {
    operation_function kernel;
    const struct operation *operation;
    struct view *inputs, *outputs;
    void *scratch;
};

/* Either a primitive, or (where it is NULL) a call. */
struct backend_cpu_step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t *args;
    int arg_count;
    const struct backend_cpu_call *call;
};

/* Memory whose address is known once arena and staging are: a pointer, or oneDNN's memory object. */
struct backend_cpu_binding {
    enum program_place place; /* ARENA, INPUT, OUTPUT; CONSTANT: its address does not change */
    size_t offset;            /* in the arena */
    int index;                /* of the input or output */
    void **pointer;
    dnnl_memory_t memory; /* owner: the program */
};

/* What a run works on. */
struct backend_cpu_memory {
    unsigned char *arena;
    void **inputs, **outputs;
};

struct backend_cpu_program {
    struct program source; /* shapes and operations; what the steps' pointers lead to is in its region */
    struct backend_cpu_step *steps;
    size_t step_count, step_capacity;
    struct backend_cpu_binding *bindings;
    size_t binding_count, binding_capacity;
    size_t arena_bytes;
};

/* Fills in the addresses. To be called again when any of them has changed. Errors: DEVICE. */
enum weir_status backend_cpu_program_bind(struct backend_cpu_program *program, const struct backend_cpu_memory *memory,
                                          struct weir_error *err) WEIR_CHECKED;

/* Runs all steps. Allocates nothing. Errors: DEVICE. */
enum weir_status backend_cpu_program_run(const struct backend_cpu_device *device,
                                         const struct backend_cpu_program *program,
                                         struct weir_error *err) WEIR_CHECKED;

void backend_cpu_program_destroy(struct backend_cpu_program *program);

#endif
