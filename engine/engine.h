/* The engine: devices, the model they run, and the queue in front of them. It knows no HTTP and no configuration. */
#ifndef WEIR_ENGINE_ENGINE_H
#define WEIR_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/device/backend.h"
#include "engine/inventory.h"
#include "engine/job.h"
#include "engine/observer.h"
#include "engine/status.h"
#include "engine/telemetry.h"
#include "engine/tensor.h"

struct engine;
struct version;

struct engine_options {
    struct inventory_options devices;
    uint32_t batch_rows;           /* most rows of a batch */
    bool refuse_other_batch;       /* a file with a fixed batch other than batch_rows is refused, not run in its own */
    bool admit_all;                /* no predictions: queue everything, drop what has expired */
    int64_t max_queue_delay_ns;    /* how long an idle device waits for a fuller batch; 0: not at all */
    int64_t queue_delay_target_ns; /* longest wait for a turn; 0: three batches of the largest size */
    int64_t watchdog_ns;           /* a batch that takes less is never called stuck; 0: 10 s */
    struct observer observer;      /* its functions may be NULL */
};

/* Opens the devices and starts their threads; no model yet. Errors: DEVICE, NO_MEMORY. Owner: the caller. */
enum weir_status engine_open(const struct engine_options *options, struct engine **out,
                             struct weir_error *err) WEIR_CHECKED;

/* Runs what is queued and ends the devices' threads: after it no done is called any more. No submit may be under way.
 */
void engine_stop(struct engine *engine);

/* engine_stop, then frees retired versions and the devices. Every job must be home, every version released. */
void engine_close(struct engine *engine);

/* Loads the file as a version of the model, which nobody knows of yet. Owner: the caller, with one reference. Errors:
 * as version_load. thread: loader (one at a time). */
enum weir_status engine_prepare(struct engine *engine, const char *model_name, uint64_t number, const char *path,
                                struct version **out, struct weir_error *err) WEIR_CHECKED;

/* Frees the versions that nobody holds any more: they come here when their last batch has ended. thread: loader. */
void engine_reap(struct engine *engine);

/* What batches of a version take: t(rows) = base + per_row * rows, and by how much that is wrong on average. */
struct engine_costs {
    double base_ns, row_ns, deviation_ns;
};
struct engine_costs engine_costs(struct engine *engine, struct version *version);

/* In what numbers the devices multiply. */
enum backend_precision engine_precision(const struct engine *engine);

/* thread: any. */
struct version *engine_hold(struct version *version);
void engine_release(struct version *version);

/* Gives a version that does not serve yet the number its surroundings know it by (struct version_info). */
void engine_set_tag(struct version *version, int tag);

/* What callers may know of a version. */
struct version_info {
    const char *model_name;
    uint64_t number;
    const struct signature *signature;
    uint32_t batch_rows;  /* most rows of a batch of it */
    uint32_t fixed_batch; /* the batch its file was exported with; 0 if free */
    const char *notice;   /* what people should know of how it is computed; "" if nothing */
    const char *batching; /* why its rows run one at a time, in words; "" if they need not */
    int64_t load_ns;
    uint64_t serial; /* no other version loaded by this process has it */
    int tag;         /* of engine_set_tag */
};
struct version_info engine_describe(const struct version *version);

/* What device number `device` tells of the version: its memory plan, whether rows' bits depend on their batch; "" if
 * nothing. */
const char *engine_report(const struct version *version, int device);

/* Would this job be taken now? Only version, dims, deadline_ns and priority are looked at; what is not known yet may be
 * left out: one row, no free sizes. *wait_ns is how long it would wait for its turn, whatever the answer. Errors:
 * TOO_LATE (it is not expected to be done in time), BUSY (the wait is over the delay target), DRAINING. thread: any. */
enum weir_status engine_admit(struct engine *engine, struct job *job, int64_t *wait_ns,
                              struct weir_error *err) WEIR_CHECKED;

/* Hands the job over: OK means that job->done runs exactly once, unless engine_cancel gives the job back before. The
 * devices are told by engine_flush, once for many jobs. Errors: as engine_admit (the job is still the caller's).
 * thread: any. */
enum weir_status engine_submit(struct engine *engine, struct job *job, struct weir_error *err) WEIR_CHECKED;
void engine_flush(struct engine *engine);

/* engine_submit without admission, for work that nobody waits for: the job runs when a device has nothing else to do
 * (batch/spare.h). At join_ns it joins the queue like any other (INT64_MAX: never). Errors: DRAINING, BUSY (join_ns is
 * INT64_MAX and many such jobs wait). thread: any. */
enum weir_status engine_submit_spare(struct engine *engine, struct job *job, int64_t join_ns,
                                     struct weir_error *err) WEIR_CHECKED;

/* True: the job was not on a device; it is the caller's again and done will not run. thread: any. */
bool engine_cancel(struct engine *engine, struct job *job);

/* No more jobs are taken; what is queued still runs. */
void engine_drain(struct engine *engine);

void engine_set_queue_delays(struct engine *engine, int64_t max_queue_delay_ns, int64_t queue_delay_target_ns);

struct engine_status {
    const char *device;             /* "cpu", "cuda" */
    const char *device_reason;      /* why that device */
    const char *device_description; /* what it is */
    bool device_fell_back;
    int device_count;
    int cpu_threads; /* of one batch on the CPU: as configured, or what the process may use */
    uint32_t queued_jobs, queued_rows, running_rows;
    bool stuck;          /* a batch has run longer than watchdog_ns and far longer than expected */
    bool stuck_for_good; /* twice as long, on a GPU: only the process's end frees it (a CPU ends every batch) */
};
void engine_status(struct engine *engine, struct engine_status *out);

/* Of one device, by number. thread: any. */
enum backend_state engine_device_state(const struct engine *engine, int device);
const char *engine_device_state_text(enum backend_state state);

/* What NVML last told of a device. False: it is no GPU. thread: any. */
bool engine_telemetry(struct engine *engine, int device, struct telemetry_reading *out);

#endif
