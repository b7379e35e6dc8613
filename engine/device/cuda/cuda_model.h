/* A plan on a GPU: its memory, taken once, two slots, and a program for each bucket of rows with a graph for each slot.
 *
 * Programs are made at load, one a bucket. Where sizes are free (or the batch is not the first dimension, so that rows
 * cannot be filled up) they are made as they are met, from memory reserved at load, and kept until their place is
 * needed. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_MODEL_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_MODEL_H

#include "engine/device/backend.h"
#include "engine/device/cuda/cuda_program.h"

enum { CUDA_MODEL_PROGRAMS = 32 };

/* One device. */
struct cuda_backend {
    struct backend backend;
    struct backend_options options;
    int device;
    size_t workspace_bytes; /* of one slot */
    struct cuda_errors errors;
};

struct cuda_slot {
    struct cuda_slot_memory memory;
    cudaEvent_t event;
    struct cuda_program *current; /* what begin chose; NULL: nothing */
    uint32_t rows;                /* of the batch that began */
    struct tensor_shape *output_shapes;
};

struct backend_model {
    struct cuda_backend *backend;
    struct plan *plan;
    uint32_t max_rows;
    bool exact;    /* rows cannot be filled up */
    bool flexible; /* programs are made as sizes are met */
    struct cuda_lt lt;
    struct cuda_constants constants;
    struct cuda_program programs[CUDA_MODEL_PROGRAMS]; /* those with steps or views are made */
    int program_count;
    size_t own_bytes;     /* for the own constants of one program */
    unsigned char *arena; /* weights, then own constants by program, then slots and workspaces */
    unsigned char *host;  /* pinned: staging of all slots */
    struct cuda_bounce bounce;
    struct cuda_memory_plan memory;
    struct cuda_slot slots[CUDA_SLOTS];
    uint64_t runs;
    bool tested, invariant;
};

/* Makes the device the calling thread's. Errors: DEVICE, DEVICE_LOST. */
enum weir_status cuda_model_enter(struct cuda_backend *backend, struct weir_error *err) WEIR_CHECKED;

/* Rows that a batch of so many is filled up to. */
uint32_t cuda_model_bucket(const struct backend_model *model, uint32_t rows);

/* For cuda_load, and for sizes met later: sends up the program's constants, chooses algorithms. place: of the program
 * in the model's list. Errors: TOO_LARGE (not within what was reserved), UNSUPPORTED, DEVICE, DEVICE_LOST. */
enum weir_status cuda_model_settle(struct backend_model *model, int place, struct weir_error *err) WEIR_CHECKED;

/* backend_ops, see there. */
enum weir_status cuda_model_begin(struct backend_model *model, int slot, const struct tensor_dims *dims,
                                  struct weir_error *err) WEIR_CHECKED;
void *cuda_model_input(struct backend_model *model, int slot, int index);
const void *cuda_model_output(struct backend_model *model, int slot, int index);
const struct tensor_shape *cuda_model_output_shape(struct backend_model *model, int slot, int index);
enum weir_status cuda_model_submit(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;
enum weir_status cuda_model_wait(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;
enum weir_status cuda_model_wait_loading(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;

#endif
