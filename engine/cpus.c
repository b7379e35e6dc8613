#include "engine/cpus.h"

#include <sched.h>

#include "engine/cgroup.h"

static uint64_t read_quota(FILE *file) {
    long long quota, period;
    if (fscanf(file, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) /* "max" is no number */
        return 0;
    return (uint64_t)(quota / period + (quota % period > 0));
}

int cpus_quota(const char *root, const char *group) {
    uint64_t quota = cgroup_least(root, group, "cpu.max", read_quota);
    return quota < CPU_SETSIZE ? (int)quota : CPU_SETSIZE;
}

int cpus_available(void) {
    char group[CGROUP_PATH_BYTES];
    cpu_set_t cpus;
    int available = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    int quota = cgroup_own(group) ? cpus_quota("/sys/fs/cgroup", group) : 0;
    if (quota > 0 && quota < available)
        available = quota;
    return available > 0 ? available : 1;
}
