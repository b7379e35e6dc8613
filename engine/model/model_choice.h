/* Which of a model's versions should be stable. */
#ifndef WEIR_ENGINE_MODEL_MODEL_CHOICE_H
#define WEIR_ENGINE_MODEL_MODEL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A version that is ready to serve. */
struct model_choice {
    uint64_t number;
    bool is_rejected; /* a rollout has rejected it as it is */
    bool is_mended;   /* a rollout has rejected other files of this number */
};

/* The number of the version that should be stable, 0 if none may be. In any order.
 * 1. The highest above newest_seen and chosen that is not rejected takes over by itself; one that is mended, also if it
 *    is not above newest_seen. Where new versions wait for a rollout, newest_seen is UINT64_MAX, and none does.
 * 2. chosen stays while it is ready; 0: nobody has chosen.
 * 3. Else the next lower one that is not rejected; without one, or with nothing chosen, the highest that is not
 *    rejected. */
uint64_t model_choice_stable(const struct model_choice *ready, size_t count, uint64_t chosen, uint64_t newest_seen);

#endif
