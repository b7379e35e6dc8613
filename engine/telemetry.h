/* What NVIDIA's management library (NVML) tells of the GPUs that serve. One thread asks, once a second: NVML can take
 * long while a GPU is sick. What cannot be read is absent, never 0. */
#ifndef WEIR_ENGINE_TELEMETRY_H
#define WEIR_ENGINE_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"

struct telemetry;

enum telemetry_value {
    TELEMETRY_UTILIZATION,     /* 0..1, the part of the last moment in which a kernel ran */
    TELEMETRY_MEMORY_ACTIVITY, /* 0..1, the part in which memory was read or written */
    TELEMETRY_MEMORY_USED,     /* bytes, without what the driver reserves */
    TELEMETRY_MEMORY_TOTAL,    /* bytes */
    TELEMETRY_TEMPERATURE,     /* degrees Celsius */
    TELEMETRY_POWER,           /* watts */
    TELEMETRY_POWER_LIMIT,     /* watts */
    TELEMETRY_ENERGY,          /* joules since the driver was loaded */
    TELEMETRY_SM_CLOCK,        /* hertz */
    TELEMETRY_MEMORY_CLOCK,    /* hertz */
    TELEMETRY_ECC_CORRECTED,   /* memory errors since the driver was loaded */
    TELEMETRY_ECC_UNCORRECTED,
    TELEMETRY_THROTTLE, /* bits of TELEMETRY_REASON_LIST */
    TELEMETRY_VALUES
};

/* X(bit, name): why the clocks are lower than they could be. */
#define TELEMETRY_REASON_LIST(X)                                                                                       \
    X(0x1, "idle")                                                                                                     \
    X(0x2, "application_clocks")                                                                                       \
    X(0x4, "power_cap")                                                                                                \
    X(0x8, "hardware_slowdown")                                                                                        \
    X(0x10, "sync_boost")                                                                                              \
    X(0x20, "software_thermal")                                                                                        \
    X(0x40, "hardware_thermal")                                                                                        \
    X(0x80, "power_brake")                                                                                             \
    X(0x100, "display_clocks")

enum { TELEMETRY_MOST_GPUS = 16, TELEMETRY_ID_BYTES = 32, TELEMETRY_TEXT_BYTES = 96, TELEMETRY_WHY_BYTES = 256 };

/* A text that is not known is "", a number NAN. */
struct telemetry_reading {
    char bus_id[TELEMETRY_ID_BYTES]; /* as CUDA has it */
    char name[TELEMETRY_TEXT_BYTES], uuid[TELEMETRY_TEXT_BYTES], driver[TELEMETRY_TEXT_BYTES];
    bool lost;                             /* off the bus, or waiting for a reset */
    char unavailable[TELEMETRY_WHY_BYTES]; /* why there are no numbers; "" if there are */
    double values[TELEMETRY_VALUES];
};

/* A reading that knows nothing but why. */
void telemetry_clear(struct telemetry_reading *out, const char *unavailable);

struct telemetry_options {
    const char *library; /* NULL: libnvidia-ml.so.1 */
    int count;
    const char *const *bus_ids; /* of the GPUs that serve, in their order; copied */
    int64_t period_ns;          /* 0: a second */
    /* Two readings in a row found the GPU lost. Called once for each. May be NULL. thread: sampler. */
    void (*lost)(void *context, int gpu, const char *reason);
    void *context;
};

/* Starts the sampler's thread, which opens the library; that it cannot is no error, but what readings then say. Errors:
 * NO_MEMORY. Owner: the caller. */
enum weir_status telemetry_start(const struct telemetry_options *options, struct telemetry **out,
                                 struct weir_error *err) WEIR_CHECKED;

/* Ends the thread and frees; a thread that NVML does not give back within 2 s is left behind, and frees it later.
 * `lost` is not called any more. */
void telemetry_stop(struct telemetry *telemetry);

/* The latest reading of that GPU; one that is older than five periods is not given. thread: any. */
void telemetry_read(struct telemetry *telemetry, int gpu, int64_t now_ns, struct telemetry_reading *out);

#endif
