/* cuBLASLt as the backend calls it: how long a product takes, and whether a row's bits depend on how many share it.
 * usage: products [SIZE [REPETITIONS]] */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/cuda/cuda_lt.h"
#include "kernels/cuda/cuda.h"
#include "tests/device/report.h"

enum { MOST_ROWS = 256, WORKSPACE_BYTES = 32 << 20 };

struct mode {
    const char *name;
    enum backend_precision precision;
    bool split;
};

static const struct mode modes[] = {
    {"fp32, any algorithm", BACKEND_FP32, true},   {"fp32, sums not split", BACKEND_FP32, false},
    {"tf32, sums not split", BACKEND_TF32, false}, {"bf16, sums not split", BACKEND_BF16, false},
    {"fp16, sums not split", BACKEND_FP16, false},
};
static const size_t row_counts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

static size_t size = 1024, repetitions = 200;
static cudaStream_t stream;
static float *x_host, *w_host, *y_host, *x, *w, *y, *first;
static void *x_half, *w_half, *workspace;

static void *take(size_t bytes, bool on_host) {
    void *at;
    REPORT_CUDA(on_host ? cudaHostAlloc(&at, bytes, cudaHostAllocDefault) : cudaMalloc(&at, bytes));
    return at;
}

static void send(float *to, float *from, size_t count, float scale) {
    for (size_t i = 0; i < count; i++)
        from[i] = ((float)(rand() & 0xFFFF) / 65536.0f - 0.5f) * scale;
    REPORT_CUDA(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyHostToDevice, stream));
}

static void prepare(void) {
    size_t weights = size * size, rows = MOST_ROWS * size;
    REPORT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    x_host = take(rows * sizeof *x, true);
    y_host = take(rows * sizeof *y, true);
    w_host = take(weights * sizeof *w, true);
    x = take(rows * sizeof *x, false);
    y = take(rows * sizeof *y, false);
    w = take(weights * sizeof *w, false);
    x_half = take(rows * 2, false);
    w_half = take(weights * 2, false);
    workspace = take(WORKSPACE_BYTES, false);
    first = calloc(size, sizeof *first);
    srand(3);
    send(x, x_host, rows, 1.0f);
    send(w, w_host, weights, 0.1f);
    REPORT_CUDA(cudaStreamSynchronize(stream));
}

/* Relative to the size of row 0, against sums in double. */
static double error_of_first_row(void) {
    double wrong = 0, all = 0;
    for (size_t j = 0; j < size; j++) {
        double sum = 0;
        for (size_t i = 0; i < size; i++)
            sum += (double)x_host[i] * (double)w_host[i * size + j];
        wrong += (sum - (double)y_host[j]) * (sum - (double)y_host[j]);
        all += sum * sum;
    }
    return sqrt(wrong / all);
}

/* Time of one product of many in a row, and whether row 0 has other bits than alone. */
static bool measure(const struct mode *mode, const struct cuda_lt *lt, size_t rows, struct weir_error *err) {
    bool halves = cuda_lt_operand_bytes(lt) == 2;
    const struct cuda_lt_product product = {
        .rows = rows, .cols = size, .inner = size, .y_pitch = size, .count = 1, .alpha = 1, .alignment_bytes = 256};
    const struct cuda_lt_operands operands = {.x = halves ? x_half : (void *)x,
                                              .w = halves ? w_half : (void *)w,
                                              .y = y,
                                              .workspace = workspace,
                                              .workspace_bytes = WORKSPACE_BYTES,
                                              .stream = stream};
    struct cuda_lt_plan plan = {0};
    double began = report_now_us();
    if (cuda_lt_prepare(lt, &product, NULL, &plan, err) != WEIR_OK)
        report_fail(mode->name, err->text);
    double chosen = report_now_us() - began;
    for (size_t i = 0; i <= repetitions; i++) {
        if (i == 1) { /* the first one is for warming up */
            REPORT_CUDA(cudaStreamSynchronize(stream));
            began = report_now_us();
        }
        if (cuda_lt_run(lt, &plan, &operands, err) != WEIR_OK)
            report_fail(mode->name, err->text);
    }
    REPORT_CUDA(cudaStreamSynchronize(stream));
    double took = (report_now_us() - began) / (double)repetitions;
    REPORT_CUDA(cudaMemcpyAsync(y_host, y, rows * size * sizeof *y, cudaMemcpyDeviceToHost, stream));
    REPORT_CUDA(cudaStreamSynchronize(stream));
    cuda_lt_release(&plan);
    if (rows == 1)
        memcpy(first, y_host, size * sizeof *first);
    report_row(took, "us", "%s, %zu rows", mode->name, rows);
    if (rows == 1 || rows == MOST_ROWS)
        report_row(error_of_first_row(), "", "error of %s, %zu rows", mode->name, rows);
    if (rows == MOST_ROWS)
        report_row(chosen, "us", "choosing an algorithm, %s", mode->name);
    return memcmp(first, y_host, size * sizeof *first) != 0;
}

static void run(const struct mode *mode) {
    struct cuda_errors errors = {0};
    struct weir_error err;
    struct cuda_lt lt = {.precision = mode->precision, .errors = &errors};
    char others[100] = "";
    int count = 0;
    if (cuda_lt_open(&lt, WORKSPACE_BYTES, mode->split, &err) != WEIR_OK)
        report_fail(mode->name, err.text);
    if (cuda_lt_operand_bytes(&lt) == 2) {
        bool brain = mode->precision == BACKEND_BF16;
        REPORT_CUDA((brain ? cuda_to_bf16 : cuda_to_f16)(x, x_half, MOST_ROWS * size, stream));
        REPORT_CUDA((brain ? cuda_to_bf16 : cuda_to_f16)(w, w_half, size * size, stream));
    }
    for (size_t i = 0; i < sizeof row_counts / sizeof *row_counts; i++)
        if (measure(mode, &lt, row_counts[i], &err)) {
            count++;
            snprintf(others + strlen(others), sizeof others - strlen(others), " %zu", row_counts[i]);
        }
    report_row(count, "of 8", "batch sizes with other bits than alone, %s", mode->name);
    if (count > 0) {
        char name[100];
        snprintf(name, sizeof name, "which, %s", mode->name);
        report_text(name, others + 1);
    }
    cuda_lt_close(&lt);
}

int main(int argc, char **argv) {
    if (argc > 1)
        size = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        repetitions = strtoul(argv[2], NULL, 10);
    if (size < 8 || size > 4096 || size % 8 != 0 || repetitions < 1)
        return REPORT_USAGE;
    report_need_device();
    prepare();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        run(&modes[i]);
    void *on_device[] = {x, y, w, x_half, w_half, workspace}, *on_host[] = {x_host, y_host, w_host};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        REPORT_CUDA(cudaFree(on_device[i]));
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        REPORT_CUDA(cudaFreeHost(on_host[i]));
    REPORT_CUDA(cudaStreamDestroy(stream));
    free(first);
    return 0;
}
