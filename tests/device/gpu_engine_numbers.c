/* Are the numbers right, and do a row's bits depend on its batch? */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/cuda/cuda_model.h"
#include "engine/device/cuda/cuda_steps.h"
#include "tests/device/gpu_engine.h"
#include "tests/device/report.h"
#include "tests/double/cuda_models.h"

enum { POSITIONS = 64, MOST_ROWS = 256, ORACLE_ROWS = 20 };

static const uint32_t row_counts[] = {1, 2, 3, 4, 8, 16, 32, 64, 128, 256};

static double times[REPORT_MOST_TIMES];

/* Every kind of model, in every bucket and between them, by both slots: the largest difference from the oracle's
 * numbers, as a part of the largest of them. */
void gpu_engine_oracle(const struct gpu_engine_arguments *arguments) {
    static const struct {
        const char *name;
        enum backend_precision precision;
    } modes[] = {{"fp32", BACKEND_FP32}, {"tf32", BACKEND_TF32}, {"fp16", BACKEND_FP16}, {"bf16", BACKEND_BF16}};
    static const uint32_t counts[] = {1, 3, 4, ORACLE_ROWS, 16, 17};
    (void)arguments;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int which = 0; which < CUDA_MODELS_WIDE; which++) {
            struct cuda_models_bench bench = {0};
            double worst = 0;
            cuda_models_load(&bench, which, (struct backend_options){.precision = modes[m].precision}, ORACLE_ROWS);
            cuda_models_fill(cuda_models_x, cuda_models_in(&bench, ORACLE_ROWS, 7), 4);
            for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
                uint32_t rows = counts[i / 2];
                int64_t size = 1 + rows % 7;
                cuda_models_ask(&bench, rows, size);
                if (cuda_models_run(&bench, (int)i % 2, rows, size) != WEIR_OK)
                    report_fail(cuda_models[which].name, cuda_models_err.text);
                worst = fmax(worst, cuda_models_error(&bench, (int)i % 2, rows));
            }
            cuda_models_unload(&bench);
            report_row(worst, "", "%s, %s", cuda_models[which].name, modes[m].name);
        }
}

/* Relative to the size of all numbers (Frobenius). */
static double error_of(const float *is, const double *expected, size_t count) {
    double wrong = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = (double)is[i] - expected[i];
        wrong += difference * difference;
        all += expected[i] * expected[i];
    }
    return sqrt(wrong / all);
}

/* The steps of the batch that began, one after another, in place of its graph. */
static void run_without_graph(struct gpu_engine_bench *bench) {
    struct cuda_slot *slot = &bench->model->slots[0];
    struct weir_error err;
    if (cuda_steps_run(&bench->model->lt, slot->current, &slot->memory, &err) != WEIR_OK)
        report_fail("steps", err.text);
    REPORT_CUDA(cudaEventRecord(slot->event, slot->memory.stream));
    gpu_engine_wait(bench, 0);
}

void gpu_engine_rows(const struct gpu_engine_arguments *arguments) {
    struct gpu_engine_bench bench;
    struct weir_error err;
    struct backend_report report;
    gpu_engine_open(&bench, arguments);
    size_t out = bench.out_bytes / sizeof(float);
    char *x = gpu_engine_read_file(arguments->folder, "x.f32", bench.max_rows * bench.in_bytes);
    double *expected = gpu_engine_read_file(arguments->folder, "y.f64", bench.max_rows * out * sizeof *expected);
    float *alone = malloc(bench.out_bytes);
    int others = 0, tried = 0;
    double began = report_now_us();
    gpu_engine_load(&bench);
    report_row((report_now_us() - began) / 1e3, "ms", "load");
    bench.backend->ops->report(bench.model, &report);
    report_text("memory plan", report.memory);
    report_text("self-test", !report.invariance_tested ? "not run" : report.invariant ? "passed" : "failed");
    for (size_t i = 0; i < sizeof row_counts / sizeof *row_counts && row_counts[i] <= bench.max_rows; i++) {
        uint32_t rows = row_counts[i];
        for (size_t r = 0; r < arguments->repetitions; r++) {
            gpu_engine_submit(&bench, 0, x, rows); /* again, for the clock begins behind the copy of the rows */
            gpu_engine_wait(&bench, 0);
            began = report_now_us();
            if (bench.backend->ops->submit(bench.model, 0, &err) != WEIR_OK)
                report_fail("submit", err.text);
            gpu_engine_wait(&bench, 0);
            times[r] = report_now_us() - began;
        }
        report_row(error_of(gpu_engine_output(&bench, 0), expected, rows * out), "", "error, %u rows", rows);
        tried += i > 0;
        if (i == 0)
            memcpy(alone, gpu_engine_output(&bench, 0), bench.out_bytes);
        else
            others += memcmp(alone, gpu_engine_output(&bench, 0), bench.out_bytes) != 0;
        report_times(times, arguments->repetitions, "graph, %u rows", rows);
        for (size_t r = 0; r < arguments->repetitions; r++) {
            began = report_now_us();
            run_without_graph(&bench);
            times[r] = report_now_us() - began;
        }
        report_times(times, arguments->repetitions, "no graph, %u rows", rows);
        report_row(error_of(gpu_engine_output(&bench, 0), expected, rows * out), "", "error without a graph, %u rows",
                   rows);
    }
    report_row(others, "", "batch sizes with other bits than alone");
    report_row(tried, "", "batch sizes compared");
    gpu_engine_close(&bench);
    free(alone);
    free(expected);
    free(x);
}

/* One row in many places of a full batch, the others random each time. */
void gpu_engine_positions(const struct gpu_engine_arguments *arguments) {
    struct gpu_engine_bench bench;
    int others = 0, tried = 0;
    gpu_engine_open(&bench, arguments);
    gpu_engine_load(&bench);
    char *x = gpu_engine_read_file(arguments->folder, "x.f32", bench.in_bytes);
    float *first = malloc(bench.out_bytes);
    uint32_t step = bench.max_rows > POSITIONS ? bench.max_rows / POSITIONS : 1;
    for (uint32_t place = 0; place < bench.max_rows; place += step, tried++) {
        char *rows = (char *)gpu_engine_random_rows(&bench, bench.max_rows, place + 1);
        memcpy(rows + place * bench.in_bytes, x, bench.in_bytes);
        gpu_engine_submit(&bench, 0, rows, bench.max_rows);
        gpu_engine_wait(&bench, 0);
        const char *y = (const char *)gpu_engine_output(&bench, 0) + place * bench.out_bytes;
        if (place == 0)
            memcpy(first, y, bench.out_bytes);
        others += memcmp(first, y, bench.out_bytes) != 0;
        free(rows);
    }
    report_row(others, "", "places with other bits than the first");
    report_row(tried, "", "places compared");
    gpu_engine_close(&bench);
    free(first);
    free(x);
}
