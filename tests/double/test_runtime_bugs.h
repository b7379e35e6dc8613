/* Planted bugs of programs that use the runtime: part of test_runtime.c. */
#ifndef WEIR_TESTS_DOUBLE_TEST_RUNTIME_BUGS_H
#define WEIR_TESTS_DOUBLE_TEST_RUNTIME_BUGS_H

static void fill_with(float *at, float value) {
    for (int i = 0; i < COUNT; i++)
        at[i] = value;
}

/* Reads the output before the event that says it is there. */
static void reads_too_early(void) {
    restart(2000, false);
    cudaStream_t stream = check_stream();
    float *out = check_pinned_floats(COUNT), *x = check_device_floats(COUNT);
    fill_with(out, 5);
    CHECK_OK(cudaMemsetAsync(x, 0, BYTES, stream));
    CHECK_OK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, stream));
    bool wrong = out[COUNT - 1] != 0;
    CHECK_OK(cudaStreamSynchronize(stream));
    exit(wrong ? CHECK_CAUGHT : 0);
}

/* Fills the staging memory for the next batch while this one's copy to the device is pending. */
static void refills_too_early(void) {
    restart(2000, false);
    cudaStream_t stream = check_stream();
    float *in = check_pinned_floats(COUNT), *out = check_pinned_floats(COUNT), *x = check_device_floats(COUNT);
    fill_with(in, 1);
    CHECK_OK(cudaMemcpyAsync(x, in, BYTES, cudaMemcpyHostToDevice, stream));
    memset(in, 0, 64);
    CHECK_OK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    exit(out[0] != 1 ? CHECK_CAUGHT : 0);
}

/* A second stream uses what the first one makes, without waiting for its event. */
static void does_not_wait(void) {
    cudaStream_t first = check_stream(), second = check_stream();
    float *out = check_pinned_floats(COUNT), *x = check_device_floats(COUNT);
    CHECK_OK(sample_scale(x, x, COUNT, 2, first));
    CHECK_OK(cudaStreamSynchronize(first));
    CHECK_OK(sample_scale(x, x, COUNT, 2, first));
    CHECK_OK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, second));
    CHECK_OK(cudaStreamSynchronize(second));
    CHECK_OK(cudaStreamSynchronize(first));
}

static void host_reads_device(void) {
    restart(0, true);
    cudaStream_t stream = check_stream();
    float *x = check_device_floats(COUNT);
    CHECK_OK(cudaMemsetAsync(x, 0, BYTES, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    fprintf(stderr, "the host reads\n");
    if (*(volatile float *)x == 0)
        fprintf(stderr, "and may\n");
}

static void allocates_during_capture(void) {
    cudaStream_t stream = check_stream();
    cudaGraph_t graph;
    void *block;
    CHECK_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaError_t error = cudaMalloc(&block, 16);
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    exit(error == cudaErrorStreamCaptureUnsupported && ended == cudaErrorStreamCaptureInvalidated ? CHECK_CAUGHT : 0);
}

static void forgets_a_graph(void) {
    cudaStream_t stream = check_stream();
    float *x = check_device_floats(COUNT);
    cudaGraph_t graph;
    CHECK_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK_OK(cudaMemsetAsync(x, 0, BYTES, stream));
    CHECK_OK(cudaStreamEndCapture(stream, &graph));
    check_clean();
}

/* Frees pinned memory that a copy still fills. */
static void frees_pinned_too_early(void) {
    restart(2000, false);
    cudaStream_t stream = check_stream();
    void *out;
    float *x = check_device_floats(COUNT);
    CHECK_OK(cudaHostAlloc(&out, BYTES, cudaHostAllocDefault));
    CHECK_OK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaFreeHost(out));
    CHECK_OK(cudaStreamSynchronize(stream));
}

/* Relies on cudaFree to wait for the kernels that use the block. */
static void relies_on_free(void) {
    struct cuda_double_config config = cuda_double_defaults();
    config.free_waits = false;
    config.delay_us = 20000;
    cuda_double_reset(&config);
    cudaStream_t stream = check_stream();
    void *x;
    fprintf(stderr, "the block goes\n");
    CHECK_OK(cudaMalloc(&x, BYTES));
    for (int i = 0; i < 3; i++)
        CHECK_OK(sample_scale(x, x, COUNT, 2, stream));
    CHECK_OK(cudaFree(x));
    (void)cudaStreamSynchronize(stream);
}

/* Its watch of 0.2 s sees that the stream hangs. */
static void hangs(void) {
    cudaStream_t stream = check_stream();
    float *x = check_device_floats(COUNT);
    cuda_double_hang_operation("scale", 1);
    CHECK_OK(sample_scale(x, x, COUNT, 2, stream));
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    exit(cudaStreamQuery(stream) == cudaErrorNotReady ? CHECK_CAUGHT : 0);
}

static const struct check_bug runtime_bugs[] = {
    {"output read before its event has wrong values", reads_too_early, IN_PLAIN | IN_ASAN, NULL},
    {"output read before its event is a race, the line named", reads_too_early, IN_TSAN, "test_runtime_bugs.h"},
    {"staging refilled while its copy is pending gives wrong values", refills_too_early, IN_PLAIN | IN_ASAN, NULL},
    {"staging refilled while its copy is pending is a race", refills_too_early, IN_TSAN, "test_runtime_bugs.h"},
    {"a second stream that waits for no event races", does_not_wait, IN_TSAN, "data race"},
    {"the host's read of device memory is a fault", host_reads_device, IN_ALL, "the host reads"},
    {"an allocation during a capture breaks it", allocates_during_capture, IN_ALL, NULL},
    {"a graph that is never destroyed is counted", forgets_a_graph, IN_ALL, "cuda double: 1 graphs"},
    {"pinned memory freed too early is reported", frees_pinned_too_early, IN_ASAN | IN_TSAN, "heap-use-after-free"},
    {"a block freed under its kernels is a fault or a race", relies_on_free, IN_ALL, "the block goes"},
    {"a hanging operation is seen by a watch", hangs, IN_ALL, NULL},
    {NULL, NULL, 0, NULL},
};

#endif
