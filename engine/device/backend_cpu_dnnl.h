/* oneDNN (API version 2): the engine, layouts, reorders and activations. What else knows its API is in the files of the
 * same beginning. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/status.h"
#include "kernels/operation.h"

/* oneDNN's engine and a stream on it. A stream belongs to one model, since a model runs on one thread at a time. */
struct backend_cpu_device {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

/* Opens engine and stream, and writes "oneDNN 2.6.3, avx512_core" into text. Errors: DEVICE. */
enum weir_status backend_cpu_dnnl_open(struct backend_cpu_device *device, char *text, size_t size,
                                       struct weir_error *err) WEIR_CHECKED;
void backend_cpu_dnnl_close(struct backend_cpu_device *device);

/* Sets how many threads oneDNN may use when it is called from this thread. One thread starts no pool. */
void backend_cpu_dnnl_use_threads(int threads);

/* Does the processor multiply bfloat16 by itself? */
bool backend_cpu_dnnl_has_bf16(void);

/* Has the processor AVX-512, and is it to be used (ONEDNN_MAX_CPU_ISA)? */
bool backend_cpu_dnnl_has_avx512(void);

/* Fills err from oneDNN's status: NO_MEMORY or DEVICE. */
enum weir_status backend_cpu_dnnl_fail(struct weir_error *err, dnnl_status_t status, const char *what);

/* Is this what oneDNN answers to shapes it has no primitive for? Then another kernel is to be taken. */
bool backend_cpu_dnnl_declines(dnnl_status_t status);

/* Row-major float32 of these dimensions. A view of rank 0 counts as [1]. */
void backend_cpu_dnnl_plain(dnnl_memory_desc_t *desc, int rank, const size_t *dims);

/* The same dimensions and type in a layout that oneDNN chooses. */
void backend_cpu_dnnl_any(dnnl_memory_desc_t *desc);

/* Do the elements lie in memory as in a row-major tensor? */
bool backend_cpu_dnnl_is_flat(const dnnl_memory_desc_t *desc);

/* A row-major view of the memory of a layout with blocks of channels: [n, channels / block, spatial..., block], where
 * block may be all channels. The padding of channels to whole blocks is part of it. Returns false for other layouts. */
bool backend_cpu_dnnl_blocks(const dnnl_memory_desc_t *desc, struct view *out);

/* Do two layouts of the same dimensions and type have every element in the same place? */
bool backend_cpu_dnnl_is_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b);

/* Are channels padded to whole blocks? */
bool backend_cpu_dnnl_is_padded(const dnnl_memory_desc_t *desc);

/* Copies one memory into the layout (and type) of another, now. */
dnnl_status_t backend_cpu_dnnl_reorder(const struct backend_cpu_device *device, dnnl_memory_t from, dnnl_memory_t to);

/* Attributes of a primitive: scratch memory from outside, results scaled, and `then` where it can be part of the
 * primitive (*then_done). sum: the primitive adds to what the output holds. Owner of *out: the caller. */
struct backend_cpu_attributes {
    float scale;
    bool sum;
    const struct unary *then;
};
dnnl_status_t backend_cpu_dnnl_attributes(const struct backend_cpu_attributes *wanted, dnnl_primitive_attr_t *out,
                                          bool *then_done);

/* Can the function be part of a primitive? */
bool backend_cpu_dnnl_has_unary(const struct unary *unary);

/* Does the primitive descriptor stand for oneDNN's slow fallback? */
bool backend_cpu_dnnl_is_slow(dnnl_primitive_desc_t desc);

#endif
