/* A CUDA module that breaks: it opens weir_cuda.so and passes everything on to it, but before one of the batches it
 * launches a kernel that writes to a bad address, so that the device's context is lost as after a real fault. For
 * loadtest/gpu_check.py, never installed. Environment: GPU_FAULT_MODULE, the module to open; GPU_FAULT_AFTER, batches
 * that work first. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/device/cuda/weir_cuda.h"
#include "kernels/cuda/cuda.h"

enum { BAD_ADDRESS = 16, COUNT = 1024 };

static const struct backend_ops *inner;
static struct backend_ops own;
static atomic_long left;

static enum weir_status submit(struct backend_model *model, int slot, struct weir_error *err) {
    const struct unary relu = {.kind = UNARY_RELU};
    cudaStream_t stream;
    if (atomic_fetch_sub(&left, 1) == 0 && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess) {
        (void)cuda_apply(&relu, (float *)(uintptr_t)BAD_ADDRESS, COUNT, stream);
        (void)cudaStreamSynchronize(stream);
    }
    return inner->submit(model, slot, err);
}

uint64_t weir_cuda_abi(void) {
    return weir_cuda_layout();
}

static void *open_module(struct weir_error *err) {
    const char *path = getenv("GPU_FAULT_MODULE");
    void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (!module)
        weir_fail(err, WEIR_DEVICE, "GPU_FAULT_MODULE: %.200s", path ? dlerror() : "it is not set");
    return module;
}

enum weir_status weir_cuda_open(const struct backend_options *options, int device, struct backend **out,
                                struct weir_error *err) {
    enum weir_status (*open)(const struct backend_options *options, int device, struct backend **out,
                             struct weir_error *err);
    const char *after = getenv("GPU_FAULT_AFTER");
    void *module = open_module(err);
    if (!module)
        return WEIR_DEVICE;
    *(void **)&open = dlsym(module, "weir_cuda_open");
    enum weir_status status = open ? open(options, device, out, err) : weir_fail(err, WEIR_DEVICE, "no module");
    if (status != WEIR_OK)
        return status;
    atomic_store(&left, after ? strtol(after, NULL, 10) : 0);
    inner = (*out)->ops;
    own = *inner;
    own.submit = submit;
    (*out)->ops = &own;
    return WEIR_OK;
}

enum weir_status weir_cuda_lacks(struct plan *plan, weir_cuda_lack tell, void *context, struct weir_error *err) {
    enum weir_status (*lacks)(struct plan * plan, weir_cuda_lack tell, void *context, struct weir_error *err);
    void *module = open_module(err);
    if (!module)
        return WEIR_DEVICE;
    *(void **)&lacks = dlsym(module, "weir_cuda_lacks");
    return lacks ? lacks(plan, tell, context, err) : weir_fail(err, WEIR_DEVICE, "no module");
}
