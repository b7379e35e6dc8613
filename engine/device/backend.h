/* A backend runs a plan on a device. It is asynchronous: the executor begins a slot for a batch's sizes, fills its
 * staging memory, submits it, and waits for it; with two slots the next batch is filled while one runs. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_H
#define WEIR_ENGINE_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"
#include "engine/tensor.h"

struct plan;
struct backend;       /* one device */
struct backend_model; /* one loaded plan on it, with its slots */

/* TF32 and FP16 are the GPU's, INT8 is the CPU's. Sums are float32 in all of them. */
enum backend_precision { BACKEND_FP32, BACKEND_BF16, BACKEND_INT8, BACKEND_TF32, BACKEND_FP16, BACKEND_PRECISIONS };

/* May a row's bits depend on how many rows share its batch? BUCKET: batches are filled up to 1, 4, 16, 64... rows, so
 * there are few forms; STRICT: the bits are the same for every batch size and place in it. */
enum backend_invariance { BACKEND_VARIANT, BACKEND_BUCKET, BACKEND_STRICT };

struct backend_options {
    int threads; /* CPU: threads of one batch; 0 = 1 */
    enum backend_precision precision;
    enum backend_invariance invariance;
    int64_t patience_ns; /* GPU: the loader waits no longer for any piece of work; 0: as long as it takes */
    size_t batch_bytes;  /* CPU: most memory of one batch between its steps and at its ends; 0: half of what there is */
};

/* DEGRADED: the last batch failed, the next may work. LOST: every call fails from now on, the process must end. */
enum backend_state { BACKEND_OK, BACKEND_DEGRADED, BACKEND_LOST, BACKEND_STATES };

/* What a device tells about a loaded model, for people and for health. */
struct backend_report {
    bool invariance_tested, invariant;
    char memory[320]; /* the memory plan, in words; "" if there is none */
};

struct backend_ops {
    const char *name; /* "cpu", "cuda" */

    /* Loads plan for batches of 1..max_rows rows: packs its weights (which lets go of the plan's own copies, see
     * plan_drop_constant) and prepares the sizes that will come first. plan outlives the model. Errors: UNSUPPORTED,
     * NO_MEMORY, DEVICE. thread: loader. */
    enum weir_status (*load)(struct backend *backend, struct plan *plan, uint32_t max_rows, struct backend_model **out,
                             struct weir_error *err) WEIR_CHECKED;
    void (*unload)(struct backend_model *model);

    /* Chooses, or makes, what runs batches of these sizes, and sees that the slot's staging memory holds them. Errors:
     * INVALID, UNSUPPORTED, TOO_LARGE (the model does not take these free sizes: the text names the node), NO_MEMORY,
     * DEVICE. thread: the device's, or the loader before the model serves. */
    enum weir_status (*begin)(struct backend_model *model, int slot, const struct tensor_dims *dims,
                              struct weir_error *err) WEIR_CHECKED;

    /* Staging memory of one input or output of a slot that has begun, 64-byte aligned, for whole tensors of the batch.
     * The input may be written until submit, the output read after wait, both until the next begin. Inputs and outputs
     * are numbered as in the signature. output_shape is that of the whole tensor. */
    void *(*input)(struct backend_model *model, int slot, int index);
    const void *(*output)(struct backend_model *model, int slot, int index);
    const struct tensor_shape *(*output_shape)(struct backend_model *model, int slot, int index);

    /* Starts the slot. A backend that cannot overlap (the CPU) computes here. thread: the device's. */
    enum weir_status (*submit)(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;
    /* Returns once the slot's results are in its output memory. DEVICE: this batch failed, others may work.
     * DEVICE_LOST: the device will not come back. */
    enum weir_status (*wait)(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;
    /* The loader's wait. The engine looks whether a batch of the device's thread hangs, but not at these: so a device
     * that has not ended after options.patience_ns is LOST. */
    enum weir_status (*wait_loading)(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;

    /* NULL where there is nothing to tell. thread: any, while the model is loaded. */
    void (*report)(const struct backend_model *model, struct backend_report *out);
    /* NULL: always OK. thread: any. */
    enum backend_state (*state)(const struct backend *backend);

    void (*close)(struct backend *backend);
};

/* Every backend begins with this. */
struct backend {
    const struct backend_ops *ops;
    int slot_count;        /* 1 where nothing overlaps, else 2 */
    char description[128]; /* "AMD EPYC, oneDNN 2.6.3, avx512_core" */
    char bus_id[32];       /* of a GPU, "0000:3b:00.0", for its telemetry; "" */
};

/* Opens the CPU backend (oneDNN). Errors: UNSUPPORTED (it lacks the precision), DEVICE. */
enum weir_status backend_cpu_open(const struct backend_options *options, struct backend **out,
                                  struct weir_error *err) WEIR_CHECKED;

#endif
