#include "engine/clock.h"

#include <time.h>

int64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * CLOCK_NS_PER_S + now.tv_nsec;
}

void clock_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t at_ns) {
    struct timespec at = {.tv_sec = at_ns / CLOCK_NS_PER_S, .tv_nsec = at_ns % CLOCK_NS_PER_S};
    return pthread_cond_timedwait(cond, lock, &at) == 0;
}

int64_t clock_unix_s(void) {
    return (int64_t)time(NULL);
}
