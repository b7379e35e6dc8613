/* The layouts of buffers while a program is built: what a step finds, and what it leaves. All errors: NO_MEMORY,
 * DEVICE.
 */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_LAYOUT_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_LAYOUT_H

#include "engine/device/backend_cpu_builder.h"

/* The layout that the buffer has now, in its own dimensions: row-major (written to *plain) where its root is, or where
 * the root has other dimensions. */
const dnnl_memory_desc_t *backend_cpu_layout_of(const struct backend_cpu_builder *builder, int buffer,
                                                dnnl_memory_desc_t *plain);

/* The memory that holds the buffer in that layout (NULL: row-major), which is made by a reorder if need be. */
enum weir_status backend_cpu_layout_read(struct backend_cpu_builder *builder, int buffer,
                                         const dnnl_memory_desc_t *wanted, int *memory) WEIR_CHECKED;

/* A row-major operand of a kernel: the view, and its memory; for a constant the view's data is set, and memory -1. */
enum weir_status backend_cpu_layout_operand(struct backend_cpu_builder *builder, int buffer, struct view *view,
                                            int *memory) WEIR_CHECKED;

/* The memory into which a step shall write the buffer in that layout (NULL: row-major). backend_cpu_layout_finish
 * follows once the step is built. */
enum weir_status backend_cpu_layout_write(struct backend_cpu_builder *builder, int buffer,
                                          const dnnl_memory_desc_t *desc, int *memory) WEIR_CHECKED;
enum weir_status backend_cpu_layout_finish(struct backend_cpu_builder *builder, int buffer,
                                           const dnnl_memory_desc_t *desc, int memory) WEIR_CHECKED;

#endif
