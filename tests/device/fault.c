/* Is a host function called after a kernel that broke the context, and what do later calls say? (The runtime's header
 * says that it is not called; others have seen it called, and it gets no status.) On the double the kernel must be
 * planned to fail: CUDA_DOUBLE="fail_operation=*:1:700".
 * usage: fault */
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "kernels/cuda/cuda.h"
#include "tests/device/report.h"

enum { BAD_ADDRESS = 16, COUNT = 1024, GRACE_US = 500000 };

static atomic_int called;

static void note_call(void *unused) {
    (void)unused;
    atomic_store(&called, 1);
}

int main(void) {
    const struct unary relu = {.kind = UNARY_RELU};
    cudaStream_t stream;
    report_need_device();
    REPORT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaError_t launched = cuda_apply(&relu, (float *)(uintptr_t)BAD_ADDRESS, COUNT, stream);
    cudaError_t enqueued = cudaLaunchHostFunc(stream, note_call, NULL);
    double began = report_now_us();
    cudaError_t waited = cudaStreamSynchronize(stream);
    report_text("launch of a kernel at a bad address", cudaGetErrorName(launched));
    report_text("enqueueing a host function behind it", cudaGetErrorName(enqueued));
    report_text("waiting for the stream", cudaGetErrorName(waited));
    while (!atomic_load(&called) && report_now_us() - began < GRACE_US)
        usleep(1000);
    report_row(atomic_load(&called), "", "host function called after a fault");
    report_text("allocating after a fault", cudaGetErrorName(cudaMalloc(&(void *){0}, COUNT)));
    _exit(waited == cudaSuccess); /* nothing can be given back any more */
}
