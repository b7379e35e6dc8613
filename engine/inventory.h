/* Which devices serve, and why these. */
#ifndef WEIR_ENGINE_INVENTORY_H
#define WEIR_ENGINE_INVENTORY_H

#include <stdbool.h>

#include "engine/device/backend.h"
#include "engine/status.h"

struct backend;

enum inventory_choice { INVENTORY_AUTO, INVENTORY_CUDA, INVENTORY_CPU };

/* In what numbers the weights are multiplied. */
enum inventory_precision { INVENTORY_FP32, INVENTORY_TF32, INVENTORY_FP16, INVENTORY_BF16, INVENTORY_INT8 };

/* May the bits of a row's answer depend on the batch that it ran in? See enum backend_invariance. */
enum inventory_invariance { INVENTORY_VARIANT, INVENTORY_BUCKET, INVENTORY_STRICT };

struct inventory {
    struct backend **devices;
    int count;
    int cpu_threads;  /* of one batch on the CPU */
    bool fell_back;   /* auto found no GPU and took the CPU */
    char reason[400]; /* why this kind of device */
};

struct inventory_options {
    enum inventory_choice choice;
    int gpu_count;
    const char *cuda_module; /* the module's file; NULL: it is searched for */
    bool allow_simulated;    /* a module without a GPU behind it, for tests */
    int cpu_threads;         /* cut to the processors that the process may use (cpus.h) */
    enum inventory_precision precision;
    enum inventory_invariance invariance;
    int64_t patience_ns; /* a GPU that hangs for longer while it is opened or loaded is lost; 0: it is waited for */
};

/* Opens the devices. cuda without a usable GPU: DEVICE, naming what is missing. Owner: the caller, by
 * inventory_release. */
enum weir_status inventory_open(const struct inventory_options *options, struct inventory *out,
                                struct weir_error *err) WEIR_CHECKED;
void inventory_release(struct inventory *inventory);

/* The same in the devices' own words. */
enum backend_precision inventory_backend_precision(enum inventory_precision precision);

#endif
