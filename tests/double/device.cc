/* Devices, versions, names of errors. */
#include "tests/double/core.h"

#include <cstdio>
#include <cstring>

static cudaError_t check_device(int device) {
    core_guard guard;
    return device >= 0 && device < core.config.devices ? cudaSuccess : cudaErrorInvalidDevice;
}

extern "C" {
cudaError_t cudaDriverGetVersion(int *out) {
    core_guard guard;
    *out = core.config.driver_version;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *out) {
    *out = CUDART_VERSION;
    return cudaSuccess;
}

/* As the real one, it does not write the count when it fails. */
cudaError_t cudaGetDeviceCount(int *out) {
    cudaError_t error = core_enter(__func__, false);
    if (error != cudaSuccess)
        return core_error(error);
    core_guard guard;
    *out = core.config.devices;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    cudaError_t error = core_enter(__func__, false);
    if (error == cudaSuccess)
        error = check_device(device);
    if (error != cudaSuccess)
        return core_error(error);
    core_set_current_device(device);
    return core_error(core_enter("a context"));
}

cudaError_t cudaGetDevice(int *out) {
    cudaError_t error = core_enter(__func__, false);
    *out = core_current_device();
    return core_error(error);
}

cudaError_t cudaSetDeviceFlags(unsigned) {
    return core_error(core_enter(__func__, false));
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
    cudaError_t error = core_enter(__func__, false);
    return core_error(error != cudaSuccess ? error : check_device(device));
}

cudaError_t cudaDeviceReset(void) {
    CORE_ENTER();
    core_guard guard;
    core.counts.device_resets++;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
    cudaError_t error = core_enter("cudaGetDeviceProperties", false);
    if (error == cudaSuccess)
        error = check_device(device);
    if (error != cudaSuccess)
        return core_error(error);
    memset(out, 0, sizeof *out);
    core_guard guard;
    snprintf(out->name, sizeof out->name, "SIMULATED GPU %d", device);
    out->totalGlobalMem = core.config.memory_bytes;
    out->major = core.config.major;
    out->minor = core.config.minor;
    out->multiProcessorCount = 132;
    out->maxThreadsPerBlock = 1024;
    out->maxThreadsPerMultiProcessor = 2048;
    out->sharedMemPerBlock = 48 * 1024;
    out->l2CacheSize = 50 << 20;
    out->warpSize = 32;
    out->unifiedAddressing = 1;
    out->canMapHostMemory = 1;
    out->concurrentKernels = 1;
    out->asyncEngineCount = 3;
    out->pciBusID = device + 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr attribute, int device) {
    cudaError_t error = core_enter(__func__, false);
    if (error == cudaSuccess)
        error = check_device(device);
    if (error != cudaSuccess)
        return core_error(error);
    core_guard guard;
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        *out = core.config.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *out = core.config.minor;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *out = 132;
        return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
        *out = 1024;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *out = 48 * 1024;
        return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
        *out = 1;
        return cudaSuccess;
    default:
        return core_error(cudaErrorInvalidValue);
    }
}

/* domain:bus:device.function; device 0 is on bus 1. */
cudaError_t cudaDeviceGetPCIBusId(char *out, int bytes, int device) {
    cudaError_t error = core_enter(__func__, false);
    if (error == cudaSuccess)
        error = check_device(device);
    if (error != cudaSuccess)
        return core_error(error);
    int written = snprintf(out, size_t(bytes), "0000:%02X:00.0", unsigned(device + 1));
    return core_error(written < bytes ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetByPCIBusId(int *out, const char *id) {
    cudaError_t error = core_enter(__func__, false);
    unsigned domain, bus;
    if (error == cudaSuccess && (sscanf(id, "%x:%x:", &domain, &bus) != 2 || domain != 0 || bus == 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = check_device(int(bus) - 1);
    if (error != cudaSuccess)
        return core_error(error);
    *out = int(bus) - 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    CORE_ENTER();
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

/* The names that tests and messages meet; others by number. */
const char *cudaGetErrorName(cudaError_t error) {
#define DEVICE_ERROR(name)                                                                                             \
    case name:                                                                                                         \
        return #name
    switch (error) {
        DEVICE_ERROR(cudaSuccess);
        DEVICE_ERROR(cudaErrorInvalidValue);
        DEVICE_ERROR(cudaErrorMemoryAllocation);
        DEVICE_ERROR(cudaErrorInvalidConfiguration);
        DEVICE_ERROR(cudaErrorInsufficientDriver);
        DEVICE_ERROR(cudaErrorNoDevice);
        DEVICE_ERROR(cudaErrorInvalidDevice);
        DEVICE_ERROR(cudaErrorNoKernelImageForDevice);
        DEVICE_ERROR(cudaErrorECCUncorrectable);
        DEVICE_ERROR(cudaErrorInvalidResourceHandle);
        DEVICE_ERROR(cudaErrorNotReady);
        DEVICE_ERROR(cudaErrorIllegalAddress);
        DEVICE_ERROR(cudaErrorLaunchTimeout);
        DEVICE_ERROR(cudaErrorAssert);
        DEVICE_ERROR(cudaErrorLaunchFailure);
        DEVICE_ERROR(cudaErrorNotPermitted);
        DEVICE_ERROR(cudaErrorNotSupported);
        DEVICE_ERROR(cudaErrorStreamCaptureUnsupported);
        DEVICE_ERROR(cudaErrorStreamCaptureInvalidated);
        DEVICE_ERROR(cudaErrorUnknown);
    default:
        static thread_local char text[32];
        snprintf(text, sizeof text, "cudaError %d", int(error));
        return text;
    }
#undef DEVICE_ERROR
}

const char *cudaGetErrorString(cudaError_t error) {
    static thread_local char text[64];
    snprintf(text, sizeof text, "simulated %s", cudaGetErrorName(error));
    return text;
}
}
