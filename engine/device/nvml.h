/* NVML, opened at run time: the library belongs to the driver, and its header need not be here. thread: one, the
 * sampler's. */
#ifndef WEIR_ENGINE_DEVICE_NVML_H
#define WEIR_ENGINE_DEVICE_NVML_H

#include "engine/status.h"
#include "engine/telemetry.h"

struct nvml;
struct nvml_device; /* the library's own */

/* library: NULL is libnvidia-ml.so.1. Errors: DEVICE (it is missing, lacks a function, or the driver does not answer),
 * NO_MEMORY. Owner: the caller. */
enum weir_status nvml_open(const char *library, struct nvml **out, struct weir_error *err) WEIR_CHECKED;
void nvml_close(struct nvml *nvml);

/* The device at that place on the bus: CUDA counts devices in another order. Errors: DEVICE, DEVICE_LOST. */
enum weir_status nvml_find(struct nvml *nvml, const char *bus_id, struct nvml_device **out,
                           struct weir_error *err) WEIR_CHECKED;

/* Fills all of out but bus_id; what cannot be read stays unknown and hurts nothing else. Errors: DEVICE_LOST (out holds
 * what could still be read). */
enum weir_status nvml_read(struct nvml *nvml, struct nvml_device *device, struct telemetry_reading *out,
                           struct weir_error *err) WEIR_CHECKED;

#endif
