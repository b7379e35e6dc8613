/* Jobs that wait, in order of arrival, linked through the jobs themselves. A job is in one list at most. Called with
 * the batcher's lock. */
#ifndef WEIR_ENGINE_BATCH_JOB_LIST_H
#define WEIR_ENGINE_BATCH_JOB_LIST_H

#include <stdint.h>

#include "engine/job.h"

struct job_list {
    struct job *first, *last;
    uint32_t jobs;
    uint32_t rows;       /* of them that no device has */
    uint64_t turn_rows;  /* rows that run before a newcomer's: of each job no more than a batch */
    uint32_t batch_rows; /* most rows of a batch */
};

/* Puts the job's remaining rows at the end. */
void job_list_append(struct job_list *list, struct job *job);

/* Takes the job out of the list that it is in. */
void job_list_remove(struct job_list *list, struct job *job);

#endif
