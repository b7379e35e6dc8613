/* What happens around the batches: overlap of two slots, loading and unloading, a card that is full. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device/gpu_engine.h"
#include "tests/device/report.h"

enum { LEAK_WARM_UP = 3, LEAK_CYCLES = 8, BALLASTS = 200, LEAST_BALLAST_BYTES = 1 << 20 };

static double times[REPORT_MOST_TIMES];

static size_t free_bytes(void) {
    size_t left, total;
    REPORT_CUDA(cudaMemGetInfo(&left, &total));
    return left;
}

/* Full batches one after another in one slot, then in two by turns. */
void gpu_engine_overlap(const struct gpu_engine_arguments *arguments) {
    struct gpu_engine_bench bench;
    double took[2];
    gpu_engine_open(&bench, arguments);
    gpu_engine_load(&bench);
    float *x = gpu_engine_random_rows(&bench, bench.max_rows, 1);
    for (int slots = 1; slots <= 2; slots++) {
        double began = report_now_us();
        if (slots == 2)
            gpu_engine_submit(&bench, 1, x, bench.max_rows);
        for (size_t r = 0; r < arguments->repetitions; r++) {
            gpu_engine_submit(&bench, slots == 2 ? (int)(r % 2) : 0, x, bench.max_rows);
            gpu_engine_wait(&bench, slots == 2 ? (int)((r + 1) % 2) : 0);
        }
        if (slots == 2)
            gpu_engine_wait(&bench, (int)((arguments->repetitions + 1) % 2));
        took[slots - 1] = (report_now_us() - began) / (double)arguments->repetitions;
        report_row(took[slots - 1], "us", "a full batch, %d slot%s", slots, slots == 2 ? "s" : "");
    }
    report_row(took[0] / took[1], "times", "as many batches with two slots");
    gpu_engine_close(&bench);
    free(x);
}

void gpu_engine_leak(const struct gpu_engine_arguments *arguments) {
    struct gpu_engine_bench bench;
    size_t before = 0;
    double load = 0;
    gpu_engine_open(&bench, arguments);
    float *x = gpu_engine_random_rows(&bench, 1, 1);
    for (int i = 0; i < LEAK_WARM_UP + LEAK_CYCLES; i++) {
        if (i == LEAK_WARM_UP)
            before = free_bytes();
        double began = report_now_us();
        gpu_engine_load(&bench);
        load += i >= LEAK_WARM_UP ? report_now_us() - began : 0;
        if (i == LEAK_WARM_UP)
            report_row(((double)before - (double)free_bytes()) / (1 << 20), "MiB", "taken by the loaded model");
        gpu_engine_submit(&bench, i % 2, x, 1);
        gpu_engine_wait(&bench, i % 2);
        gpu_engine_unload(&bench);
    }
    report_row(((double)before - (double)free_bytes()) / 1024, "KiB", "lost over %d loads", LEAK_CYCLES);
    report_row(load / LEAK_CYCLES / 1e3, "ms", "a load");
    gpu_engine_close(&bench);
    free(x);
}

/* All but a little of the memory is taken: the load must be refused with its plan, and work once there is room. */
void gpu_engine_full(const struct gpu_engine_arguments *arguments) {
    struct gpu_engine_bench bench;
    struct weir_error err = {0};
    void *ballast[BALLASTS];
    int count = 0;
    gpu_engine_open(&bench, arguments);
    for (size_t bytes = free_bytes(); count < BALLASTS && bytes >= LEAST_BALLAST_BYTES;)
        if (cudaMalloc(&ballast[count], bytes) == cudaSuccess) {
            count++;
        } else {
            (void)cudaGetLastError(); /* it is in pieces */
            bytes /= 2;
        }
    enum weir_status status = bench.backend->ops->load(bench.backend, bench.plan, bench.max_rows, &bench.model, &err);
    report_text("load into a full card", weir_status_text(status));
    report_row(status == WEIR_NO_MEMORY && strstr(err.text, "does not fit"), "", "refused with a plan");
    report_text("the plan", status == WEIR_OK ? "" : err.text);
    if (status == WEIR_OK)
        gpu_engine_unload(&bench);
    while (count > 0)
        REPORT_CUDA(cudaFree(ballast[--count]));
    gpu_engine_load(&bench);
    float *x = gpu_engine_random_rows(&bench, 1, 1);
    gpu_engine_submit(&bench, 0, x, 1);
    gpu_engine_wait(&bench, 0);
    report_row(1, "", "loaded once there was room");
    gpu_engine_close(&bench);
    free(x);
}

static atomic_bool stop;
static atomic_int loads;

/* Another version comes and goes, on its own plan. */
static void *load_and_unload(void *argument) {
    const struct gpu_engine_arguments *arguments = argument;
    struct gpu_engine_bench bench;
    gpu_engine_open(&bench, arguments);
    while (!atomic_load(&stop)) {
        gpu_engine_load(&bench);
        gpu_engine_unload(&bench);
        atomic_fetch_add(&loads, 1);
    }
    gpu_engine_close(&bench);
    return NULL;
}

/* Latency of small batches while another thread loads and unloads: does freeing stall the serving stream? */
void gpu_engine_stall(const struct gpu_engine_arguments *arguments) {
    struct gpu_engine_bench bench;
    struct gpu_engine_arguments other = *arguments;
    pthread_t loader;
    gpu_engine_open(&bench, arguments);
    gpu_engine_load(&bench);
    float *x = gpu_engine_random_rows(&bench, 1, 1);
    for (int beside = 0; beside <= 1; beside++) {
        if (beside && pthread_create(&loader, NULL, load_and_unload, &other) != 0)
            report_fail("loader", "no thread");
        size_t count = 0;
        while (count < arguments->repetitions || (beside && atomic_load(&loads) < 3)) {
            double began = report_now_us();
            gpu_engine_submit(&bench, 0, x, 1);
            gpu_engine_wait(&bench, 0);
            times[count++ % REPORT_MOST_TIMES] = report_now_us() - began;
        }
        atomic_store(&stop, beside);
        if (beside)
            pthread_join(loader, NULL);
        count = count < REPORT_MOST_TIMES ? count : REPORT_MOST_TIMES;
        double worst = 0;
        for (size_t i = 0; i < count; i++)
            worst = times[i] > worst ? times[i] : worst;
        report_times(times, count, "one row, %s", beside ? "a loader beside it" : "alone");
        report_row(worst, "us", "slowest, %s", beside ? "a loader beside it" : "alone");
    }
    report_row(atomic_load(&loads), "", "loads and unloads meanwhile");
    gpu_engine_close(&bench);
    free(x);
}
