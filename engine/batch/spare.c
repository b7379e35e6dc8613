#include "engine/batch/spare.h"

#include "engine/clock.h"
#include "engine/model/cost_model.h"

enum {
    MOST_COPIES = 64,
    GATHER_COPIES = 16, /* so many do not wait for more */
    GATHER_MS = 5,      /* nor does one that is as old as this */
    TIMES_ONE_ROW = 2,  /* a batch of copies takes no longer than this many of one row */
};

bool spare_is_copy(const struct job *job) {
    return job->is_spare && job->join_ns == INT64_MAX;
}

bool spare_is_full(const struct job_list *spare) {
    return spare->jobs >= MOST_COPIES;
}

int64_t spare_join(struct job_list *spare, struct job_list *queue, int64_t now_ns, bool all) {
    int64_t next_ns = INT64_MAX;
    for (struct job *job = spare->first, *next; job; job = next) {
        next = job->next;
        if (job->join_ns > now_ns && !all) {
            next_ns = job->join_ns < next_ns ? job->join_ns : next_ns;
            continue;
        }
        job_list_remove(spare, job);
        job->is_spare = false;
        job_list_append(queue, job);
    }
    return next_ns;
}

int64_t spare_due_ns(const struct job_list *spare) {
    int64_t due_ns = INT64_MAX;
    for (const struct job *job = spare->first; job; job = job->next) {
        bool waits = spare_is_copy(job) && spare->jobs < GATHER_COPIES;
        int64_t at_ns = waits ? job->submitted_ns + (int64_t)GATHER_MS * CLOCK_NS_PER_MS : 0;
        due_ns = at_ns < due_ns ? at_ns : due_ns;
    }
    return due_ns;
}

uint32_t spare_rows(const struct job *job, const struct cost_model *costs, uint32_t rows) {
    if (!spare_is_copy(job))
        return rows;
    return costs->samples > 0 ? cost_model_rows_within(costs, rows, TIMES_ONE_ROW * cost_model_predict(costs, 1)) : 1;
}
