/* The runtime: what it does, what it refuses, and that planted bugs of its callers are caught. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/double/check.h"
#include "tests/double/sample_kernels.h"

enum { COUNT = 1000 };
static const size_t BYTES = COUNT * sizeof(float);

static void restart(unsigned delay_us, bool protect) {
    struct cuda_double_config config = cuda_double_defaults();
    config.delay_us = delay_us;
    config.protect = protect;
    cuda_double_reset(&config);
}

static void copies_and_fills_arrive(void) {
    cudaStream_t stream = check_stream();
    float *in = check_pinned_floats(COUNT), *out = check_pinned_floats(COUNT);
    float *x = check_device_floats(COUNT), *y = check_device_floats(COUNT);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    CHECK_OK(cudaMemcpyAsync(x, in, BYTES, cudaMemcpyHostToDevice, stream));
    CHECK_OK(cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDefault, stream));
    CHECK_OK(cudaMemsetAsync(y, 0, 8, stream));
    CHECK_OK(cudaMemcpyAsync(out, y, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++)
        CHECK(out[i] == (i < 2 ? 0 : (float)i));
    CHECK_OK(cudaMemcpy2DAsync(x, 40, y, 20, 20, 50, cudaMemcpyDeviceToDevice, stream));
    CHECK_OK(cudaMemcpyAsync(out, x, 60, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK(out[2] == 2 && out[5] == 5 && out[10] == 5 && out[14] == 9);
    check_clean();
}

/* Two streams, an event between them, another for the host. */
static void events_order_streams_and_the_host(void) {
    restart(300, false);
    cudaStream_t first = check_stream(), second = check_stream();
    cudaEvent_t made, home;
    CHECK_OK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    CHECK_OK(cudaEventCreateWithFlags(&home, cudaEventDisableTiming | cudaEventBlockingSync));
    float *in = check_pinned_floats(COUNT), *out = check_pinned_floats(COUNT);
    float *x = check_device_floats(COUNT), *y = check_device_floats(COUNT);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)(i + round);
        CHECK_OK(cudaMemcpyAsync(x, in, BYTES, cudaMemcpyHostToDevice, first));
        CHECK_OK(sample_scale(x, y, COUNT, 3.0f, first));
        CHECK_OK(cudaEventRecord(made, first));
        CHECK_OK(cudaStreamWaitEvent(second, made, cudaEventWaitDefault));
        CHECK_OK(cudaMemcpyAsync(out, y, BYTES, cudaMemcpyDeviceToHost, second));
        CHECK_OK(cudaEventRecord(home, second));
        cudaError_t ready;
        while (round % 2 == 0 && (ready = cudaEventQuery(home)) == cudaErrorNotReady)
            nanosleep(&(struct timespec){0, 50000}, NULL);
        CHECK_OK(cudaEventSynchronize(home));
        for (int i = 0; i < COUNT; i++)
            CHECK(out[i] == (float)(i + round) * 3 + 1);
    }
    (void)cudaGetLastError(); /* NotReady stays until it is fetched */
    CHECK_OK(cudaEventDestroy(made));
    CHECK_OK(cudaEventDestroy(home));
    check_clean();
}

static void a_query_that_is_not_ready_is_remembered(void) {
    cudaStream_t stream = check_stream();
    cudaEvent_t event;
    float *x = check_device_floats(4);
    CHECK_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK_OK(cudaEventQuery(event)); /* never recorded: ready */
    cuda_double_hang_operation("fill", 1);
    CHECK_OK(cudaMemsetAsync(x, 0, 16, stream));
    CHECK_OK(cudaEventRecord(event, stream));
    CHECK_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    CHECK_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
    CHECK_ERROR(cudaGetLastError(), cudaErrorNotReady);
    CHECK_OK(cudaGetLastError());
    cuda_double_release();
    CHECK_OK(cudaEventSynchronize(event));
    CHECK_OK(cudaEventDestroy(event));
    check_clean();
}

