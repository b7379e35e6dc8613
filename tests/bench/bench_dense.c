/* The layers alone: batches of a model on the CPU backend, without HTTP, queue or codec. Prints one JSON object.
 * usage: bench_dense MODEL.onnx [--rows 1,32] [--seconds 0.5] [--threads 1]   seconds: for each row count */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"
#include "engine/device/backend.h"
#include "engine/graph/plan.h"

enum { MAX_ROW_COUNTS = 16 };

struct bench {
    const char *path;
    uint32_t rows[MAX_ROW_COUNTS], max_rows;
    int row_counts, threads;
    double seconds;
    struct tensor_dims dims;
    struct plan *plan;
    struct backend *backend;
    struct backend_model *model;
};

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "bench_dense: %s\n", what);
    exit(1);
}

static int64_t cpu_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
}

static void fill_inputs(struct bench *bench) {
    const struct signature *signature = plan_signature(bench->plan);
    srand48(1);
    for (int i = 0; i < signature->input_count; i++) {
        const struct tensor_spec *spec = &signature->inputs[i];
        if (spec->dtype != TENSOR_F32)
            fail("only float32 inputs are filled");
        float *values = bench->backend->ops->input(bench->model, 0, i);
        struct tensor_shape whole = tensor_spec_whole(spec, &bench->dims);
        size_t elements = 0;
        if (!tensor_shape_elements(&whole, 0, &elements))
            fail("an input is too large");
        for (size_t at = 0; at < elements; at++)
            values[at] = (float)drand48();
    }
}

/* Runs batches of so many rows for so long; returns how many. */
static uint64_t run_batches(struct bench *bench, uint32_t rows, int64_t time_ns) {
    const struct backend_ops *ops = bench->backend->ops;
    struct weir_error err;
    uint64_t batches = 0;
    struct tensor_dims dims = bench->dims;
    dims.rows = rows;
    int64_t end_ns = clock_now_ns() + time_ns;
    do {
        for (int i = 0; i < 8; i++) {
            if (ops->begin(bench->model, 0, &dims, &err) != WEIR_OK || ops->submit(bench->model, 0, &err) != WEIR_OK ||
                ops->wait(bench->model, 0, &err) != WEIR_OK)
                fail(err.text);
            batches++;
        }
    } while (clock_now_ns() < end_ns);
    return batches;
}

static void measure(struct bench *bench, uint32_t rows, const char *end) {
    int64_t time_ns = (int64_t)(bench->seconds * (double)CLOCK_NS_PER_S);
    run_batches(bench, rows, time_ns / 5);
    int64_t start_ns = clock_now_ns(), cpu_start_ns = cpu_now_ns();
    double batches = (double)run_batches(bench, rows, time_ns);
    double wall_us = (double)(clock_now_ns() - start_ns) / CLOCK_NS_PER_US / batches;
    double cpu_us = (double)(cpu_now_ns() - cpu_start_ns) / CLOCK_NS_PER_US / batches;
    printf(
        "  {\"rows\": %u, \"batches\": %.0f, \"us_per_batch\": %.3f, \"us_per_row\": %.3f, \"cpu_us_per_batch\": %.3f, "
        "\"cpu_us_per_row\": %.3f}%s\n",
        rows, batches, wall_us, wall_us / rows, cpu_us, cpu_us / rows, end);
}

static void load_model(struct bench *bench) {
    struct backend_options options = {.threads = bench->threads};
    struct weir_error err;
    if (plan_load(bench->path, &bench->plan, &err) != WEIR_OK ||
        backend_cpu_open(&options, &bench->backend, &err) != WEIR_OK)
        fail(err.text);
    const struct backend_ops *ops = bench->backend->ops;
    if (ops->load(bench->backend, bench->plan, bench->max_rows, &bench->model, &err) != WEIR_OK)
        fail(err.text);
    bench->dims = *plan_example(bench->plan);
    bench->dims.rows = bench->max_rows;
    if (ops->begin(bench->model, 0, &bench->dims, &err) != WEIR_OK)
        fail(err.text);
}

static void parse_rows(struct bench *bench, char *text) {
    bench->row_counts = 0;
    for (char *rest, *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        unsigned long rows = strtoul(word, NULL, 10);
        if (rows < 1 || rows > 65536 || bench->row_counts == MAX_ROW_COUNTS)
            fail("--rows takes up to 16 numbers from 1 to 65536");
        bench->rows[bench->row_counts++] = (uint32_t)rows;
    }
}

static void parse(int argc, char **argv, struct bench *bench) {
    static const struct option options[] = {{"rows", required_argument, NULL, 'r'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"threads", required_argument, NULL, 't'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'r')
            parse_rows(bench, optarg);
        else if (option == 's')
            bench->seconds = strtod(optarg, NULL);
        else if (option == 't')
            bench->threads = atoi(optarg);
        else
            exit(2);
    }
    if (optind != argc - 1 || bench->row_counts == 0 || !(bench->seconds > 0)) {
        fprintf(stderr, "usage: bench_dense MODEL.onnx [--rows 1,32] [--seconds 0.5] [--threads 1]\n");
        exit(2);
    }
    bench->path = argv[optind];
    for (int i = 0; i < bench->row_counts; i++)
        if (bench->rows[i] > bench->max_rows)
            bench->max_rows = bench->rows[i];
}

int main(int argc, char **argv) {
    struct bench bench = {.rows = {1, 32}, .row_counts = 2, .threads = 1, .seconds = 0.5};
    parse(argc, argv, &bench);
    load_model(&bench);
    fill_inputs(&bench);
    printf("{\"device\": \"%s\", \"threads\": %d, \"runs\": [\n", bench.backend->description, bench.threads);
    for (int i = 0; i < bench.row_counts; i++)
        measure(&bench, bench.rows[i], i + 1 < bench.row_counts ? "," : "");
    printf("]}\n");
    bench.backend->ops->unload(bench.model);
    bench.backend->ops->close(bench.backend);
    plan_destroy(bench.plan);
    return 0;
}
