#include "engine/device/cuda/cuda_wait.h"

#include <stdio.h>
#include <time.h>

#include "engine/clock.h"

/* Sleeps grow with the time that has passed, so that they add little to it. */
enum { AWAKE_NS = 20 * CLOCK_NS_PER_US, SLEEP_PART = 8, SLEEP_MOST_NS = CLOCK_NS_PER_MS };

static void rest(int64_t waited_ns) {
    int64_t sleep_ns = waited_ns / SLEEP_PART < SLEEP_MOST_NS ? waited_ns / SLEEP_PART : SLEEP_MOST_NS;
    if (waited_ns > AWAKE_NS)
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
}

cudaError_t cuda_wait_code(cudaStream_t stream, int64_t patience_ns) {
    int64_t began_ns = clock_now_ns(), waited_ns = 0;
    cudaError_t code = cudaStreamQuery(stream);
    while (code == cudaErrorNotReady && (patience_ns == 0 || waited_ns < patience_ns)) {
        rest(waited_ns);
        waited_ns = clock_now_ns() - began_ns;
        code = cudaStreamQuery(stream);
    }
    if (waited_ns > 0 || code == cudaErrorNotReady)
        (void)cudaGetLastError(); /* "not ready" is remembered like an error */
    return code;
}

enum weir_status cuda_wait(struct cuda_errors *errors, cudaStream_t stream, const char *what, struct weir_error *err) {
    char text[sizeof errors->cause];
    cudaError_t code = cuda_wait_code(stream, errors->patience_ns);
    if (code != cudaErrorNotReady)
        return cuda_errors_check(errors, code, what, err);
    snprintf(text, sizeof text, "%s: the device hangs, it has not ended this within %lld ms", what,
             (long long)(errors->patience_ns / CLOCK_NS_PER_MS));
    cuda_errors_lose(errors, text);
    return weir_fail(err, WEIR_DEVICE_LOST, "%s", text);
}
