#include "engine/device/cuda/cuda_backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/device/cuda/cuda_load.h"
#include "engine/device/cuda/cuda_wait.h"

/* What cuBLAS recommends for a workspace. */
enum { WORKSPACE_BYTES = 4 << 20, WORKSPACE_HOPPER_BYTES = 32 << 20, HOPPER = 9, AMPERE = 8 };

static enum weir_status load(struct backend *backend, struct plan *plan, uint32_t max_rows, struct backend_model **out,
                             struct weir_error *err) {
    return cuda_load((struct cuda_backend *)backend, plan, max_rows, out, err);
}

static void report(const struct backend_model *model, struct backend_report *out) {
    *out = (struct backend_report){.invariance_tested = model->tested, .invariant = model->invariant};
    cuda_memory_plan_text(&model->memory, out->memory, sizeof out->memory);
}

static void close_backend(struct backend *backend) {
    free(backend);
}

static enum backend_state state(const struct backend *backend) {
    return (enum backend_state)atomic_load(&((const struct cuda_backend *)backend)->errors.state);
}

/* A launch of one number: the first moment at which a missing kernel image shows. A device that hangs over it keeps the
 * memory and the stream, for giving them back would wait for it. */
static cudaError_t try_kernel(int64_t patience_ns) {
    const struct unary relu = {.kind = UNARY_RELU};
    cudaStream_t stream = NULL;
    void *memory = NULL;
    cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), freed = cudaSuccess;
    if (code != cudaSuccess)
        return code;
    code = cudaMalloc(&memory, CUDA_ALIGNMENT);
    if (code == cudaSuccess) {
        code = cudaMemsetAsync(memory, 0, CUDA_ALIGNMENT, stream);
        if (code == cudaSuccess)
            code = cuda_apply(&relu, memory, 1, stream);
        if (code == cudaSuccess)
            code = cuda_wait_code(stream, patience_ns);
        if (code == cudaErrorNotReady)
            return code;
        freed = cudaFree(memory);
    }
    cudaError_t destroyed = cudaStreamDestroy(stream);
    return code != cudaSuccess ? code : freed != cudaSuccess ? freed : destroyed;
}

static enum weir_status check_options(const struct backend_options *options, int major, struct weir_error *err) {
    if (options->precision == BACKEND_INT8)
        return weir_fail(err, WEIR_UNSUPPORTED, "precision int8 is for the CPU: GPUs have fp32, tf32, fp16 and bf16");
    if ((options->precision == BACKEND_TF32 || options->precision == BACKEND_BF16) && major < AMPERE)
        return weir_fail(err, WEIR_UNSUPPORTED, "precision tf32 and bf16 need compute capability 8.0 or newer");
    return WEIR_OK;
}

static void describe(struct cuda_backend *cuda, const struct cudaDeviceProp *device) {
    static const char *const precisions[BACKEND_PRECISIONS] = {[BACKEND_FP32] = "",
                                                               [BACKEND_BF16] = ", bf16",
                                                               [BACKEND_INT8] = "",
                                                               [BACKEND_TF32] = ", tf32",
                                                               [BACKEND_FP16] = ", fp16"};
    static const char *const invariances[] = {
        [BACKEND_VARIANT] = "", [BACKEND_BUCKET] = ", buckets", [BACKEND_STRICT] = ", strict"};
    int driver = 0;
    size_t library = cublasLtGetVersion();
    (void)cudaDriverGetVersion(&driver);
    snprintf(cuda->backend.description, sizeof cuda->backend.description,
             "%.40s, sm_%d%d, driver CUDA %d.%d, cuBLASLt %zu.%zu.%zu%s%s", device->name, device->major % 1000,
             device->minor % 1000, driver / 1000 % 1000, driver % 1000 / 10, library / 10000 % 1000,
             library / 100 % 100, library % 100, precisions[cuda->options.precision],
             invariances[cuda->options.invariance]);
}

uint64_t weir_cuda_abi(void) {
    return weir_cuda_layout();
}

enum weir_status weir_cuda_lacks(struct plan *plan, weir_cuda_lack tell, void *context, struct weir_error *err) {
    struct weir_error local;
    return cuda_load_lacks(plan, tell, context, err ? err : &local);
}

enum weir_status weir_cuda_open(const struct backend_options *options, int device, struct backend **out,
                                struct weir_error *err) {
    static const struct backend_ops ops = {.name = "cuda",
                                           .load = load,
                                           .unload = cuda_load_release,
                                           .begin = cuda_model_begin,
                                           .input = cuda_model_input,
                                           .output = cuda_model_output,
                                           .output_shape = cuda_model_output_shape,
                                           .submit = cuda_model_submit,
                                           .wait = cuda_model_wait,
                                           .wait_loading = cuda_model_wait_loading,
                                           .report = report,
                                           .state = state,
                                           .close = close_backend};
    struct cudaDeviceProp properties;
    int count = 0; /* an error leaves it as it is */
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess)
        return cuda_errors_explain(code, err);
    if (device < 0 || device >= count)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no GPU %d: the driver sees %d", device, count);
    code = cudaSetDevice(device);
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&properties, device);
    if (code == cudaSuccess)
        code = try_kernel(options->patience_ns);
    if (code != cudaSuccess)
        return cuda_errors_explain(code, err);
    struct cuda_backend *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a GPU");
    cuda->backend.ops = &ops;
    cuda->backend.slot_count = CUDA_SLOTS;
    cuda->device = device;
    cuda->options = *options;
    cuda->errors.patience_ns = options->patience_ns;
    cuda->workspace_bytes = properties.major == HOPPER ? WORKSPACE_HOPPER_BYTES : WORKSPACE_BYTES;
    code = cudaDeviceGetPCIBusId(cuda->backend.bus_id, (int)sizeof cuda->backend.bus_id, device);
    enum weir_status status =
        code == cudaSuccess ? check_options(options, properties.major, err) : cuda_errors_explain(code, err);
    if (status != WEIR_OK) {
        free(cuda);
        return status;
    }
    describe(cuda, &properties);
    *out = &cuda->backend;
    return WEIR_OK;
}
