/* A job: the typed input tensors of one request, its deadline, and room for the answers. */
#ifndef WEIR_ENGINE_JOB_H
#define WEIR_ENGINE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"
#include "engine/tensor.h"

struct version;

/* One tensor of a job: rows * row_bytes bytes, row after row (row_bytes in all where its spec has no batch dimension).
 * Which one it is follows from its index in the version's signature. */
struct job_tensor {
    void *data;
    size_t row_bytes;
    struct tensor_shape row; /* the shape of one row */
};

/* Who is refused first when there is not room for all. The queue itself is in order of arrival. */
enum job_priority { JOB_NORMAL, JOB_HIGH, JOB_LOW, JOB_PRIORITY_COUNT };

/* Owner: the submitter, before engine_submit returns OK and from the moment done is called; the engine in between. */
struct job {
    /* Set by the submitter, read-only for the engine. */
    struct version *version; /* the job holds a reference */
    struct tensor_dims
        dims; /* rows (at least 1) and free sizes; jobs of the same version and free sizes share batches */
    struct job_tensor *inputs; /* in the signature's order */
    struct job_tensor
        *outputs;        /* likewise; written by the engine. Where data is NULL the engine takes it with malloc and
                          * sets row and row_bytes, for the submitter to free: outputs with free dimensions */
    int64_t deadline_ns; /* clock_now_ns time by which the results must be there */
    enum job_priority priority;
    void (*done)(struct job *); /* thread: device. Exactly once after engine_submit returned OK. Must not block. */
    void *owner;                /* free for the submitter */

    /* Set by the engine, valid in done. */
    enum weir_status status;
    struct weir_error error; /* filled where status is INVALID, UNSUPPORTED, TOO_LARGE or DEVICE */
    int64_t submitted_ns;
    int64_t expected_ns; /* when admission expected it to be finished; 0 if it had nothing to go by */
    int64_t started_ns;  /* when the first of its rows went to the device; 0 if none did */
    int64_t finished_ns;
    uint32_t batch_rows; /* rows of the batch that ran its last rows, and what that took: to gather them, to compute, */
    int64_t batch_input_ns, batch_infer_ns, batch_output_ns; /* and to hand them back */
    int device;                                              /* on which it ran */
    uint64_t batch; /* which of the process's batches that was, from 1; 0 before the first */

    /* The engine's own. */
    uint32_t batch_rows_limit; /* most rows of a batch of this version */
    struct job *prev, *next;
    bool is_trial;    /* taken although it is expected late: it runs as long as its deadline has not passed */
    bool is_spare;    /* waits for a device that has nothing else to do */
    bool is_internal; /* of engine_submit_spare: no request's */
    int64_t join_ns;
    uint32_t rows_taken, rows_done;
    uint32_t parts_out;
    bool queued;
    bool ending; /* done is about to be called */
};

#endif
