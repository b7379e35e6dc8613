#include "engine/thread.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NICE = 10 };

static _Thread_local enum thread_role own_role;

void thread_enter(enum thread_role role, int index) {
    static const char *const names[] = {"weir", "loop", "dev", "loader", "sampler", "rollout", "writer", "exporter"};
    char name[16];
    own_role = role;
    snprintf(name, sizeof name, "%s-%d", names[role], index % 1000);
    pthread_setname_np(pthread_self(), name);
}

bool thread_is(enum thread_role role) {
    return own_role == role;
}

void thread_yield_to_others(void) {
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
}

/* struct sched_attr of the kernel, first version (48 bytes). */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

enum { SHORT_SLICE_NS = 100000 }; /* the least the kernel takes */

void thread_prefer_short_waits(void) {
    struct scheduling scheduling = {.size = sizeof scheduling};
    if (syscall(SYS_sched_getattr, 0, &scheduling, sizeof scheduling, 0) != 0 || scheduling.policy != 0)
        return; /* somebody chose another policy for us */
    scheduling.runtime_ns = SHORT_SLICE_NS;
    syscall(SYS_sched_setattr, 0, &scheduling, 0);
}
