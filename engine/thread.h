/* What a thread is for. Each has a name that tools show, and a role that debug builds assert. */
#ifndef WEIR_ENGINE_THREAD_H
#define WEIR_ENGINE_THREAD_H

#include <stdbool.h>

enum thread_role {
    THREAD_OTHER,
    THREAD_LOOP,
    THREAD_DEVICE,
    THREAD_LOADER,
    THREAD_SAMPLER,
    THREAD_ROLLOUT,
    THREAD_WRITER,   /* of the access log */
    THREAD_EXPORTER, /* of traces */
};

/* Names the calling thread "loop-INDEX", "dev-INDEX", "loader-INDEX"... and gives it its role. */
void thread_enter(enum thread_role role, int index);

/* Is the calling thread of this role? For asserts. */
bool thread_is(enum thread_role role);

/* Lets others go first from now on: what the calling thread does can wait. There is no way back. */
void thread_yield_to_others(void);

/* Asks the scheduler to let the calling thread run soon after it wakes, rather than long once it runs: a loop that
 * shares its core with a device's long batch answers within a fraction of a millisecond instead of several. A wish:
 * kernels before 6.12 do not know it. Source: sched_setattr(2), sched_runtime of SCHED_OTHER. */
void thread_prefer_short_waits(void);

#endif
