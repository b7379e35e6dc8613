/* Kernels on fibers: what they compute, and that broken ones are caught. */
#include <math.h>
#include <string.h>

#include "tests/double/check.h"
#include "tests/double/sample_kernels.h"

enum { ROWS = 5, COLS = 300, COUNT = ROWS * COLS };

/* x on the device: small whole numbers, so that sums are exact. */
static float *ramp(cudaStream_t stream) {
    float *host = check_pinned_floats(COUNT), *x = check_device_floats(COUNT);
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 17 - 8);
    CHECK_OK(cudaMemcpyAsync(x, host, COUNT * sizeof *x, cudaMemcpyHostToDevice, stream));
    return x;
}

static const float *fetch(const float *y, size_t count, cudaStream_t stream) {
    float *host = check_pinned_floats(count);
    CHECK_OK(cudaMemcpyAsync(host, y, count * sizeof *host, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    return host;
}

static void flat_kernels_compute(void) {
    cudaStream_t stream = check_stream();
    float *x = ramp(stream), *y = check_device_floats(COUNT);
    CHECK_OK(sample_scale(x, y, COUNT, 2.0f, stream));
    const float *got = fetch(y, COUNT, stream);
    for (int i = 0; i < COUNT; i++)
        CHECK(got[i] == (float)(i % 17 - 8) * 2 + 1);
    CHECK(cuda_double_read().kernels == 1);
    check_clean();
}

/* In every order of the fibers. */
static void barriers_and_shuffles_compute(void) {
    for (int order = 0; order < 3; order++) {
        struct cuda_double_config config = cuda_double_defaults();
        config.fiber_order = order;
        cuda_double_reset(&config);
        cudaStream_t stream = check_stream();
        float *x = ramp(stream), *y = check_device_floats(ROWS), *t = check_device_floats(COUNT);
        CHECK_OK(sample_sum(x, y, ROWS, COLS, stream));
        CHECK_OK(sample_transpose(x, t, ROWS, COLS, stream));
        const float *sums = fetch(y, ROWS, stream), *transposed = fetch(t, COUNT, stream);
        for (int row = 0; row < ROWS; row++) {
            float sum = 0;
            for (int col = 0; col < COLS; col++) {
                int i = row * COLS + col;
                sum += (float)(i % 17 - 8);
                CHECK(transposed[col * ROWS + row] == (float)(i % 17 - 8));
            }
            CHECK(sums[row] == sum);
        }
        check_clean();
    }
}

static void shuffles_take_the_right_lanes(void) {
    cudaStream_t stream = check_stream();
    float *y = check_device_floats(96);
    CHECK_OK(sample_shuffles(y, stream));
    const float *got = fetch(y, 96, stream);
    for (int lane = 0; lane < 32; lane++) {
        CHECK(got[lane] == (lane < 31 ? (float)lane + 1 : 31));
        CHECK(got[32 + lane] == (lane > 0 ? (float)lane - 1 : 0));
        CHECK(got[64 + lane] == 3);
    }
    check_clean();
}

static void dynamic_shared_memory_is_as_large_as_asked(void) {
    cudaStream_t stream = check_stream();
    float *y = check_device_floats(1000);
    CHECK_OK(sample_reverse(y, 1000, stream));
    const float *got = fetch(y, 1000, stream);
    for (int i = 0; i < 1000; i++)
        CHECK(got[i] == (float)(999 - i));
    check_clean();
}

static void unwritten_memory_is_nan(void) {
    cudaStream_t stream = check_stream();
    float *y = check_device_floats(32), *z = check_device_floats(32);
    const float *fresh = fetch(z, 32, stream);
    CHECK_OK(sample_unwritten_shared(y, stream));
    const float *got = fetch(y, 32, stream);
    for (int i = 0; i < 32; i++)
        CHECK(isnan(got[i]) && isnan(fresh[i]));
    check_clean();
}

static void a_launch_error_is_its_own(void) {
    cudaStream_t stream = check_stream();
    float *y = check_device_floats(96);
    CHECK_ERROR(sample_too_many_threads(y, stream), cudaErrorInvalidConfiguration);
    CHECK_ERROR(cudaFree(y + 1), cudaErrorInvalidValue);
    CHECK_ERROR(cudaPeekAtLastError(), cudaErrorInvalidValue);
    CHECK_OK(sample_shuffles(y, stream));
    CHECK_OK(cudaGetLastError());
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK(cuda_double_read().wrong_frees == 1);
}

/* Exits as caught if the sums are wrong. */
static void missing_barrier(void) {
    struct cuda_double_config config = cuda_double_defaults();
    config.fiber_order = 0;
    cuda_double_reset(&config);
    cudaStream_t stream = check_stream();
    float *x = ramp(stream), *y = check_device_floats(ROWS);
    CHECK_OK(sample_sum_without_barrier(x, y, ROWS, COLS, stream));
    const float *got = fetch(y, ROWS, stream);
    if (isnan(got[0]))
        exit(CHECK_CAUGHT);
}

#define PLANTED(name, call)                                                                                            \
    static void name(void) {                                                                                           \
        cudaStream_t stream = check_stream();                                                                          \
        float *y = check_device_floats(96);                                                                            \
        CHECK_OK(call);                                                                                                \
        CHECK_OK(cudaStreamSynchronize(stream));                                                                       \
        CHECK_OK(cudaFree(y));                                                                                         \
        if (cuda_double_read().red_zones_hit != 0)                                                                     \
            exit(CHECK_CAUGHT);                                                                                        \
    }

PLANTED(leaves_early, sample_leaves_early(y, stream))
PLANTED(two_barriers, sample_two_barriers(y, stream))
PLANTED(barrier_in_flat, sample_barrier_in_flat(y, stream))
PLANTED(half_warp_shuffle, sample_half_warp_shuffle(y, stream))
PLANTED(writes_past, sample_writes_past(y, 96, stream))
PLANTED(writes_past_shared, sample_writes_past_shared(y, stream))
PLANTED(blocks_race, sample_blocks_race(y, stream))

static const struct check_test tests[] = {
    {"a flat kernel computes every element", flat_kernels_compute},
    {"barriers and shuffles compute in every order of the threads", barriers_and_shuffles_compute},
    {"a shuffle takes the lane that it names", shuffles_take_the_right_lanes},
    {"dynamic shared memory is as large as the launch says", dynamic_shared_memory_is_as_large_as_asked},
    {"memory that nobody wrote is NaN", unwritten_memory_is_nan},
    {"a launch gives its own error and no older one", a_launch_error_is_its_own},
    {NULL, NULL},
};

static const struct check_bug bugs[] = {
    {"a missing barrier gives wrong sums", missing_barrier, IN_PLAIN | IN_ASAN, NULL},
    {"a missing barrier is a race, the kernel's line named", missing_barrier, IN_TSAN, "sample_kernels.cc"},
    {"a barrier that some threads left before is named", leaves_early, IN_ALL, "32 threads left the kernel while 32"},
    {"threads at two barriers are named", two_barriers, IN_ALL, "barrier divergence: others wait at"},
    {"a barrier in a flat kernel is named", barrier_in_flat, IN_ALL, "a barrier in a flat kernel"},
    {"a shuffle of half a warp is named", half_warp_shuffle, IN_ALL, "shuffle divergence"},
    {"a write past a block is seen when that is freed", writes_past, IN_PLAIN | IN_TSAN, NULL},
    {"a write past a block is reported, the kernel's line named", writes_past, IN_ASAN, "sample_kernels.cc"},
    {"a write past shared memory is reported", writes_past_shared, IN_ASAN, "use-after-poison"},
    {"two blocks that write one element race", blocks_race, IN_TSAN, "data race"},
    {NULL, NULL, 0, NULL},
};

int main(int argc, char **argv) {
    return check_main(argc, argv, tests, bugs);
}
