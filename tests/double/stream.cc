/* Streams as threads, events, host functions. */
#include "tests/double/core.h"

#include <cstring>

extern thread_local bool double_in_host_function;

/* Does a failure planned for this name, or for any, come now? Lock held. */
static bool failure_due(const std::string &name, int *error) {
    for (const std::string &key : {name, std::string("*")}) {
        auto found = core.failing_operations.find(key);
        if (found != core.failing_operations.end() && --found->second.nth == 0) {
            *error = found->second.error;
            core.failing_operations.erase(found);
            return true;
        }
    }
    return false;
}

static bool hang_due(const std::string &name) {
    for (const std::string &key : {name, std::string("*")}) {
        auto found = core.hanging_operations.find(key);
        if (found != core.hanging_operations.end() && --found->second == 0) {
            core.hanging_operations.erase(found);
            return true;
        }
    }
    return false;
}

/* Lock held, let go of while the operation runs. */
static void operation_run(CUstream_st *stream, queued_operation *operation) {
    const operation_node &node = operation->node;
    device_state &device = core.devices[stream->device];
    int error = 0;
    sync_acquire(&operation->sync);
    if (!node.host && core.config.delay_us != 0) {
        core.lock.unlock();
        core_sleep_us(core_random() % core.config.delay_us);
        core.lock.lock();
    }
    while (!node.host && device.hangs && !core.released)
        core.lock.wait();
    if (device.sticky != 0)
        return;
    bool planned = !node.host && core_plans_hold();
    if (planned && hang_due(node.name)) {
        device.hangs = true;
        while (!core.released)
            core.lock.wait();
        device.hangs = false;
    }
    if (planned && failure_due(node.name, &error)) {
        device.sticky = error;
        return;
    }
    core.counts.operations++;
    if (!node.host)
        memory_open();
    core.lock.unlock();
    node.run();
    core.lock.lock();
    if (!node.host)
        memory_close();
    sync_release(&stream->sync);
}

static void *stream_run(void *argument) {
    CUstream_st *stream = static_cast<CUstream_st *>(argument);
    core_guard guard;
    for (;;) {
        while (stream->queue.empty() && !stream->stop)
            core.lock.wait();
        if (stream->queue.empty())
            break;
        queued_operation *operation = stream->queue.front();
        operation_run(stream, operation);
        stream->queue.pop_front();
        stream->done++;
        delete operation;
        core.lock.wake();
    }
    while (stream->waiters != 0)
        core.lock.wait();
    if (stream->captured != nullptr)
        delete stream->captured->graph;
    delete stream->captured;
    delete stream;
    core.threads--;
    core.lock.wake();
    return nullptr;
}

/* Detached, for joining would be an ordering that CUDA does not promise. Lock held. */
static CUstream_st *stream_make(int device, unsigned flags) {
    CUstream_st *stream = new CUstream_st{};
    stream->device = device;
    stream->flags = flags;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int failed = pthread_create(&thread, &detached, stream_run, stream);
    pthread_attr_destroy(&detached);
    if (failed != 0) {
        delete stream;
        return nullptr;
    }
    core.streams.insert(stream);
    core.threads++;
    return stream;
}

CUstream_st *stream_find(cudaStream_t stream) {
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
        device_state &device = core.devices[core_current_device()];
        core.counts.legacy_stream_uses++;
        if (device.legacy == nullptr)
            device.legacy = stream_make(core_current_device(), cudaStreamDefault);
        return device.legacy;
    }
    return core.streams.count(stream) != 0 ? stream : nullptr;
}

/* The default stream would wait for a stream that is being captured, unless that is a non-blocking one. */
static bool legacy_breaks_capture(const CUstream_st *legacy) {
    bool broke = false;
    for (CUstream_st *stream : core.streams) {
        if (stream->captured == nullptr || stream->device != legacy->device || (stream->flags & cudaStreamNonBlocking))
            continue;
        stream->captured->invalid = true;
        core.counts.capture_violations++;
        broke = true;
    }
    return broke;
}

cudaError_t stream_enqueue(cudaStream_t handle, const std::vector<operation_node> &nodes) {
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (stream->captured != nullptr) {
        if (stream->captured->invalid)
            return cudaErrorStreamCaptureInvalidated;
        for (const operation_node &node : nodes)
            stream->captured->graph->nodes.push_back(node);
        return cudaSuccess;
    }
    if (stream == core.devices[stream->device].legacy && legacy_breaks_capture(stream))
        return cudaErrorStreamCaptureImplicit;
    if (core.devices[stream->device].sticky != 0)
        return static_cast<cudaError_t>(core.devices[stream->device].sticky);
    for (const operation_node &node : nodes) {
        queued_operation *operation = new queued_operation{node, 0};
        sync_release(&operation->sync);
        stream->queue.push_back(operation);
        stream->enqueued++;
    }
    core.lock.wake();
    return cudaSuccess;
}

