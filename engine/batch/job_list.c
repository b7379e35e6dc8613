#include "engine/batch/job_list.h"

static uint32_t rows_left(const struct job *job) {
    return job->dims.rows - job->rows_taken;
}

/* Rows of a job that run in its next turn. */
static uint32_t turn_rows_of(const struct job_list *list, const struct job *job) {
    return rows_left(job) < list->batch_rows ? rows_left(job) : list->batch_rows;
}

void job_list_append(struct job_list *list, struct job *job) {
    job->next = NULL;
    job->prev = list->last;
    if (list->last)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
    job->queued = true;
    list->jobs++;
    list->rows += rows_left(job);
    list->turn_rows += turn_rows_of(list, job);
}

void job_list_remove(struct job_list *list, struct job *job) {
    if (job->prev)
        job->prev->next = job->next;
    else
        list->first = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        list->last = job->prev;
    job->prev = job->next = NULL;
    job->queued = false;
    list->jobs--;
    list->rows -= rows_left(job);
    list->turn_rows -= turn_rows_of(list, job);
}
