#include "engine/device/cuda/cuda_errors.h"

#include <stdio.h>

bool cuda_errors_is_sticky(cudaError_t code) {
    switch (code) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

enum weir_status cuda_errors_fail(struct cuda_errors *errors, cudaError_t code, const char *what,
                                  struct weir_error *err) {
    enum weir_status status = code == cudaErrorMemoryAllocation ? WEIR_NO_MEMORY : WEIR_DEVICE;
    char text[sizeof errors->cause];
    snprintf(text, sizeof text, "%s: %s, %s", what, cudaGetErrorName(code), cudaGetErrorString(code));
    if (cuda_errors_is_sticky(code)) {
        cuda_errors_lose(errors, text);
        status = WEIR_DEVICE_LOST;
    } else {
        (void)cudaGetLastError();
    }
    return weir_fail(err, status, "%s", text);
}

enum weir_status cuda_errors_fail_lt(struct cuda_errors *errors, cublasStatus_t code, const char *what,
                                     struct weir_error *err) {
    cudaError_t beneath = cudaPeekAtLastError();
    bool fits = code == CUBLAS_STATUS_ALLOC_FAILED ? cuda_errors_is_sticky(beneath) : beneath != cudaSuccess;
    if (fits)
        return cuda_errors_fail(errors, beneath, what, err);
    return weir_fail(err, code == CUBLAS_STATUS_ALLOC_FAILED ? WEIR_NO_MEMORY : WEIR_DEVICE, "%s: cuBLASLt, %s", what,
                     cublasLtGetStatusString(code));
}

enum weir_status cuda_errors_check(struct cuda_errors *errors, cudaError_t code, const char *what,
                                   struct weir_error *err) {
    return code == cudaSuccess ? WEIR_OK : cuda_errors_fail(errors, code, what, err);
}

static enum weir_status explain_driver(struct weir_error *err) {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return weir_fail(err, WEIR_DEVICE,
                         "no NVIDIA driver: libcuda.so.1 is not installed, or no device is visible "
                         "to this container");
    return weir_fail(err, WEIR_DEVICE, "the NVIDIA driver is too old: it knows CUDA %d.%d, and CUDA %d.%d is needed",
                     driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

enum weir_status cuda_errors_explain(cudaError_t code, struct weir_error *err) {
    (void)cudaGetLastError();
    switch (code) {
    case cudaErrorInsufficientDriver:
        return explain_driver(err);
    case cudaErrorNoDevice:
        return weir_fail(err, WEIR_DEVICE, "the NVIDIA driver sees no device");
    case cudaErrorStubLibrary:
        return weir_fail(err, WEIR_DEVICE,
                         "libcuda.so.1 is the toolkit's stub library: take its folder off the "
                         "library path");
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
        return weir_fail(err, WEIR_DEVICE, "the module has no kernel image for this device (%s)",
                         cudaGetErrorName(code));
    case cudaErrorMemoryAllocation:
        return weir_fail(err, WEIR_NO_MEMORY, "the device has no free memory at all");
    case cudaErrorNotReady:
        return weir_fail(err, WEIR_DEVICE, "the device hangs: it has not ended a first kernel");
    default:
        return weir_fail(err, WEIR_DEVICE, "the device cannot be used: %s, %s", cudaGetErrorName(code),
                         cudaGetErrorString(code));
    }
}

void cuda_errors_lose(struct cuda_errors *errors, const char *cause) {
    if (atomic_exchange(&errors->told, true))
        return; /* whoever was first is about to say so */
    snprintf(errors->cause, sizeof errors->cause, "%s", cause);
    atomic_store(&errors->state, BACKEND_LOST);
}

bool cuda_errors_is_lost(const struct cuda_errors *errors) {
    return atomic_load(&errors->state) == BACKEND_LOST;
}

void cuda_errors_note(struct cuda_errors *errors, bool failed) {
    int now = atomic_load(&errors->state);
    while (now != BACKEND_LOST &&
           !atomic_compare_exchange_weak(&errors->state, &now, failed ? BACKEND_DEGRADED : BACKEND_OK))
        ;
}
