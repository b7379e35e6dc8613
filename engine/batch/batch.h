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
    struct tensor_dims dims; /* the free sizes of its jobs; its rows mean nothing */
    int device;              /* that took it */
    uint64_t number;         /* of the batches that were taken, from 1 */
    int64_t taken_ns;
    int64_t begin_ns;        /* of the time it took: how long the device needed to prepare for these sizes, */
    int64_t input_ns;        /* how long its rows were gathered, */
    int64_t infer_ns;        /* how long it was computed, */
    int64_t output_ns;       /* and how long its results were handed back */
    struct weir_error error; /* why parts of it failed, the last of them */
    struct job *dropped;     /* jobs taken from the queue that must not run (late, cancelled), linked by next */
};

/* Errors: NO_MEMORY. */
enum weir_status batch_init(struct batch *batch, uint32_t capacity, struct weir_error *err) WEIR_CHECKED;
void batch_release(struct batch *batch);

/* Rows of parts first..end. */
uint32_t batch_rows(const struct batch *batch, uint32_t first, uint32_t end);

/* Copies input `input` of parts first..end into the device's staging memory, which holds the whole tensor for
 * batch_rows rows. A job's tensor lies row after row; in staging memory the rows are where the spec's batch dimension
 * is. An input without one is taken from the first part's job. */
void batch_gather(const struct batch *batch, uint32_t first, uint32_t end, int input, const struct tensor_spec *spec,
                  void *staging);

/* What the device made of one output. */
struct batch_result {
    const void *data;
    const struct tensor_shape *shape; /* of the whole tensor; it may have more rows than the batch */
};

/* Copies output `output` back to the jobs of parts first..end, in the order batch_gather laid them out; one without a
 * batch dimension goes to each of them whole. Takes memory for jobs that brought none. A part whose output could not be
 * copied gets that status (NO_MEMORY; INTERNAL: the shape is not what the signature says), and batch->error tells. */
void batch_scatter(struct batch *batch, uint32_t first, uint32_t end, int output, const struct tensor_spec *spec,
                   const struct batch_result *result);

#endif
