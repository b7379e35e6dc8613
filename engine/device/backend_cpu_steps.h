/* The steps of one batch size on the CPU: a flat list with every address filled in. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_STEPS_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_STEPS_H

#include "engine/device/backend_cpu_dense.h"
#include "engine/graph/program.h"

/* What the steps of every batch size share: a copy of the program without weights, the packed layers, and the memory.
 */
struct backend_cpu_body {
    struct backend_cpu_device device;
    struct program program;          /* DENSE steps have no weights, COMBINE_CONSTANT steps a copy of their values */
    struct backend_cpu_dense *dense; /* as many as steps; used where the step is DENSE */
    float *arena;
    float **inputs, **outputs; /* staging memory */
    int input_count, output_count;
};

struct backend_cpu_step {
    const struct program_step *step;
    const float *x, *x2;
    float *y;
    size_t count; /* elements of y */
    size_t rows;
    struct backend_cpu_dense_run dense;
};

struct backend_cpu_steps {
    struct backend_cpu_step *steps;
    size_t count;
};

/* Makes the steps of batches of `rows` rows. Errors: NO_MEMORY, DEVICE. Owner of *out: the caller, released by
 * backend_cpu_steps_destroy. */
enum weir_status backend_cpu_steps_create(struct backend_cpu_body *body, size_t rows, struct backend_cpu_steps **out,
                                          struct weir_error *err) WEIR_CHECKED;
void backend_cpu_steps_destroy(struct backend_cpu_steps *steps);

/* Runs them all. Allocates nothing. Errors: DEVICE. */
enum weir_status backend_cpu_steps_run(const struct backend_cpu_body *body, const struct backend_cpu_steps *steps,
                                       struct weir_error *err) WEIR_CHECKED;

#endif
