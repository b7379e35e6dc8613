/* What the CUDA runtime costs on this machine, whatever runs on it: launches, waits, copies, graphs.
 * usage: floor [REPETITIONS] */
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "tests/device/report.h"

enum { MOST_BYTES = 4 << 20, TINY = 32, FLUSH = 64, GRAPHS = 16, GRAPH_IN = 16384, GRAPH_OUT = 4096 };

static size_t repetitions = 2000;
static double times[REPORT_MOST_TIMES];
static cudaStream_t stream;
static cudaEvent_t spinning, blocking;
static float *device, *pinned, *mapped, *mapped_on_device;
static const struct unary relu = {.kind = UNARY_RELU};

static void tiny_kernel(void) {
    REPORT_CUDA(cuda_apply(&relu, device, TINY, stream));
}

static void synchronize(void) {
    REPORT_CUDA(cudaStreamSynchronize(stream));
}

static void wait_event(cudaEvent_t event) {
    REPORT_CUDA(cudaEventRecord(event, stream));
    REPORT_CUDA(cudaEventSynchronize(event));
}

static void wait_spinning(void) {
    wait_event(spinning);
}

static void wait_blocking(void) {
    wait_event(blocking);
}

/* Time of `what` and of `wait` behind it; with wait NULL of the call alone. */
static void measure(void (*what)(void), void (*wait)(void), const char *name) {
    for (size_t i = 0; i < repetitions; i++) {
        double began = report_now_us();
        what();
        if (wait)
            wait();
        times[i] = report_now_us() - began;
        if (!wait && i % FLUSH == FLUSH - 1)
            synchronize();
    }
    synchronize();
    report_times(times, repetitions, "%s", name);
}

static void take_memory(void) {
    size_t left, total;
    void *at;
    double began = report_now_us();
    REPORT_CUDA(cudaFree(NULL)); /* makes the context */
    report_row((report_now_us() - began) / 1e3, "ms", "making the context");
    REPORT_CUDA(cudaMemGetInfo(&left, &total));
    report_row((double)(total - left) / (1 << 20), "MiB", "in use with a context and nothing else");
    REPORT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    REPORT_CUDA(cudaEventCreateWithFlags(&spinning, cudaEventDisableTiming));
    REPORT_CUDA(cudaEventCreateWithFlags(&blocking, cudaEventDisableTiming | cudaEventBlockingSync));
    REPORT_CUDA(cudaMalloc(&at, MOST_BYTES));
    device = at;
    REPORT_CUDA(cudaHostAlloc(&at, MOST_BYTES, cudaHostAllocDefault));
    pinned = at;
    REPORT_CUDA(cudaHostAlloc(&at, MOST_BYTES, cudaHostAllocMapped));
    mapped = at;
    REPORT_CUDA(cudaHostGetDevicePointer(&at, mapped, 0));
    mapped_on_device = at;
    for (size_t i = 0; i < MOST_BYTES / sizeof *pinned; i++) /* zeros are faster than what people send */
        pinned[i] = mapped[i] = (float)(i * 2654435761u % 1000003) - 500000.0f;
    REPORT_CUDA(cudaMemcpyAsync(device, pinned, MOST_BYTES, cudaMemcpyHostToDevice, stream));
    synchronize();
}

static void measure_waits(void) {
    enum { KERNELS = 20 };
    size_t batches = repetitions / KERNELS + 1;
    measure(tiny_kernel, NULL, "launch call");
    measure(tiny_kernel, synchronize, "launch and wait for the stream");
    measure(tiny_kernel, wait_spinning, "launch and wait for a spinning event");
    measure(tiny_kernel, wait_blocking, "launch and wait for a blocking event");
    double cpu = report_cpu_us(), began = report_now_us();
    for (size_t i = 0; i < batches; i++) {
        for (int k = 0; k < KERNELS; k++)
            REPORT_CUDA(cuda_apply(&relu, device, MOST_BYTES / sizeof *device, stream));
        wait_blocking();
    }
    report_row(100 * (report_cpu_us() - cpu) / (report_now_us() - began), "%",
               "CPU of a thread in launches and blocking waits");
}

static _Atomic double called_us;

static void note_time(void *unused) {
    (void)unused;
    atomic_store(&called_us, report_now_us());
}

static void measure_host_function(void) {
    for (size_t i = 0; i < repetitions; i++) {
        atomic_store(&called_us, 0.0);
        double began = report_now_us();
        tiny_kernel();
        REPORT_CUDA(cudaLaunchHostFunc(stream, note_time, NULL));
        synchronize();
        times[i] = atomic_load(&called_us) - began;
    }
    report_times(times, repetitions, "launch until a host function runs");
}

static size_t copy_bytes;

static void copy_up(void) {
    REPORT_CUDA(cudaMemcpyAsync(device, pinned, copy_bytes, cudaMemcpyHostToDevice, stream));
}

