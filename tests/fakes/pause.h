/* What a test does between two looks at what it waits for. It sleeps: a loop that only yields takes the processor from
 * the threads it waits for. */
#ifndef WEIR_TESTS_FAKES_PAUSE_H
#define WEIR_TESTS_FAKES_PAUSE_H

#include <time.h>

enum { PAUSE_NS = 50000 };

static inline void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

#endif
