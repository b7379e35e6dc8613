/* Dense layers on oneDNN. Everything that knows oneDNN's API (version 2) is here. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_DENSE_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_DENSE_H

#include <oneapi/dnnl/dnnl.h>

#include "engine/graph/program.h"
#include "engine/status.h"

/* oneDNN's engine and a stream on it. A stream belongs to one model, since a model runs on one thread at a time. */
struct backend_cpu_device {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

enum { BACKEND_CPU_PACKINGS = 4 };

/* One layer: weights in the layouts that oneDNN wanted (one, as far as measured: it is the same for all row counts). */
struct backend_cpu_dense {
    struct program_dense shape; /* its pointers are not used after packing */
    struct activation activation;
    bool has_bias;
    dnnl_memory_t bias;
    dnnl_memory_t packings[BACKEND_CPU_PACKINGS];
    int packing_count;
};

/* The layer for one row count, between two fixed addresses. */
struct backend_cpu_dense_run {
    dnnl_primitive_t primitive;
    dnnl_memory_t x, y, scratch;
    dnnl_memory_t weights, bias; /* the layer's */
    float *result;               /* y's memory */
    size_t result_elements;
};

/* Opens engine and stream, and writes "oneDNN 2.6.3, avx512_core" into text. Errors: DEVICE. */
enum weir_status backend_cpu_device_open(struct backend_cpu_device *device, char *text, size_t size,
                                         struct weir_error *err) WEIR_CHECKED;
void backend_cpu_device_close(struct backend_cpu_device *device);

/* Sets how many threads oneDNN may use when it is called from this thread. One thread starts no pool. */
void backend_cpu_device_use_threads(int threads);

/* Packs the layer's weights in the layout that oneDNN wants for batches of `rows` rows, and copies its bias; the step's
 * own arrays are not needed afterwards. Errors: DEVICE, NO_MEMORY. Owner: the caller, also after an error:
 * backend_cpu_dense_release. */
enum weir_status backend_cpu_dense_pack(const struct backend_cpu_device *device, const struct program_step *step,
                                        size_t rows, struct backend_cpu_dense *dense,
                                        struct weir_error *err) WEIR_CHECKED;
void backend_cpu_dense_release(struct backend_cpu_dense *dense);

/* Where a run reads and writes, and how many batch rows. */
struct backend_cpu_dense_place {
    const float *x;
    float *y;
    size_t rows;
};

/* Makes the primitive of one row count. Takes 0.05 to 0.3 ms. Errors: DEVICE, NO_MEMORY. Owner of what it made: the
 * caller, also after an error: backend_cpu_dense_run_release. */
enum weir_status backend_cpu_dense_prepare(const struct backend_cpu_device *device, struct backend_cpu_dense *dense,
                                           const struct backend_cpu_dense_place *place,
                                           struct backend_cpu_dense_run *run, struct weir_error *err) WEIR_CHECKED;

/* y = activation(x * weights + bias). Errors: DEVICE. */
enum weir_status backend_cpu_dense_execute(const struct backend_cpu_device *device,
                                           const struct backend_cpu_dense *dense,
                                           const struct backend_cpu_dense_run *run,
                                           struct weir_error *err) WEIR_CHECKED;
void backend_cpu_dense_run_release(struct backend_cpu_dense_run *run);

#endif