cudaError_t stream_enqueue(cudaStream_t stream, const char *name, bool host, std::function<void()> run) {
    return stream_enqueue(stream, {operation_node{name, host, run}});
}

cudaError_t cuda_double_launch(const char *name, cudaStream_t stream, std::function<void()> run) {
    cudaError_t error = core_enter("cudaLaunchKernel");
    if (error != cudaSuccess)
        return error;
    {
        core_guard guard;
        core.counts.kernels++;
        bool named = stream != nullptr && core.streams.count(stream) != 0;
        if (named && stream->device != core_current_device())
            return cudaErrorInvalidResourceHandle;
    }
    return stream_enqueue(stream, name, false, run);
}

cudaError_t stream_wait(CUstream_st *stream) {
    unsigned long until = stream->enqueued;
    const int &sticky = core.devices[stream->device].sticky;
    core.counts.waits++;
    stream->waiters++;
    while (stream->done < until && sticky == 0)
        core.lock.wait();
    if (sticky == 0)
        sync_acquire(&stream->sync);
    stream->waiters--;
    core.lock.wake();
    return static_cast<cudaError_t>(sticky);
}

cudaError_t stream_wait_device(int device) {
    std::vector<CUstream_st *> all(core.streams.begin(), core.streams.end());
    for (CUstream_st *stream : all) {
        if (stream->device != device || core.streams.count(stream) == 0)
            continue;
        cudaError_t error = stream_wait(stream);
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

/* Returns at once; the stream's work goes on to its end, and its thread then deletes it. Lock held. */
static void stream_drop(CUstream_st *stream) {
    stream->stop = true;
    core.streams.erase(stream);
    core.lock.wake();
}

void stream_end_all(void) {
    core_guard guard;
    core.released = true;
    for (device_state &device : core.devices) {
        device.sticky = cudaErrorUnknown; /* what is queued does not run */
        device.legacy = nullptr;
    }
    while (!core.streams.empty())
        stream_drop(*core.streams.begin());
    while (core.threads != 0)
        core.lock.wait();
}

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int) {
    CORE_ENTER();
    core_guard guard;
    *out = stream_make(core_current_device(), flags);
    if (*out == nullptr)
        return core_error(cudaErrorMemoryAllocation);
    core.counts.streams++;
    if (!(flags & cudaStreamNonBlocking))
        core.counts.blocking_streams++;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
    CORE_ENTER();
    return cudaStreamCreateWithPriority(out, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *out) {
    CORE_ENTER();
    return cudaStreamCreateWithPriority(out, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    CORE_ENTER();
    core_guard guard;
    if (core.streams.count(stream) == 0 || stream == core.devices[stream->device].legacy) {
        core.counts.wrong_frees++;
        return core_error(cudaErrorInvalidResourceHandle);
    }
    core.counts.streams--;
    stream_drop(stream);
    return cudaSuccess;
}

/* Waiting for a stream that is being captured, or asking after it, breaks the capture. Lock held. */
static cudaError_t check_not_captured(CUstream_st *stream) {
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (stream->captured == nullptr)
        return cudaSuccess;
    stream->captured->invalid = true;
    core.counts.capture_violations++;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    CORE_ENTER();
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    cudaError_t error = check_not_captured(stream);
    return core_error(error != cudaSuccess ? error : stream_wait(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    CORE_ENTER();
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    cudaError_t error = check_not_captured(stream);
    if (error == cudaSuccess && stream->done < stream->enqueued)
        error = cudaErrorNotReady;
    if (error == cudaSuccess)
        sync_acquire(&stream->sync);
    return core_error(error);
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags) {
    CORE_ENTER();
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    if (stream == nullptr)
        return core_error(cudaErrorInvalidResourceHandle);
    *flags = stream->flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    if (error != cudaSuccess)
        return core_error(error);
    core_guard guard;
    return core_error(stream_wait_device(core_current_device()));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
    CORE_ENTER();
    return core_error(stream_enqueue(stream, "host function", true, [function, argument] {
        double_in_host_function = true;
        function(argument);
        double_in_host_function = false;
    }));
}
}
