/* Copies and fills. */
#include "tests/double/core.h"

#include <cstring>

/* rows of `bytes`, the starts of two of them pitch apart; one row: a plain copy. */
struct span2d {
    char *at;
    size_t pitch;
};

static size_t span_bytes(size_t pitch, size_t bytes, size_t rows) {
    return rows == 0 || bytes == 0 ? 0 : (rows - 1) * pitch + bytes;
}

/* What kind it is, where the caller leaves that to the runtime. Lock held. */
static cudaMemcpyKind kind_of(const void *to, const void *from) {
    bool to_device = memory_holds(core.device_blocks, to, 1), from_device = memory_holds(core.device_blocks, from, 1);
    if (to_device)
        return from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

/* Checks both ends; counts pageable memory. Lock held. */
static cudaError_t check_ends(span2d to, span2d from, size_t bytes, size_t rows, cudaMemcpyKind kind) {
    size_t to_bytes = span_bytes(to.pitch, bytes, rows), from_bytes = span_bytes(from.pitch, bytes, rows);
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if ((to_device && !memory_holds(core.device_blocks, to.at, to_bytes)) ||
        (from_device && !memory_holds(core.device_blocks, from.at, from_bytes))) {
        core.counts.out_of_bounds++;
        return cudaErrorInvalidValue;
    }
    if ((!to_device && !memory_holds(core.pinned_blocks, to.at, to_bytes)) ||
        (!from_device && !memory_holds(core.pinned_blocks, from.at, from_bytes)))
        core.counts.pageable_copies++;
    return cudaSuccess;
}

static cudaError_t copy(span2d to, span2d from, size_t bytes, size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
    unsigned delay_us;
    {
        core_guard guard;
        if (kind == cudaMemcpyDefault)
            kind = kind_of(to.at, from.at);
        cudaError_t error = check_ends(to, from, bytes, rows, kind);
        if (error != cudaSuccess)
            return error;
        delay_us = core.config.delay_us;
    }
    bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    const char *name = kind == cudaMemcpyHostToDevice ? "copy to device" : to_host ? "copy to host" : "copy on device";
    return stream_enqueue(stream, name, false, [=] {
        if (to_host && delay_us != 0) { /* the host's memory changes at some time before the end */
            for (size_t row = 0; row < rows; row++)
                memset(to.at + row * to.pitch, 0xFF, bytes);
            core_sleep_us(core_random() % delay_us);
        }
        for (size_t row = 0; row < rows; row++)
            memcpy(to.at + row * to.pitch, from.at + row * from.pitch, bytes);
    });
}

static span2d span_of(const void *at, size_t pitch) {
    return span2d{static_cast<char *>(const_cast<void *>(at)), pitch};
}

static cudaError_t fill(void *at, int value, size_t bytes, cudaStream_t stream) {
    {
        core_guard guard;
        if (!memory_holds(core.device_blocks, at, bytes) && !memory_holds(core.pinned_blocks, at, bytes)) {
            core.counts.out_of_bounds++;
            return cudaErrorInvalidValue;
        }
    }
    return stream_enqueue(stream, "fill", false, [=] { memset(at, value, bytes); });
}

static cudaError_t wait_for(cudaStream_t handle) {
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    return stream_wait(stream);
}

extern "C" {
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    CORE_ENTER();
    return core_error(copy(span_of(to, bytes), span_of(from, bytes), bytes, 1, kind, stream));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    CORE_ENTER();
    if (width > to_pitch || width > from_pitch)
        return core_error(cudaErrorInvalidPitchValue);
    return core_error(copy(span_of(to, to_pitch), span_of(from, from_pitch), width, height, kind, stream));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    if (error == cudaSuccess) {
        unsigned long pageable;
        {
            core_guard guard;
            pageable = core.counts.pageable_copies;
        }
        error = copy(span_of(to, bytes), span_of(from, bytes), bytes, 1, kind, nullptr);
        core_guard guard;
        core.counts.pageable_copies = pageable; /* a copy that waits may take any memory */
    }
    return core_error(error != cudaSuccess ? error : wait_for(nullptr));
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream) {
    CORE_ENTER();
    return core_error(fill(at, value, bytes, stream));
}

cudaError_t cudaMemset(void *at, int value, size_t bytes) {
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    return core_error(error != cudaSuccess ? error : fill(at, value, bytes, nullptr));
}
}
