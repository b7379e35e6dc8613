#include "engine/catalog/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void paired_note(struct paired *paired, const int64_t took_ns[2]) {
    paired->ratios[paired->rounds % PAIRED_MOST] = (double)took_ns[1] / (double)took_ns[0];
    paired->rounds++;
    paired->stale++;
    for (int i = 0; i < 2; i++)
        if (paired->quickest_ns[i] == 0 || took_ns[i] < paired->quickest_ns[i]) {
            paired->quickest_ns[i] = took_ns[i];
            paired->stale = 0;
        }
}

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double paired_ratio(const struct paired *paired) {
    double sorted[PAIRED_MOST];
    size_t count = paired->rounds < PAIRED_MOST ? paired->rounds : PAIRED_MOST;
    if (count == 0)
        return 0;
    memcpy(sorted, paired->ratios, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    double quickest = (double)paired->quickest_ns[1] / (double)paired->quickest_ns[0];
    return fmin(quickest, (sorted[(count - 1) / 2] + sorted[count / 2]) / 2);
}