static cudaGraphExec_t captured(cudaStream_t stream, const float *in, float *x, float *out,
                                enum cudaStreamCaptureMode mode) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    CHECK_OK(cudaStreamBeginCapture(stream, mode));
    CHECK_OK(cudaMemcpyAsync(x, in, BYTES, cudaMemcpyHostToDevice, stream));
    CHECK_OK(sample_scale(x, x, COUNT, 2.0f, stream));
    CHECK_OK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamEndCapture(stream, &graph));
    CHECK_OK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(nodes == 3);
    CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_OK(cudaGraphDestroy(graph));
    CHECK_OK(cudaGraphUpload(exec, stream));
    return exec;
}

static void graphs_run_what_was_captured(void) {
    cudaStream_t stream = check_stream();
    float *in = check_pinned_floats(COUNT), *out = check_pinned_floats(COUNT), *x = check_device_floats(COUNT);
    cudaGraphExec_t exec = captured(stream, in, x, out, cudaStreamCaptureModeThreadLocal);
    CHECK(isnan(out[0])); /* capturing runs nothing */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)(i * (round + 1));
        CHECK_OK(cudaGraphLaunch(exec, stream));
        CHECK_OK(cudaStreamSynchronize(stream));
        for (int i = 0; i < COUNT; i++)
            CHECK(out[i] == (float)(i * (round + 1)) * 2 + 1);
    }
    CHECK(cuda_double_read().graph_launches == 3);
    CHECK(cuda_double_read().device_bytes == (4 << 20) + 4096 + 3 * 1024);
    CHECK_OK(cudaGraphExecDestroy(exec));
    check_clean();
}

