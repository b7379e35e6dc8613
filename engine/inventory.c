#include "engine/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/cpus.h"
#include "engine/device/backend.h"

/* Why CUDA cannot serve here. */
static const char *cuda_obstacle(void) {
    return access("/dev/nvidiactl", F_OK) == 0 ? "this build has no CUDA engine"
                                               : "no NVIDIA device (/dev/nvidiactl is missing)";
}

enum weir_status inventory_open(const struct inventory_options *options, struct inventory *out,
                                struct weir_error *err) {
    struct inventory inventory = {.fell_back = options->choice == INVENTORY_AUTO};
    if (options->choice == INVENTORY_CUDA)
        return weir_fail(err, WEIR_DEVICE, "device cuda: %s", cuda_obstacle());
    if (inventory.fell_back)
        snprintf(inventory.reason, sizeof inventory.reason, "auto: %s", cuda_obstacle());
    else
        snprintf(inventory.reason, sizeof inventory.reason, "configured");
    inventory.devices = calloc(1, sizeof(struct backend *));
    if (!inventory.devices)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the device list");
    static const enum backend_precision precisions[] = {
        [INVENTORY_FP32] = BACKEND_FP32, [INVENTORY_BF16] = BACKEND_BF16, [INVENTORY_INT8] = BACKEND_INT8};
    static const enum backend_invariance invariances[] = {[INVENTORY_VARIANT] = BACKEND_VARIANT,
                                                          [INVENTORY_BUCKET] = BACKEND_BUCKET,
                                                          [INVENTORY_STRICT] = BACKEND_STRICT};
    int available = cpus_available();
    inventory.cpu_threads = options->cpu_threads < available ? options->cpu_threads : available;
    struct backend_options cpu = {.threads = inventory.cpu_threads,
                                  .precision = precisions[options->precision],
                                  .invariance = invariances[options->invariance]};
    enum weir_status status = backend_cpu_open(&cpu, &inventory.devices[0], err);
    if (status != WEIR_OK) {
        free(inventory.devices);
        return status;
    }
    inventory.count = 1;
    *out = inventory;
    return WEIR_OK;
}

void inventory_release(struct inventory *inventory) {
    for (int i = 0; i < inventory->count; i++)
        inventory->devices[i]->ops->close(inventory->devices[i]);
    free(inventory->devices);
    memset(inventory, 0, sizeof *inventory);
}
