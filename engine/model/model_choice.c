#include "engine/model/model_choice.h"

/* The highest number in [from, to] that is not rejected; 0 if there is none. */
static uint64_t highest(const struct model_choice *ready, size_t count, uint64_t from, uint64_t to) {
    uint64_t best = 0;
    for (size_t i = 0; i < count; i++)
        if (!ready[i].is_rejected && ready[i].number >= from && ready[i].number <= to && ready[i].number > best)
            best = ready[i].number;
    return best;
}

/* The highest above chosen that nobody has seen yet as it is; 0 if there is none. */
static uint64_t newcomer(const struct model_choice *ready, size_t count, uint64_t chosen, uint64_t newest_seen) {
    uint64_t best = 0;
    for (size_t i = 0; i < count; i++)
        if (!ready[i].is_rejected && ready[i].number > chosen && ready[i].number > best &&
            (ready[i].number > newest_seen || ready[i].is_mended))
            best = ready[i].number;
    return best;
}

uint64_t model_choice_stable(const struct model_choice *ready, size_t count, uint64_t chosen, uint64_t newest_seen) {
    uint64_t best = newest_seen < UINT64_MAX ? newcomer(ready, count, chosen, newest_seen) : 0;
    for (size_t i = 0; i < count && best == 0 && chosen > 0; i++)
        if (ready[i].number == chosen)
            return chosen;
    if (best == 0)
        best = highest(ready, count, 0, chosen);
    return best > 0 ? best : highest(ready, count, 0, UINT64_MAX);
}
