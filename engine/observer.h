/* What the engine tells its surroundings. */
#ifndef WEIR_ENGINE_OBSERVER_H
#define WEIR_ENGINE_OBSERVER_H

#include <stdint.h>

#include "engine/status.h"

struct version;

struct observer_batch {
    uint32_t rows;
    uint32_t asked_rows; /* of them those of requests: the others are samples, copies and the like */
    int64_t compute_ns;  /* from when it was taken to its results; the parts of that and what follows: */
    int64_t input_ns, infer_ns, output_ns; /* gathering its rows, computing, handing its results back */
    enum weir_status status;
};

struct observer {
    void *context;
    /* A batch of the version ran on device `device`: its rows, how long the device took, whether it worked. thread:
     * that device's. */
    void (*batch_ran)(void *context, int device, const struct version *version, const struct observer_batch *batch);
    /* done was called for all jobs that ended together. thread: the device's. */
    void (*jobs_done)(void *context);
    /* Nobody holds a version any more: engine_reap will free it. thread: any. */
    void (*version_retired)(void *context);
    /* The device will not come back: the process should end so that its supervisor starts it anew. device: -1 where the
     * reason names it (one of several was lost while a version was loaded). thread: the device's, the sampler's, or the
     * loader's. */
    void (*device_lost)(void *context, int device, const char *reason);
};

#endif
