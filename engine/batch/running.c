#include "engine/batch/running.h"

#include <assert.h>

void running_begin(struct running *running, int64_t now_ns, int64_t took_ns) {
    assert(running->count < RUNNING_SLOTS);
    running->free_ns = (running->count > 0 && running->free_ns > now_ns ? running->free_ns : now_ns) + took_ns;
    running->batches[running->count].taken_ns = now_ns;
    running->batches[running->count].expected_ns = took_ns;
    running->count++;
}

int64_t running_end(struct running *running, int64_t taken_ns, int64_t now_ns) {
    int64_t begun_ns = taken_ns > running->ended_ns ? taken_ns : running->ended_ns;
    running->ended_ns = now_ns;
    running->count--;
    running->batches[0] = running->batches[RUNNING_SLOTS - 1];
    running->free_ns = now_ns + (running->count > 0 ? running->batches[0].expected_ns : 0);
    return now_ns - begun_ns;
}

int64_t running_free_ns(const struct running *running, int64_t now_ns, int64_t *over_ns) {
    *over_ns = running->count > 0 && running->free_ns < now_ns ? now_ns - running->free_ns : 0;
    return *over_ns > 0 ? now_ns + *over_ns : running->free_ns;
}