static void copy_down(void) {
    REPORT_CUDA(cudaMemcpyAsync(pinned, device, copy_bytes, cudaMemcpyDeviceToHost, stream));
}

static void apply_copied(void) {
    copy_up();
    REPORT_CUDA(cuda_apply(&relu, device, copy_bytes / sizeof *device, stream));
    copy_down();
}

static void apply_mapped(void) {
    REPORT_CUDA(cuda_apply(&relu, mapped_on_device, copy_bytes / sizeof *device, stream));
}

static void measure_copies(void) {
    static const size_t sizes[] = {4 << 10, 16 << 10, 64 << 10, 1 << 20, MOST_BYTES};
    char name[100];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        copy_bytes = sizes[i];
        snprintf(name, sizeof name, "copy up, %zu KiB", copy_bytes >> 10);
        measure(copy_up, synchronize, name);
        snprintf(name, sizeof name, "copy down, %zu KiB", copy_bytes >> 10);
        measure(copy_down, synchronize, name);
        if (copy_bytes > 64 << 10)
            continue;
        snprintf(name, sizeof name, "kernel between copies, %zu KiB", copy_bytes >> 10);
        measure(apply_copied, wait_spinning, name);
        snprintf(name, sizeof name, "kernel on mapped memory, %zu KiB", copy_bytes >> 10);
        measure(apply_mapped, wait_spinning, name);
    }
    for (size_t i = 0; i < (64 << 10) / sizeof *mapped; i++)
        if (mapped[i] < 0)
            report_fail("mapped memory", "the kernel's results did not come back");
}

static int graph_kernels;
static cudaGraphExec_t graph;

static void enqueue_steps(void) {
    REPORT_CUDA(cudaMemcpyAsync(device, pinned, GRAPH_IN, cudaMemcpyHostToDevice, stream));
    for (int k = 0; k < graph_kernels; k++)
        tiny_kernel();
    REPORT_CUDA(cudaMemcpyAsync(pinned, device, GRAPH_OUT, cudaMemcpyDeviceToHost, stream));
}

static void launch_graph(void) {
    REPORT_CUDA(cudaGraphLaunch(graph, stream));
}

static cudaGraphExec_t make_graph(void) {
    cudaGraph_t captured;
    cudaGraphExec_t made;
    REPORT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue_steps();
    REPORT_CUDA(cudaStreamEndCapture(stream, &captured));
    REPORT_CUDA(cudaGraphInstantiate(&made, captured, 0));
    REPORT_CUDA(cudaGraphDestroy(captured));
    REPORT_CUDA(cudaGraphUpload(made, stream));
    synchronize();
    return made;
}

static void measure_graphs(void) {
    static const int counts[] = {1, 4, 16, 64};
    cudaGraphExec_t graphs[GRAPHS];
    size_t before, after, total;
    char name[100];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        graph_kernels = counts[i];
        REPORT_CUDA(cudaMemGetInfo(&before, &total));
        double began = report_now_us();
        for (int g = 0; g < GRAPHS; g++)
            graphs[g] = make_graph();
        report_row((report_now_us() - began) / GRAPHS, "us", "capture, instantiate and upload, %d kernels",
                   graph_kernels);
        REPORT_CUDA(cudaMemGetInfo(&after, &total));
        report_row(((double)before - (double)after) / 1024 / GRAPHS, "KiB", "device memory of a graph, %d kernels",
                   graph_kernels);
        graph = graphs[0];
        snprintf(name, sizeof name, "graph launch call, %d kernels", graph_kernels);
        measure(launch_graph, NULL, name);
        snprintf(name, sizeof name, "graph launch and wait, %d kernels", graph_kernels);
        measure(launch_graph, wait_spinning, name);
        snprintf(name, sizeof name, "the same without a graph, %d kernels", graph_kernels);
        measure(enqueue_steps, wait_spinning, name);
        for (int g = 0; g < GRAPHS; g++)
            REPORT_CUDA(cudaGraphExecDestroy(graphs[g]));
    }
}

int main(int argc, char **argv) {
    if (argc > 1)
        repetitions = strtoul(argv[1], NULL, 10);
    if (repetitions < 1 || repetitions > REPORT_MOST_TIMES)
        return REPORT_USAGE;
    report_need_device();
    take_memory();
    measure_waits();
    measure_host_function();
    measure_copies();
    measure_graphs();
    REPORT_CUDA(cudaFreeHost(mapped));
    REPORT_CUDA(cudaFreeHost(pinned));
    REPORT_CUDA(cudaFree(device));
    REPORT_CUDA(cudaEventDestroy(spinning));
    REPORT_CUDA(cudaEventDestroy(blocking));
    REPORT_CUDA(cudaStreamDestroy(stream));
    return 0;
}
