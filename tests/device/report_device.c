#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/device/report.h"

void report_need_device(void) {
    int count = 0, driver = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    (void)cudaDriverGetVersion(&driver);
    if (code == cudaSuccess && count > 0)
        code = cudaSetDevice(0);
    if (code == cudaSuccess && count > 0)
        return;
    fprintf(stderr, "no usable GPU: %s, driver version %d\n",
            code == cudaSuccess ? "the driver sees none" : cudaGetErrorName(code), driver);
    exit(REPORT_NO_DEVICE);
}
