/* Jobs for devices that have nothing else to do: copies of requests, and samples of a version that is being proved. A
 * sample runs alone as soon as a device is idle, and joins the queue when its time has come. Copies gather, so that a
 * device is disturbed once for many of them, and run together, though no longer than a request would notice. Called
 * with the batcher's lock. */
#ifndef WEIR_ENGINE_BATCH_SPARE_H
#define WEIR_ENGINE_BATCH_SPARE_H

#include <stdbool.h>

#include "engine/batch/job_list.h"

struct cost_model;

/* A spare job that never joins the queue is a copy. */
bool spare_is_copy(const struct job *job);

/* Is there no room for another copy? */
bool spare_is_full(const struct job_list *spare);

/* Lets those jobs join the queue whose time has come (all: every one). Returns when the next one's will; INT64_MAX:
 * never. */
int64_t spare_join(struct job_list *spare, struct job_list *queue, int64_t now_ns, bool all);

/* From when on an idle device should take one. INT64_MAX: there is none. */
int64_t spare_due_ns(const struct job_list *spare);

/* Most rows of a batch that begins with this job, of at most `rows`. */
uint32_t spare_rows(const struct job *job, const struct cost_model *costs, uint32_t rows);

#endif
