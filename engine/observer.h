/* What the engine tells its surroundings. */
#ifndef WEIR_ENGINE_OBSERVER_H
#define WEIR_ENGINE_OBSERVER_H

#include <stdint.h>

#include "engine/status.h"

struct observer {
    void *context;
    /* A batch ran on device `device`: its rows, how long the device took, whether it worked. thread: that device's. */
    void (*batch_ran)(void *context, int device, uint32_t rows, int64_t compute_ns, enum weir_status status);
    /* done was called for all jobs that ended together. thread: the device's. */
    void (*jobs_done)(void *context);
    /* The device will not come back: the process should end so that its supervisor starts it anew. thread: the
     * device's, or the sampler's. */
    void (*device_lost)(void *context, int device, const char *reason);
};

#endif
