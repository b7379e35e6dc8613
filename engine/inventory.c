#include "engine/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/cpus.h"
#include "engine/device/backend.h"
#include "engine/device/cuda_module.h"

enum backend_precision inventory_backend_precision(enum inventory_precision precision) {
    static const enum backend_precision precisions[] = {[INVENTORY_FP32] = BACKEND_FP32,
                                                        [INVENTORY_TF32] = BACKEND_TF32,
                                                        [INVENTORY_FP16] = BACKEND_FP16,
                                                        [INVENTORY_BF16] = BACKEND_BF16,
                                                        [INVENTORY_INT8] = BACKEND_INT8};
    return precisions[precision];
}

static struct backend_options options_of(const struct inventory_options *options) {
    static const enum backend_invariance invariances[] = {[INVENTORY_VARIANT] = BACKEND_VARIANT,
                                                          [INVENTORY_BUCKET] = BACKEND_BUCKET,
                                                          [INVENTORY_STRICT] = BACKEND_STRICT};
    return (struct backend_options){.patience_ns = options->patience_ns,
                                    .precision = inventory_backend_precision(options->precision),
                                    .invariance = invariances[options->invariance]};
}

/* Opening the module takes 150 MB and a quarter of a second, GPU or not: so first a look at what a driver leaves. A
 * module that was named is opened in any case. */
static bool may_have_gpu(const struct inventory_options *options) {
    return (options->cuda_module && options->cuda_module[0]) || access("/dev/nvidiactl", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
}

/* Adds as many GPUs as are wanted. On failure none is left open. */
static enum weir_status open_gpus(const struct inventory_options *options, struct inventory *inventory,
                                  struct weir_error *err) {
    const struct cuda_module_options module = {
        .path = options->cuda_module, .folder = WEIR_MODULE_FOLDER, .allow_simulated = options->allow_simulated};
    const struct backend_options backend = options_of(options);
    if (!may_have_gpu(options))
        return weir_fail(err, WEIR_DEVICE, "no NVIDIA device (/dev/nvidiactl is missing)");
    for (int i = 0; i < options->gpu_count; i++) {
        enum weir_status status = cuda_module_open(&module, &backend, i, &inventory->devices[i], err);
        if (status == WEIR_NOT_FOUND && i > 0)
            weir_fail(err, WEIR_DEVICE, "gpu_count is %d, but there are only %d GPUs", options->gpu_count, i);
        if (status != WEIR_OK) {
            while (inventory->count > 0) {
                struct backend *opened = inventory->devices[--inventory->count];
                opened->ops->close(opened);
            }
            return err->status;
        }
        inventory->count = i + 1;
    }
    return WEIR_OK;
}

static enum weir_status open_cpu(const struct inventory_options *options, struct inventory *inventory,
                                 struct weir_error *err) {
    struct backend_options cpu = options_of(options);
    cpu.threads = inventory->cpu_threads;
    enum weir_status status = backend_cpu_open(&cpu, &inventory->devices[0], err);
    inventory->count = status == WEIR_OK ? 1 : 0;
    return status;
}

enum weir_status inventory_open(const struct inventory_options *options, struct inventory *out,
                                struct weir_error *err) {
    struct weir_error local;
    int available = cpus_available(), gpus = options->gpu_count > 0 ? options->gpu_count : 1;
    struct inventory_options wanted = *options;
    struct inventory inventory = {.cpu_threads = options->cpu_threads < available ? options->cpu_threads : available};
    err = err ? err : &local;
    wanted.gpu_count = gpus;
    inventory.devices = calloc((size_t)gpus, sizeof(struct backend *));
    if (!inventory.devices)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the device list");
    enum weir_status status = WEIR_DEVICE;
    snprintf(inventory.reason, sizeof inventory.reason, "configured");
    if (options->choice != INVENTORY_CPU)
        status = open_gpus(&wanted, &inventory, err);
    if (options->choice == INVENTORY_AUTO) {
        inventory.fell_back = status != WEIR_OK;
        snprintf(inventory.reason, sizeof inventory.reason, "auto: %.380s",
                 inventory.fell_back ? err->text : "a GPU is there");
    }
    if (options->choice == INVENTORY_CUDA && status != WEIR_OK)
        status = weir_fail_in(err, "device cuda");
    else if (status != WEIR_OK)
        status = open_cpu(options, &inventory, err);
    if (status != WEIR_OK) {
        free(inventory.devices);
        return status;
    }
    *out = inventory;
    return WEIR_OK;
}

void inventory_release(struct inventory *inventory) {
    for (int i = 0; i < inventory->count; i++)
        inventory->devices[i]->ops->close(inventory->devices[i]);
    free(inventory->devices);
    memset(inventory, 0, sizeof *inventory);
}
