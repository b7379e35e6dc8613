/* A batch: which rows of which jobs go to the device together. */
#ifndef WEIR_ENGINE_BATCH_BATCH_H
#define WEIR_ENGINE_BATCH_BATCH_H

#include <stdint.h>

#include "engine/job.h"
#include "engine/tensor.h"

/* Consecutive rows of one job. */
struct batch_part {
    struct job *job;
    uint32_t first_row; /* in the job */
    uint32_t rows;
    enum weir_status status;
};

/* Memory for capacity parts is taken once, by batch_init. */
struct batch {
    struct batch_part *parts;
    uint32_t part_count;
    uint32_t rows;
    uint32_t capacity; /* most rows, and so most parts */
    struct version *version;
    uint64_t shape_key;
    int device; /* that took it */
    int64_t taken_ns;
    struct job *dropped; /* jobs taken from the queue that must not run (late, cancelled), linked by next */
};

/* Errors: NO_MEMORY. */
enum weir_status batch_init(struct batch *batch, uint32_t capacity, struct weir_error *err) WEIR_CHECKED;
void batch_release(struct batch *batch);

/* Copies parts first..end of the batch into consecutive rows of the device's staging memory, input by input. `inputs`
 * are the staging addresses in the signature's order. Returns the rows copied. */
uint32_t batch_gather(const struct batch *batch, uint32_t first, uint32_t end, const struct signature *signature,
                      void *const *inputs);

/* Copies results back to the jobs of parts first..end, in the order batch_gather laid them out. */
void batch_scatter(const struct batch *batch, uint32_t first, uint32_t end, const struct signature *signature,
                   const void *const *outputs);

#endif
