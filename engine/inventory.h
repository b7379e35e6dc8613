/* Which devices serve, and why these. */
#ifndef WEIR_ENGINE_INVENTORY_H
#define WEIR_ENGINE_INVENTORY_H

#include <stdbool.h>

#include "engine/status.h"

struct backend;

enum inventory_choice { INVENTORY_AUTO, INVENTORY_CUDA, INVENTORY_CPU };

struct inventory {
    struct backend **devices;
    int count;
    bool fell_back;   /* auto found no GPU and took the CPU */
    char reason[160]; /* why this kind of device */
};

struct inventory_options {
    enum inventory_choice choice;
    int gpu_count;
    int cpu_threads;
};

/* Opens the devices. cuda without a usable GPU: DEVICE, naming what is missing. Owner: the caller, by
 * inventory_release. */
enum weir_status inventory_open(const struct inventory_options *options, struct inventory *out,
                                struct weir_error *err) WEIR_CHECKED;
void inventory_release(struct inventory *inventory);

#endif
