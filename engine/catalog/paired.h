/* Two series of times taken in turn: how much longer does the second take, where a busy machine makes any of them
 * longer? Private to engine/catalog*. */
#ifndef WEIR_ENGINE_CATALOG_PAIRED_H
#define WEIR_ENGINE_CATALOG_PAIRED_H

#include <stdbool.h>
#include <stdint.h>

enum { PAIRED_MOST = 101 };

struct paired {
    int64_t quickest_ns[2]; /* of all rounds; 0: none yet */
    double ratios[PAIRED_MOST];
    uint32_t rounds, stale; /* of all; since one brought a quicker time */
};

/* Takes one round, the two times in ns, both above 0. */
void paired_note(struct paired *paired, const int64_t took_ns[2]);

/* How many times as long the second takes: the ratio of the quickest times, or the median of the rounds' ratios,
 * whichever is less. One moment of quiet that only one of them met raises the first, and load that comes and goes
 * spreads the others to both sides; what is slower by itself raises both. 0: no round yet. */
double paired_ratio(const struct paired *paired);

#endif
