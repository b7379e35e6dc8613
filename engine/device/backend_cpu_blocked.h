/* Kernels on tensors whose channels lie in blocks, as convolutions leave them: what needs no reorder. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_BLOCKED_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_BLOCKED_H

#include "engine/device/backend_cpu_builder.h"

/* Builds the UNARY, BINARY, CONCAT or max POOL at builder->at if its input lies in blocks; *built stays false
 * otherwise. Errors: NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_blocked_build(struct backend_cpu_builder *builder, bool *built) WEIR_CHECKED;

/* Adds a buffer to a memory in the layout desc. Errors: NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_blocked_add(struct backend_cpu_builder *builder, int memory,
                                         const dnnl_memory_desc_t *desc, int buffer) WEIR_CHECKED;

/* Is the function 0 at 0? Then it may run over the padding of a layout. */
bool backend_cpu_blocked_keeps_zero(const struct unary *unary);

#endif
