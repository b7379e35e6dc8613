/* The CUDA backend with a model from a file: what the commands of the program `engine` share. */
#ifndef WEIR_TESTS_DEVICE_GPU_ENGINE_H
#define WEIR_TESTS_DEVICE_GPU_ENGINE_H

#include "engine/device/backend.h"

struct plan;

struct gpu_engine_bench {
    struct plan *plan;
    struct backend *backend;
    struct backend_model *model; /* NULL: not loaded */
    uint32_t max_rows;
    size_t in_bytes, out_bytes; /* of one row; the model has one input and one output, both float32 */
};

/* What the command line gave. */
struct gpu_engine_arguments {
    const char *model, *folder; /* folder holds x.f32 and y.f64 (rows as they come), for `rows` and `positions` */
    struct backend_options options;
    uint32_t max_rows;
    size_t repetitions;
};

/* Reads the plan and opens device 0; load puts it there. Both end the program where they fail. */
void gpu_engine_open(struct gpu_engine_bench *bench, const struct gpu_engine_arguments *arguments);
void gpu_engine_load(struct gpu_engine_bench *bench);
void gpu_engine_unload(struct gpu_engine_bench *bench);
void gpu_engine_close(struct gpu_engine_bench *bench);

/* Begins a slot, copies the rows in, submits. wait ends the program where the batch failed. */
void gpu_engine_submit(struct gpu_engine_bench *bench, int slot, const void *rows, uint32_t count);
void gpu_engine_wait(struct gpu_engine_bench *bench, int slot);
const float *gpu_engine_output(struct gpu_engine_bench *bench, int slot);

/* The file FOLDER/NAME, of at least so many bytes. Owner: the caller. */
void *gpu_engine_read_file(const char *folder, const char *name, size_t bytes);
/* So many rows of random numbers. Owner: the caller. */
float *gpu_engine_random_rows(const struct gpu_engine_bench *bench, uint32_t rows, uint32_t seed);

/* The commands. */
void gpu_engine_oracle(const struct gpu_engine_arguments *arguments);
void gpu_engine_rows(const struct gpu_engine_arguments *arguments);
void gpu_engine_positions(const struct gpu_engine_arguments *arguments);
void gpu_engine_overlap(const struct gpu_engine_arguments *arguments);
void gpu_engine_leak(const struct gpu_engine_arguments *arguments);
void gpu_engine_full(const struct gpu_engine_arguments *arguments);
void gpu_engine_stall(const struct gpu_engine_arguments *arguments);

#endif
