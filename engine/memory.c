#include "engine/memory.h"

#include <stdint.h>
#include <unistd.h>

#include "engine/cgroup.h"

static uint64_t read_bytes(FILE *file) {
    unsigned long long bytes;
    return fscanf(file, "%llu", &bytes) == 1 ? bytes : 0; /* "max" is no number */
}

size_t memory_quota(const char *root, const char *group) {
    uint64_t quota = cgroup_least(root, group, "memory.max", read_bytes);
    return quota < SIZE_MAX ? (size_t)quota : SIZE_MAX;
}

size_t memory_available(void) {
    char group[CGROUP_PATH_BYTES];
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t available = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    size_t quota = cgroup_own(group) ? memory_quota("/sys/fs/cgroup", group) : 0;
    return quota > 0 && quota < available ? quota : available;
}
