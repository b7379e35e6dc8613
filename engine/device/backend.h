/* A backend runs a plan on a device. It is asynchronous: the executor fills a slot's staging memory, submits the slot,
 * and waits for it; with two slots the next batch is filled while one runs. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_H
#define WEIR_ENGINE_DEVICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

struct plan;
struct backend;       /* one device */
struct backend_model; /* one loaded plan on it, with its slots */

struct backend_options {
    int threads; /* CPU: threads of one batch; 0 = 1 */
};

struct backend_ops {
    const char *name; /* "cpu", "cuda" */

    /* Loads plan for batches of 1..max_rows rows. Copies (packs) what it needs: plan may be released afterwards.
     * Errors: UNSUPPORTED, NO_MEMORY, DEVICE. thread: loader. */
    enum weir_status (*load)(struct backend *backend, const struct plan *plan, uint32_t max_rows,
                             struct backend_model **out, struct weir_error *err) WEIR_CHECKED;
    void (*unload)(struct backend_model *model);

    /* Makes the first batch of this row count as fast as the later ones. thread: loader, before the first submit. */
    enum weir_status (*prepare)(struct backend_model *model, uint32_t rows, struct weir_error *err) WEIR_CHECKED;

    /* Staging memory of one input or output of a slot: max_rows rows, 64-byte aligned. The input may be written while
     * the slot is not submitted, the output read after wait. Inputs and outputs are numbered as in the signature. */
    void *(*input)(struct backend_model *model, int slot, int index);
    const void *(*output)(struct backend_model *model, int slot, int index);

    /* Starts `rows` rows of the slot. A backend that cannot overlap (the CPU) computes here. thread: the device's. */
    enum weir_status (*submit)(struct backend_model *model, int slot, uint32_t rows,
                               struct weir_error *err) WEIR_CHECKED;
    /* Returns once the slot's results are in its output memory. DEVICE: this batch failed, others may work.
     * DEVICE_LOST: the device will not come back. */
    enum weir_status (*wait)(struct backend_model *model, int slot, struct weir_error *err) WEIR_CHECKED;

    void (*close)(struct backend *backend);
};

/* Every backend begins with this. */
struct backend {
    const struct backend_ops *ops;
    int slot_count;        /* 1 where nothing overlaps, else 2 */
    char description[128]; /* "AMD EPYC, oneDNN 2.6.3, avx512_core" */
};

/* Opens the CPU backend (oneDNN). Errors: DEVICE. */
enum weir_status backend_cpu_open(const struct backend_options *options, struct backend **out,
                                  struct weir_error *err) WEIR_CHECKED;

#endif
