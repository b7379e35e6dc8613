#include "engine/clock.h"

#include <time.h>

int64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * CLOCK_NS_PER_S + now.tv_nsec;
}

int64_t clock_unix_s(void) {
    return (int64_t)time(NULL);
}
