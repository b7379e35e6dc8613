/* What runs on one device: the batches of its slots, oldest first, and when it is expected to be free. Called with the
 * batcher's lock. */
#ifndef WEIR_ENGINE_BATCH_RUNNING_H
#define WEIR_ENGINE_BATCH_RUNNING_H

#include <stdint.h>

enum { RUNNING_SLOTS = 2 };

struct running {
    struct {
        int64_t taken_ns;
        int64_t expected_ns; /* how long it was expected to take */
    } batches[RUNNING_SLOTS];
    int count;
    int64_t ended_ns; /* when the last one ended */
    int64_t free_ns;  /* when the device is expected to be free */
};

/* A batch begins that is expected to take took_ns, after what runs already. */
void running_begin(struct running *running, int64_t now_ns, int64_t took_ns);

/* The oldest batch, taken at taken_ns, has ended. Returns how long the device was at it. */
int64_t running_end(struct running *running, int64_t taken_ns, int64_t now_ns);

/* When the device will be free. A batch that has run over its time is expected to take as much again as it is over,
 * which *over_ns tells: so the estimate grows while a device stalls. */
int64_t running_free_ns(const struct running *running, int64_t now_ns, int64_t *over_ns);

#endif
