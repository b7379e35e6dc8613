#include "engine/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

/* A number of a group's file, or of the line of it that begins with name; UINT64_MAX: there is none. */
static uint64_t read_group(const char *root, const char *group, const char *file_name, const char *name) {
    char path[CGROUP_PATH_BYTES + 64], line[256];
    uint64_t value = UINT64_MAX;
    snprintf(path, sizeof path, "%s%s/%s", root, group, file_name);
    FILE *file = fopen(path, "re");
    size_t length = strlen(name);
    while (file && value == UINT64_MAX && fgets(line, sizeof line, file)) {
        unsigned long long number;
        if (strncmp(line, name, length) == 0 && sscanf(line + length, "%llu", &number) == 1)
            value = number;
    }
    if (file)
        fclose(file);
    return value;
}

size_t memory_group_free(const char *root, const char *group) {
    uint64_t most = read_group(root, group, "memory.max", ""), used = read_group(root, group, "memory.current", "");
    uint64_t files = read_group(root, group, "memory.stat", "file ");
    if (most == UINT64_MAX || used == UINT64_MAX)
        return SIZE_MAX;
    if (files != UINT64_MAX)
        used = used > files ? used - files : 0;
    return most > used ? (size_t)(most - used) : 0;
}

size_t memory_free(void) {
    char group[CGROUP_PATH_BYTES];
    uint64_t kib = read_group("/proc", "", "meminfo", "MemAvailable:");
    size_t free_bytes = kib != UINT64_MAX ? (size_t)kib * 1024 : SIZE_MAX;
    size_t of_group = cgroup_own(group) ? memory_group_free("/sys/fs/cgroup", group) : SIZE_MAX;
    return of_group < free_bytes ? of_group : free_bytes;
}
