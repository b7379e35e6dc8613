/* Events. A record and a wait are operations of their streams. */
#include "tests/double/core.h"

/* Lock held. */
static event_state *event_find(cudaEvent_t event) {
    return core.events.count(event) != 0 ? event->state.get() : nullptr;
}

extern "C" {
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    CORE_ENTER();
    core_guard guard;
    CUevent_st *event = new CUevent_st;
    event->state = std::make_shared<event_state>();
    event->state->flags = flags;
    event->state->device = core_current_device();
    core.events.insert(event);
    core.counts.events++;
    *out = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
    CORE_ENTER();
    return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    CORE_ENTER();
    core_guard guard;
    if (event_find(event) == nullptr) {
        core.counts.wrong_frees++;
        return core_error(cudaErrorInvalidResourceHandle);
    }
    core.events.erase(event);
    core.counts.events--;
    delete event;
    return cudaSuccess;
}

/* What the stream does when the record's turn comes. */
static void event_arrive(const std::shared_ptr<event_state> &state, unsigned long record) {
    sync_release(&state->sync);
    core_guard guard;
    state->time_ms = core_now_ms();
    if (record > state->done)
        state->done = record;
    core.lock.wake();
}

/* A captured record is a mark within the graph, unless it is external: then it is a node that records at each launch.
 */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    CORE_ENTER();
    std::shared_ptr<event_state> state;
    unsigned long record = 0;
    bool external = (flags & cudaEventRecordExternal) != 0, captured = false;
    {
        core_guard guard;
        CUstream_st *stream = stream_find(handle);
        if (event_find(event) == nullptr || stream == nullptr || event->state->device != stream->device)
            return core_error(cudaErrorInvalidResourceHandle);
        state = event->state;
        captured = stream->captured != nullptr;
        state->captured_in = captured && !external ? stream : nullptr;
        if (captured && !external)
            return core_error(stream->captured->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
        if (!captured)
            record = ++state->recorded;
    }
    return core_error(stream_enqueue(handle, "record", true, [state, record, captured] {
        unsigned long number = record;
        if (captured) {
            core_guard guard;
            number = ++state->recorded;
        }
        event_arrive(state, number);
    }));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    CORE_ENTER();
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    if (error != cudaSuccess)
        return core_error(error);
    core_guard guard;
    event_state *state = event_find(event);
    if (state == nullptr)
        return core_error(cudaErrorInvalidResourceHandle);
    if (state->captured_in != nullptr)
        return core_error(cudaErrorCapturedEvent);
    if (state->done < state->recorded)
        return core_error(cudaErrorNotReady);
    sync_acquire(&state->sync);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    if (error != cudaSuccess)
        return core_error(error);
    core_guard guard;
    if (event_find(event) == nullptr)
        return core_error(cudaErrorInvalidResourceHandle);
    std::shared_ptr<event_state> state = event->state;
    if (state->captured_in != nullptr)
        return core_error(cudaErrorCapturedEvent);
    unsigned long until = state->recorded;
    const int &sticky = core.devices[state->device].sticky;
    core.counts.waits++;
    while (state->done < until && sticky == 0)
        core.lock.wait();
    if (sticky != 0)
        return core_error(static_cast<cudaError_t>(sticky));
    sync_acquire(&state->sync);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *out_ms, cudaEvent_t begin, cudaEvent_t end) {
    CORE_ENTER();
    core_guard guard;
    event_state *from = event_find(begin), *to = event_find(end);
    if (from == nullptr || to == nullptr || ((from->flags | to->flags) & cudaEventDisableTiming) != 0)
        return core_error(cudaErrorInvalidResourceHandle);
    if (from->recorded == 0 || to->recorded == 0)
        return core_error(cudaErrorInvalidResourceHandle);
    if (from->done < from->recorded || to->done < to->recorded)
        return core_error(cudaErrorNotReady);
    *out_ms = float(to->time_ms - from->time_ms);
    return cudaSuccess;
}

/* Captures of several streams by events are not modelled: NotSupported. */
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
    CORE_ENTER();
    std::shared_ptr<event_state> state;
    unsigned long until;
    {
        core_guard guard;
        CUstream_st *stream = stream_find(handle);
        if (event_find(event) == nullptr || stream == nullptr)
            return core_error(cudaErrorInvalidResourceHandle);
        state = event->state;
        if (state->captured_in != nullptr)
            return core_error(state->captured_in == stream ? cudaSuccess : cudaErrorNotSupported);
        if (stream->captured != nullptr && !(flags & cudaEventWaitExternal)) {
            stream->captured->invalid = true;
            core.counts.capture_violations++;
            return core_error(cudaErrorStreamCaptureIsolation);
        }
        until = state->recorded;
    }
    if (until == 0)
        return cudaSuccess;
    return core_error(stream_enqueue(handle, "wait", true, [state, until] {
        {
            core_guard guard;
            while (state->done < until && core.devices[state->device].sticky == 0)
                core.lock.wait();
        }
        sync_acquire(&state->sync);
    }));
}
}
