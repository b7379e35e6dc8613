/* Turns a program into steps that run: keeps track of the layout that each buffer has got, inserts reorders where a
 * step needs another one (backend_cpu_layout), and places everything in the arena. The choice of kernels is in
 * backend_cpu_choose.
 *
 * Two numberings: a "buffer" is one of the source program; a "memory" is one of builder->memory, which has the same
 * buffers under the same numbers, and behind them copies in other layouts and scratch. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_BUILDER_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_BUILDER_H

#include "engine/device/backend_cpu_constants.h"
#include "engine/device/backend_cpu_program.h"

/* What a buffer holds; used where the buffer is a root. */
struct backend_cpu_form {
    const dnnl_memory_desc_t *desc; /* NULL: row-major */
    int plain;                      /* memory with a row-major copy, -1: none */
    int other;                      /* memory with a copy in the layout other_desc, -1: none */
    const dnnl_memory_desc_t *other_desc;
    size_t last_read;      /* the last step that reads it; SIZE_MAX: none */
    int weight_uses, uses; /* a constant: how often it is a weight that is packed, and used at all */
};

struct backend_cpu_builder {
    const struct backend_cpu_device *device;
    struct backend_cpu_constants *constants;
    bool bf16;   /* products in bfloat16 */
    bool strict; /* the same kernels for every number of rows */
    struct backend_cpu_program *made;
    struct program memory; /* its steps serve the lifetimes alone */
    size_t *sizes;         /* bytes by memory */
    int size_capacity;
    struct backend_cpu_form *forms; /* by buffer */
    int *moved_by;                  /* by buffer: the TRANSPOSE that makes it and is left to its readers; -1: none */
    bool *skipped;                  /* by step: it needs no code of its own */
    size_t at;                      /* the step being built */
    struct weir_error *err;
};

/* Makes a program of *source, which becomes its own (also after an error). Errors: NO_MEMORY, DEVICE. Owner of *out:
 * the caller. */
struct backend_cpu_build {
    const struct backend_cpu_device *device;
    struct backend_cpu_constants *constants;
    bool bf16, strict;
};
enum weir_status backend_cpu_builder_make(const struct backend_cpu_build *build, struct program *source,
                                          struct backend_cpu_program **out, struct weir_error *err) WEIR_CHECKED;

/* ---- for those who choose kernels. All errors: NO_MEMORY, DEVICE ---- */

/* Fills the builder's err. Returns NO_MEMORY. */
enum weir_status backend_cpu_builder_no_memory(const struct backend_cpu_builder *builder);

const struct program_step *backend_cpu_builder_step(const struct backend_cpu_builder *builder);

/* Lets output y of this step take the memory of its input x, if nothing reads x later. */
bool backend_cpu_builder_in_place(struct backend_cpu_builder *builder, int x, int x_memory, int y);

/* New memory of so many bytes; -1: out of memory. */
int backend_cpu_builder_take(struct backend_cpu_builder *builder, size_t bytes);

/* Kernels look at inputs and outputs that an operation may have: lists of views end with so many empty ones. */
enum { BACKEND_CPU_SPARE_VIEWS = 9 };

/* A kernel's call. memories: for each view its memory, -1: none, or its data is set. */
struct backend_cpu_kernel {
    operation_function kernel;
    const struct operation *operation; /* lives as long as the program */
    const struct view *inputs, *outputs;
    const int *input_memories, *output_memories;
    int input_count, output_count;
    size_t scratch_bytes;
};
enum weir_status backend_cpu_builder_call(struct backend_cpu_builder *builder,
                                          const struct backend_cpu_kernel *kernel) WEIR_CHECKED;

/* The kernel of an operation for these views: kernels/cpu's, else the oracle's. */
void backend_cpu_builder_find_kernel(struct backend_cpu_kernel *kernel);

/* One argument of a primitive: memory, or where it is -1 a constant's. */
struct backend_cpu_argument {
    int arg;
    int memory;
    dnnl_memory_t constant;
    const dnnl_memory_desc_t *desc;
};
enum weir_status backend_cpu_builder_primitive(struct backend_cpu_builder *builder, dnnl_primitive_desc_t desc,
                                               const struct backend_cpu_argument *arguments, int count) WEIR_CHECKED;

/* Memory of oneDNN over a constant's plain bytes. Owner: the program. */
enum weir_status backend_cpu_builder_constant(struct backend_cpu_builder *builder, int buffer,
                                              const dnnl_memory_desc_t *desc, dnnl_memory_t *out) WEIR_CHECKED;

/* The weights of the buffer, a constant, packed. */
enum weir_status backend_cpu_builder_pack(struct backend_cpu_builder *builder, int buffer,
                                          const dnnl_memory_desc_t *source, const dnnl_memory_desc_t *wanted,
                                          dnnl_memory_t *out) WEIR_CHECKED;

/* Applies a function in place to all of a memory, whose layout is desc. */
enum weir_status backend_cpu_builder_activate(struct backend_cpu_builder *builder, int memory, size_t elements,
                                              const struct unary *then) WEIR_CHECKED;

#endif
