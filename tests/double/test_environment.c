/* The double as a process finds it whose only words to it are in the environment. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/double/check.h"

static const char *const WORDS = "devices=3 memory_mib=8 major=8 minor=6 fail_call=cudaMalloc:2:2 "
                                 "fail_operation=copy_to_host:1:719 unknown=1 delay_us=10";

int main(int argc, char **argv) {
    int count = 0;
    size_t left = 0, total = 0;
    struct cudaDeviceProp properties;
    if (argc == 1) {
        char words[512];
        snprintf(words, sizeof words, "%s when=/tmp/weir-double-%d", WORDS, (int)getpid());
        CHECK(setenv("CUDA_DOUBLE", words, 1) == 0);
        execl(argv[0], argv[0], "again", (char *)NULL);
        return 1;
    }
    CHECK_OK(cudaGetDeviceCount(&count));
    CHECK(count == 3);
    CHECK_OK(cudaGetDeviceProperties(&properties, 2));
    CHECK(properties.major == 8 && properties.minor == 6);
    CHECK_OK(cudaMemGetInfo(&left, &total));
    CHECK(total == 8 << 20);
    float *x = check_device_floats(4), *host = check_pinned_floats(4);
    void *block;
    char path[64];
    snprintf(path, sizeof path, "/tmp/weir-double-%d", (int)getpid());
    CHECK_OK(cudaMalloc(&block, 16));
    FILE *file = fopen(path, "w"); /* from now on failures are counted */
    CHECK(file && fclose(file) == 0);
    CHECK_OK(cudaFree(block));
    CHECK_OK(cudaMalloc(&block, 16));
    CHECK_ERROR(cudaMalloc(&block, 16), cudaErrorMemoryAllocation);
    CHECK(remove(path) == 0);
    cudaStream_t stream = check_stream();
    CHECK_OK(cudaMemcpyAsync(x, host, 16, cudaMemcpyHostToDevice, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK_OK(cudaMemcpyAsync(host, x, 16, cudaMemcpyDeviceToHost, stream));
    CHECK_ERROR(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
    printf("ok: the environment configures the double and plans failures, from a moment on\n");
    return 0;
}
