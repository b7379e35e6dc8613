/* The checks of a rollout: is what was seen of the candidate worse than the plan allows, beyond what chance would
 * bring? */
#ifndef WEIR_ENGINE_MODEL_ROLLOUT_JUDGE_H
#define WEIR_ENGINE_MODEL_ROLLOUT_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/model/rollout.h"

/* Requests of both versions from which on the p99 is judged; before, it is the median, from ROLLOUT_MEDIAN_REQUESTS. */
enum { ROLLOUT_P99_REQUESTS = 200, ROLLOUT_MEDIAN_REQUESTS = 30 };

/* What one look goes by. */
struct rollout_look {
    const struct rollout_plan *plan;
    const struct rollout_window *recent; /* what is judged */
    const struct rollout_evidence *all;  /* since the rollout began */
    bool is_early;                       /* the recent window is the step's first */
    bool is_slow;                        /* the compute ratio was too high for some ticks */
};

/* Is the candidate to be rolled back? Then reason names check, figure, limit and number of requests. */
bool rollout_judge_fails(const struct rollout_look *look, char *reason, size_t size);

/* May the rollout go on to more traffic? Stricter: the plain figures are within the limits, whether chance or stable is
 * to blame or not. If not, reason names what is over. */
bool rollout_judge_passes(const struct rollout_look *look, char *reason, size_t size);

/* Is the compute ratio of the evidence above the limit? */
bool rollout_judge_is_slow(const struct rollout_plan *plan, const struct rollout_evidence *evidence);

#endif
