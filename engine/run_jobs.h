/* Jobs that somebody waits for. */
#ifndef WEIR_ENGINE_RUN_JOBS_H
#define WEIR_ENGINE_RUN_JOBS_H

#include "engine/engine.h"

/* Runs jobs of which only version, dims, inputs and outputs are set, one after the other when a device has time for
 * them (engine_submit_spare), and waits for all. Errors: those of engine_submit_spare, or of the first job that failed.
 * thread: any that may wait. */
enum weir_status run_jobs(struct engine *engine, struct job *jobs, int count, struct weir_error *err) WEIR_CHECKED;

/* The same for one job of the version; a struct self_test_runner can have it as its run. context: a job_runner. */
struct job_runner {
    struct engine *engine;
    struct version *version;
};
enum weir_status run_one_job(void *context, const struct tensor_dims *dims, struct job_tensor *inputs,
                             struct job_tensor *outputs, struct weir_error *err) WEIR_CHECKED;

#endif
