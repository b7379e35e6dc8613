/* The CUDA backend through engine/device/backend.h, on a GPU or on the double.
 * usage: engine COMMAND MODEL FOLDER PRECISION INVARIANCE MAX_ROWS REPETITIONS
 * Commands: oracle (MODEL and what follows is not looked at), rows, positions, overlap, leak, full, stall. */
#include "tests/device/gpu_engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/cuda/weir_cuda.h"
#include "engine/graph/plan.h"
#include "tests/device/report.h"

enum { ARGUMENTS = 8, PATH_BYTES = 4096 };

static size_t row_bytes(const struct tensor_spec *spec) {
    size_t bytes = sizeof(float);
    for (int i = 0; i < spec->shape.rank; i++)
        if (i != spec->batch_axis)
            bytes *= spec->shape.dims[i] > 0 ? (size_t)spec->shape.dims[i] : 1;
    return bytes;
}

void gpu_engine_open(struct gpu_engine_bench *bench, const struct gpu_engine_arguments *arguments) {
    struct weir_error err;
    *bench = (struct gpu_engine_bench){.max_rows = arguments->max_rows};
    if (plan_load(arguments->model, &bench->plan, &err) != WEIR_OK ||
        weir_cuda_open(&arguments->options, 0, &bench->backend, &err) != WEIR_OK)
        report_fail(arguments->model, err.text);
    const struct signature *signature = plan_signature(bench->plan);
    bench->in_bytes = row_bytes(&signature->inputs[0]);
    bench->out_bytes = row_bytes(&signature->outputs[0]);
}

void gpu_engine_load(struct gpu_engine_bench *bench) {
    struct weir_error err;
    if (bench->backend->ops->load(bench->backend, bench->plan, bench->max_rows, &bench->model, &err) != WEIR_OK)
        report_fail("load", err.text);
}

void gpu_engine_unload(struct gpu_engine_bench *bench) {
    bench->backend->ops->unload(bench->model);
    bench->model = NULL;
}

void gpu_engine_close(struct gpu_engine_bench *bench) {
    if (bench->model)
        gpu_engine_unload(bench);
    bench->backend->ops->close(bench->backend);
    plan_destroy(bench->plan);
}

void gpu_engine_submit(struct gpu_engine_bench *bench, int slot, const void *rows, uint32_t count) {
    const struct backend_ops *ops = bench->backend->ops;
    struct tensor_dims dims = *plan_example(bench->plan);
    struct weir_error err;
    dims.rows = count;
    if (ops->begin(bench->model, slot, &dims, &err) != WEIR_OK)
        report_fail("begin", err.text);
    memcpy(ops->input(bench->model, slot, 0), rows, count * bench->in_bytes);
    if (ops->submit(bench->model, slot, &err) != WEIR_OK)
        report_fail("submit", err.text);
}

void gpu_engine_wait(struct gpu_engine_bench *bench, int slot) {
    struct weir_error err;
    if (bench->backend->ops->wait(bench->model, slot, &err) != WEIR_OK)
        report_fail("wait", err.text);
}

const float *gpu_engine_output(struct gpu_engine_bench *bench, int slot) {
    return bench->backend->ops->output(bench->model, slot, 0);
}

void *gpu_engine_read_file(const char *folder, const char *name, size_t bytes) {
    char path[PATH_BYTES];
    void *data = malloc(bytes);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!data || !file || fread(data, 1, bytes, file) != bytes)
        report_fail(path, "it cannot be read, or is too short");
    fclose(file);
    return data;
}

float *gpu_engine_random_rows(const struct gpu_engine_bench *bench, uint32_t rows, uint32_t seed) {
    size_t count = rows * bench->in_bytes / sizeof(float);
    float *out = malloc(count * sizeof *out);
    if (!out)
        report_fail("rows", "no memory");
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) * 0x1p-24f - 0.5f;
    }
    return out;
}

static const struct {
    const char *name;
    void (*run)(const struct gpu_engine_arguments *arguments);
    bool needs_file;
} commands[] = {{"oracle", gpu_engine_oracle, false},      {"rows", gpu_engine_rows, true},
                {"positions", gpu_engine_positions, true}, {"overlap", gpu_engine_overlap, true},
                {"leak", gpu_engine_leak, true},           {"full", gpu_engine_full, true},
                {"stall", gpu_engine_stall, true}};

static int index_of(const char *text, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    report_fail(text, "not known here");
}

static struct gpu_engine_arguments read_arguments(char **argv) {
    static const char *const precisions[BACKEND_PRECISIONS] = {[BACKEND_FP32] = "fp32",
                                                               [BACKEND_BF16] = "bf16",
                                                               [BACKEND_INT8] = "int8",
                                                               [BACKEND_TF32] = "tf32",
                                                               [BACKEND_FP16] = "fp16"};
    static const char *const invariances[] = {"off", "bucket", "strict"};
    return (struct gpu_engine_arguments){
        .model = argv[2],
        .folder = argv[3],
        .options = {.precision = (enum backend_precision)index_of(argv[4], precisions, BACKEND_PRECISIONS),
                    .invariance = (enum backend_invariance)index_of(argv[5], invariances, 3)},
        .max_rows = (uint32_t)strtoul(argv[6], NULL, 10),
        .repetitions = strtoul(argv[7], NULL, 10)};
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
        struct gpu_engine_arguments arguments = {0};
        if (strcmp(argv[1], commands[i].name) != 0 || (commands[i].needs_file && argc != ARGUMENTS))
            continue;
        if (commands[i].needs_file)
            arguments = read_arguments(argv);
        if (arguments.repetitions > REPORT_MOST_TIMES)
            break;
        report_need_device();
        commands[i].run(&arguments);
        return 0;
    }
    fprintf(stderr, "usage: engine COMMAND MODEL FOLDER PRECISION INVARIANCE MAX_ROWS REPETITIONS\n");
    return REPORT_USAGE;
}