/* Which unsafe calls break a capture of this thread's, by mode. */
static void unsafe_calls_break_captures(void) {
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    cudaStream_t stream = check_stream();
    for (int i = 0; i < 3; i++) {
        void *block;
        cudaGraph_t graph;
        enum cudaStreamCaptureStatus status;
        bool relaxed = modes[i] == cudaStreamCaptureModeRelaxed;
        CHECK_OK(cudaStreamBeginCapture(stream, modes[i]));
        CHECK_ERROR(cudaMalloc(&block, 16), relaxed ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
        CHECK_OK(cudaStreamIsCapturing(stream, &status));
        CHECK(status == (relaxed ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated));
        CHECK_ERROR(cudaStreamEndCapture(stream, &graph), relaxed ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
        CHECK(relaxed == (graph != NULL));
        if (relaxed) {
            CHECK_OK(cudaGraphDestroy(graph));
            CHECK_OK(cudaFree(block));
        }
    }
    CHECK(cuda_double_read().capture_violations == 2);
}

struct other_thread {
    cudaError_t error;
    void *block;
};

static void *allocate_elsewhere(void *argument) {
    struct other_thread *other = argument;
    other->error = cudaMalloc(&other->block, 16);
    return NULL;
}

static void only_a_global_capture_forbids_other_threads(void) {
    cudaStream_t stream = check_stream();
    for (int global = 0; global < 2; global++) {
        pthread_t thread;
        cudaGraph_t graph;
        struct other_thread other;
        CHECK_OK(
            cudaStreamBeginCapture(stream, global ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
        CHECK(pthread_create(&thread, NULL, allocate_elsewhere, &other) == 0);
        pthread_join(thread, NULL);
        CHECK_ERROR(other.error, global ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
        CHECK_ERROR(cudaStreamEndCapture(stream, &graph), global ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
        if (!global) {
            CHECK_OK(cudaGraphDestroy(graph));
            CHECK_OK(cudaFree(other.block));
        }
    }
}

static void memory_ends_at_its_budget(void) {
    struct cuda_double_config config = cuda_double_defaults();
    config.memory_bytes = 8 << 20;
    cuda_double_reset(&config);
    size_t left, total;
    void *first, *second;
    CHECK_OK(cudaSetDevice(0));
    CHECK_OK(cudaMemGetInfo(&left, &total));
    CHECK(total == 8 << 20 && left == 4 << 20);
    CHECK_OK(cudaMalloc(&first, 3 << 20));
    CHECK_ERROR(cudaMalloc(&second, 2 << 20), cudaErrorMemoryAllocation);
    CHECK_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK_OK(cudaGetLastError());
    CHECK_OK(cudaFree(first));
    CHECK_OK(cudaMalloc(&second, 4 << 20));
    CHECK_OK(cudaFree(second));
    CHECK(cuda_double_read().device_peak_bytes == 8 << 20);
    check_clean();
}

static void pools_give_and_take_in_stream_order(void) {
    cudaStream_t stream = check_stream();
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    cudaMemPool_t pool;
    void *block, *other;
    CHECK_OK(cudaMemPoolCreate(&pool, &props));
    CHECK_OK(cudaMallocFromPoolAsync(&block, BYTES, pool, stream));
    CHECK_OK(cudaMallocAsync(&other, BYTES, stream));
    CHECK_OK(cudaMemsetAsync(block, 0, BYTES, stream));
    CHECK_OK(cudaFreeAsync(block, stream));
    CHECK_OK(cudaFreeAsync(other, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK(cuda_double_read().device_blocks == 0);
    CHECK_OK(cudaMemPoolDestroy(pool));
    check_clean();
}

static void machines_without_a_usable_device_say_why(void) {
    struct cuda_double_config config = cuda_double_defaults();
    int count = 77, version = -1;
    config.driver_version = 0;
    cuda_double_reset(&config);
    CHECK_ERROR(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    CHECK_OK(cudaDriverGetVersion(&version));
    CHECK(count == 77 && version == 0);
    config.driver_version = 12080;
    cuda_double_reset(&config);
    CHECK_ERROR(cudaSetDevice(0), cudaErrorInsufficientDriver);
    config = cuda_double_defaults();
    config.devices = 0;
    cuda_double_reset(&config);
    CHECK_ERROR(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    config.devices = 1;
    config.initial_error = cudaErrorStubLibrary;
    cuda_double_reset(&config);
    CHECK_ERROR(cudaGetDeviceCount(&count), cudaErrorStubLibrary);
    CHECK_ERROR(cudaGetLastError(), cudaErrorStubLibrary);
}

static void devices_are_apart(void) {
    struct cuda_double_config config = cuda_double_defaults();
    struct cudaDeviceProp properties;
    char bus[32];
    int device = -1;
    config.devices = 2;
    cuda_double_reset(&config);
    float *x = check_device_floats(4);
    cudaStream_t stream = check_stream();
    CHECK_OK(cudaGetDeviceProperties(&properties, 1));
    CHECK(strcmp(properties.name, "SIMULATED GPU 1") == 0 && properties.major == 9);
    CHECK_OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
    CHECK(strcmp(bus, "0000:02:00.0") == 0);
    CHECK_OK(cudaDeviceGetByPCIBusId(&device, bus));
    CHECK(device == 1);
    cuda_double_fail_operation("fill", 1, cudaErrorIllegalAddress);
    CHECK_OK(cudaMemsetAsync(x, 0, 16, stream));
    CHECK_ERROR(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    CHECK_ERROR(cudaGetDevice(&device), cudaErrorIllegalAddress);
    CHECK_ERROR(cudaSetDevice(2), cudaErrorIllegalAddress);
}

/* After an error that stays every call fails, frees included, and what is queued does not run. */
static void sticky_errors_stay(void) {
    cudaStream_t stream = check_stream();
    cudaEvent_t event;
    float *x = check_device_floats(COUNT), *out = check_pinned_floats(COUNT);
    CHECK_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cuda_double_fail_operation("scale", 2, cudaErrorIllegalAddress);
    CHECK_OK(sample_scale(x, x, COUNT, 1, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    cudaError_t launched = sample_scale(x, x, COUNT, 1, stream);
    CHECK(launched == cudaSuccess || launched == cudaErrorIllegalAddress);
    (void)cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, stream);
    (void)cudaEventRecord(event, stream);
    CHECK_ERROR(cudaEventSynchronize(event), cudaErrorIllegalAddress);
    CHECK_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    CHECK_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    CHECK_ERROR(cudaFree(x), cudaErrorIllegalAddress);
    CHECK_ERROR(sample_scale(x, x, COUNT, 1, stream), cudaErrorIllegalAddress);
    CHECK(isnan(out[0]));
}

static void calls_fail_as_planned(void) {
    void *block;
    cuda_double_fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
    CHECK_OK(cudaMalloc(&block, 16));
    CHECK_OK(cudaFree(block));
    CHECK_ERROR(cudaMalloc(&block, 16), cudaErrorMemoryAllocation);
    CHECK(block == NULL && cuda_double_calls("cudaMalloc") == 2);
    CHECK_OK(cudaMalloc(&block, 16));
    cuda_double_fail_call("*", 1, cudaErrorUnknown);
    CHECK_ERROR(cudaFree(block), cudaErrorUnknown);
    CHECK_OK(cudaFree(block));
    check_clean();
}

static void count_call(void *argument) {
    int *calls = argument;
    ++*calls;
}

static void call_cuda(void *argument) {
    cudaError_t *error = argument;
    int device;
    *error = cudaGetDevice(&device);
}

static void host_functions_run_and_must_not_call_cuda(void) {
    cudaStream_t stream = check_stream();
    int calls = 0;
    cudaError_t error = cudaSuccess;
    CHECK_OK(cudaLaunchHostFunc(stream, count_call, &calls));
    CHECK_OK(cudaLaunchHostFunc(stream, call_cuda, &error));
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK(calls == 1);
    CHECK_ERROR(error, cudaErrorNotPermitted);
    CHECK(cuda_double_read().calls_in_host_function == 1);
}

static void misuse_is_counted(void) {
    static float pageable[COUNT];
    cudaStream_t stream = check_stream(), blocking;
    float *x = check_device_floats(COUNT);
    CHECK_OK(cudaMemcpyAsync(x, pageable, BYTES, cudaMemcpyHostToDevice, stream));
    CHECK_ERROR(cudaMemcpyAsync(x, pageable, BYTES + 4, cudaMemcpyHostToDevice, stream), cudaErrorInvalidValue);
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK_OK(cudaMemcpy(x, pageable, BYTES, cudaMemcpyHostToDevice));
    CHECK_OK(cudaStreamCreate(&blocking));
    CHECK_OK(cudaFree(x));
    CHECK_ERROR(cudaFree(x), cudaErrorInvalidValue);
    CHECK_ERROR(cudaFreeHost(pageable), cudaErrorInvalidValue);
    struct cuda_double_counts counts = cuda_double_read();
    CHECK(counts.pageable_copies == 1 && counts.out_of_bounds == 1 && counts.blocking_streams == 1);
    CHECK(counts.legacy_stream_uses == 2 && counts.wrong_frees == 2);
}

static void what_is_left_is_counted(void) {
    cudaStream_t stream = check_stream();
    float *in = check_pinned_floats(COUNT), *out = check_pinned_floats(COUNT), *x = check_device_floats(COUNT);
    cudaGraphExec_t exec = captured(stream, in, x, out, cudaStreamCaptureModeRelaxed);
    struct cuda_double_counts counts = cuda_double_read();
    CHECK(counts.streams == 1 && counts.graphs == 0 && counts.graph_execs == 1 && counts.device_blocks == 1);
    CHECK(counts.pinned_blocks == 2 && counts.pinned_bytes == 2 * BYTES && counts.events == 0);
    CHECK_OK(cudaGraphExecDestroy(exec));
    check_clean();
}

#include "tests/double/test_runtime_bugs.h"

int main(int argc, char **argv) {
    static const struct check_test tests[] = {
        {"copies and fills arrive", copies_and_fills_arrive},
        {"events order streams and the host", events_order_streams_and_the_host},
        {"a query that is not ready is remembered as an error", a_query_that_is_not_ready_is_remembered},
        {"a graph runs what was captured, on what the buffers then hold", graphs_run_what_was_captured},
        {"an unsafe call breaks a capture, but a relaxed one", unsafe_calls_break_captures},
        {"only a global capture forbids other threads' calls", only_a_global_capture_forbids_other_threads},
        {"memory ends at its budget, context and graphs included", memory_ends_at_its_budget},
        {"pools give and take in the stream's order", pools_give_and_take_in_stream_order},
        {"a machine without a usable device says why", machines_without_a_usable_device_say_why},
        {"each device has its own name, bus and errors", devices_are_apart},
        {"an error of the device stays", sticky_errors_stay},
        {"the nth call fails as planned", calls_fail_as_planned},
        {"a host function runs, and may not call CUDA", host_functions_run_and_must_not_call_cuda},
        {"misuse is counted", misuse_is_counted},
        {"what is left is counted", what_is_left_is_counted},
        {NULL, NULL},
    };
    return check_main(argc, argv, tests, runtime_bugs);
}
