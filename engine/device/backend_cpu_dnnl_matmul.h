/* Products of matrices: on oneDNN's packed weights, and between two computed matrices. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_MATMUL_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_MATMUL_H

#include "engine/device/backend_cpu_builder.h"

/* Builds the MATMUL step at builder->at; *built stays false if it is not for oneDNN. Errors: NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_dnnl_matmul_build(struct backend_cpu_builder *builder, bool *built) WEIR_CHECKED;

#endif
