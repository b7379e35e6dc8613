/* Convolutions and average pools on oneDNN, in the layouts that it likes best. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_WINDOW_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_DNNL_WINDOW_H

#include "engine/device/backend_cpu_builder.h"

/* Build the CONV, CONV_TRANSPOSE, average POOL, or REDUCE (the mean over all of space) at builder->at; *built stays
 * false if it is not for oneDNN. Errors: NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_dnnl_window_conv(struct backend_cpu_builder *builder, bool *built) WEIR_CHECKED;
enum weir_status backend_cpu_dnnl_window_pool(struct backend_cpu_builder *builder, bool *built) WEIR_CHECKED;
enum weir_status backend_cpu_dnnl_window_mean(struct backend_cpu_builder *builder, bool *built) WEIR_CHECKED;

#endif
