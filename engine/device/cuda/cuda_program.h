/* A program made ready for the device: every step a kernel or a product, every buffer a place in the slot's memory.
 *
 * A slot's device memory holds the program's inputs, outputs, the arena of what lies between, and scratch, in that
 * order, so that one copy brings all inputs and one takes all outputs. Its pinned memory holds inputs and outputs at
 * the same distances. The same program serves both slots: only the addresses differ. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_PROGRAM_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_PROGRAM_H

#include "engine/device/cuda/cuda_constants.h"
#include "engine/device/cuda/cuda_lt.h"
#include "engine/device/cuda/cuda_memory_plan.h"
#include "engine/graph/program.h"
#include "kernels/cuda/cuda.h"

struct plan;
struct cuda_matmul;
struct cuda_conv;

/* One slot's memory and stream. */
struct cuda_slot_memory {
    unsigned char *device; /* CUDA_ALIGNMENT */
    unsigned char *host;   /* pinned */
    void *workspace;
    size_t workspace_bytes;
    cudaStream_t stream;
};

/* A kernel, or a product where launcher is NULL. */
struct cuda_step {
    const struct program_step *source;
    cuda_launcher launcher;
    struct cuda_matmul *matmul; /* owner: the program */
    struct cuda_conv *conv;     /* owner: the program */
};

struct cuda_program {
    struct program source;
    struct tensor_dims dims;
    struct cuda_step *steps;
    size_t step_count;
    struct view *views;                  /* room for one step's inputs and outputs */
    int view_count;                      /* of inputs, with the spare ones */
    size_t *offsets;                     /* by buffer: in the slot's device memory; SIZE_MAX: not there */
    int *input_buffers, *output_buffers; /* by number in the signature */
    size_t input_bytes, output_bytes, scratch_bytes;
    size_t outputs_at, scratch_at, slot_bytes; /* in the slot's device memory; the last is its size */
    const struct cuda_constants *shared;       /* the model's */
    struct cuda_constants own;
    cudaGraphExec_t graphs[CUDA_SLOTS];
    uint64_t used; /* when it ran last, in runs; 0: never */
};

/* Makes the program for dims and lays its memory out; wants constants in the model's list, or in its own where they are
 * its own, or where `frozen` (the model's have gone up) and not among the model's. With `lack` the program is not one
 * that can run. Errors: UNSUPPORTED (names the node
 * and the operator that the device lacks), and those of plan_make_program. Owner: the caller; cuda_program_release,
 * also after an error. */
struct cuda_program_maker {
    struct plan *plan;
    struct cuda_constants *shared;
    const struct cuda_lt *lt;
    bool frozen;
    void (*lack)(void *context,
                 const char *text); /* told of each step that cannot be run; NULL: the first is the end */
    void *lack_context;
};
enum weir_status cuda_program_make(const struct cuda_program_maker *maker, const struct tensor_dims *dims,
                                   struct cuda_program *program, struct weir_error *err) WEIR_CHECKED;

/* Pinned bytes of a slot that runs it. */
size_t cuda_program_host_bytes(const struct cuda_program *program);

/* Wants the constant of that buffer, if it is one. False: out of memory. */
bool cuda_program_want(const struct cuda_program_maker *maker, struct cuda_program *program, int buffer,
                       enum cuda_form form);

/* Device address of a buffer in that slot; of a constant, in that form. NULL: buffer is -1. */
void *cuda_program_address(const struct cuda_program *program, const struct cuda_slot_memory *memory, int buffer,
                           enum cuda_form form);

/* Is the buffer a constant? */
bool cuda_program_is_constant(const struct cuda_program *program, int buffer);

void cuda_program_release(struct cuda_program *program);

#endif
