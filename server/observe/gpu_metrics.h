/* The part of the page of metrics that tells of the GPUs. */
#ifndef WEIR_SERVER_OBSERVE_GPU_METRICS_H
#define WEIR_SERVER_OBSERVE_GPU_METRICS_H

#include "engine/telemetry.h"
#include "server/bytes.h"

/* Appends weir_gpu_*, by device number; what is not known has no series, and a name without series is left out. */
void gpu_metrics_render(const struct telemetry_reading *gpus, int count, struct bytes *out);

/* Appends the same by the names of Triton's metrics, for tools that read those: nv_gpu_utilization and four more gauges
 * by gpu_uuid. A GPU whose uuid is not known has none. Source: Triton Inference Server, docs/user_guide/metrics.md. */
void gpu_metrics_render_triton(const struct telemetry_reading *gpus, int count, struct bytes *out);

#endif
