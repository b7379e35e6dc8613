/* Capture and graphs. A capture is of one stream; its graph is a list that runs in order. */
#include "tests/double/core.h"

static thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/* The rule of cudaThreadExchangeStreamCaptureMode: which captures forbid this thread's unsafe calls. */
static bool forbids(const capture *captured) {
    bool own = pthread_equal(captured->thread, pthread_self()) != 0;
    if (thread_mode == cudaStreamCaptureModeRelaxed || captured->mode == cudaStreamCaptureModeRelaxed)
        return false;
    return own || (thread_mode == cudaStreamCaptureModeGlobal && captured->mode == cudaStreamCaptureModeGlobal);
}

cudaError_t capture_check_unsafe(void) {
    core_guard guard;
    cudaError_t error = cudaSuccess;
    for (CUstream_st *stream : core.streams) {
        if (stream->captured == nullptr || !forbids(stream->captured))
            continue;
        stream->captured->invalid = true;
        core.counts.capture_violations++;
        error = cudaErrorStreamCaptureUnsupported;
    }
    return error;
}

/* Queued after the graph's nodes. */
static void exec_ended(CUgraphExec_st *exec) {
    core_guard guard;
    exec->running--;
    core.lock.wake();
}

extern "C" {
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    CORE_ENTER();
    cudaStreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    CORE_ENTER();
    core_guard guard;
    if (stream == nullptr || stream == cudaStreamLegacy)
        return core_error(cudaErrorStreamCaptureUnsupported);
    if (core.streams.count(stream) == 0)
        return core_error(cudaErrorInvalidResourceHandle);
    if (stream->captured != nullptr)
        return core_error(cudaErrorIllegalState);
    stream->captured = new capture{mode, pthread_self(), false, new CUgraph_st};
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
    *out = nullptr;
    CORE_ENTER();
    core_guard guard;
    if (core.streams.count(stream) == 0)
        return core_error(cudaErrorInvalidResourceHandle);
    capture *captured = stream->captured;
    if (captured == nullptr)
        return core_error(cudaErrorIllegalState);
    if (captured->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(captured->thread, pthread_self()))
        return core_error(cudaErrorStreamCaptureWrongThread);
    CUgraph_st *graph = captured->graph;
    bool invalid = captured->invalid;
    stream->captured = nullptr;
    delete captured;
    if (invalid) {
        delete graph;
        return core_error(cudaErrorStreamCaptureInvalidated);
    }
    core.graphs.insert(graph);
    core.counts.graphs++;
    *out = graph;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out) {
    CORE_ENTER();
    core_guard guard;
    if (core.streams.count(stream) == 0)
        return core_error(cudaErrorInvalidResourceHandle);
    const capture *captured = stream->captured;
    *out = captured == nullptr ? cudaStreamCaptureStatusNone
           : captured->invalid ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    CORE_ENTER();
    core_guard guard;
    if (core.graphs.count(graph) == 0 || nodes != nullptr) /* nodes as handles are not modelled */
        return core_error(cudaErrorInvalidValue);
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long) {
    *out = nullptr;
    CORE_ENTER();
    core_guard guard;
    if (core.graphs.count(graph) == 0)
        return core_error(cudaErrorInvalidValue);
    size_t bytes = graph->nodes.size() * core.config.graph_node_bytes;
    if (!core_take(core_current_device(), bytes))
        return core_error(cudaErrorMemoryAllocation);
    *out = new CUgraphExec_st{graph->nodes, bytes, core_current_device(), 0, nullptr};
    core.execs.insert(*out);
    core.counts.graph_execs++;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
    *out = nullptr;
    CORE_ENTER();
    return cudaGraphInstantiate(out, graph, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t handle) {
    CORE_ENTER();
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    bool known = stream != nullptr && core.execs.count(exec) != 0;
    return core_error(known ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
    CORE_ENTER();
    std::vector<operation_node> nodes;
    {
        core_guard guard;
        CUstream_st *stream = handle != nullptr ? stream_find(handle) : nullptr;
        if (core.execs.count(exec) == 0 || (handle != nullptr && stream == nullptr))
            return core_error(cudaErrorInvalidValue);
        if (stream != nullptr && stream->captured != nullptr) {
            stream->captured->invalid = true; /* graphs within graphs are not modelled */
            core.counts.capture_violations++;
            return core_error(cudaErrorStreamCaptureUnsupported);
        }
        core.counts.graph_launches++;
        if (exec->running != 0 && exec->last != stream)
            core.counts.overlapping_launches++;
        exec->running++;
        exec->last = stream;
        nodes = exec->nodes;
    }
    nodes.push_back(operation_node{"end of a graph", true, [exec] { exec_ended(exec); }});
    cudaError_t error = stream_enqueue(handle, nodes);
    if (error != cudaSuccess)
        exec_ended(exec);
    return core_error(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    CORE_ENTER();
    core_guard guard;
    if (core.graphs.count(graph) == 0) {
        core.counts.wrong_frees++;
        return core_error(cudaErrorInvalidValue);
    }
    core.graphs.erase(graph);
    core.counts.graphs--;
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    CORE_ENTER();
    core_guard guard;
    if (core.execs.count(exec) == 0) {
        core.counts.wrong_frees++;
        return core_error(cudaErrorInvalidValue);
    }
    core.execs.erase(exec);
    core.counts.graph_execs--;
    core_give_back(exec->device, exec->bytes);
    core.counts.busy_destroys += exec->running != 0;
    while (exec->running != 0 && core.devices[exec->device].sticky == 0)
        core.lock.wait();
    if (exec->running == 0)
        delete exec;
    return cudaSuccess;
}
}
