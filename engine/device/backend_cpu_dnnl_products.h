/* Products of two computed matrices, batch by batch, whose rows and columns may lie anywhere: a TRANSPOSE around them
 * costs nothing. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_PRODUCTS_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_PRODUCTS_H

#include "engine/device/backend_cpu_builder.h"

/* Builds the MATMUL step at builder->at for any float operands; *built stays false if it cannot. Errors: NO_MEMORY,
 * DEVICE. */
enum weir_status backend_cpu_dnnl_products_build(struct backend_cpu_builder *builder, bool *built) WEIR_CHECKED;

/* y += factor * c, where y is row-major and c broadcasts to it. Errors: NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_dnnl_products_add(struct backend_cpu_builder *builder, int y, int c,
                                               float factor) WEIR_CHECKED;

/* Can the MATMUL step read this input, or write its output (input -1), through that TRANSPOSE? */
bool backend_cpu_dnnl_products_can_move(const struct program *program, const struct program_step *matmul, int input,
                                        const struct program_step *transpose);

#endif
