#include "engine/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static int quota_of(const char *path) {
    long long quota, period;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    int read = fscanf(file, "%lld %lld", &quota, &period); /* "max" is no number */
    fclose(file);
    if (read != 2 || quota <= 0 || period <= 0)
        return 0;
    long long cpus = quota / period + (quota % period > 0);
    return cpus < CPU_SETSIZE ? (int)cpus : CPU_SETSIZE;
}

int cpus_quota(const char *root, const char *group) {
    char path[PATH_BYTES];
    size_t length = strlen(group);
    int least = 0;
    for (;;) {
        while (length > 0 && group[length - 1] == '/')
            length--;
        int size = snprintf(path, sizeof path, "%s%.*s/cpu.max", root, (int)length, group);
        int quota = size < (int)sizeof path ? quota_of(path) : 0;
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
        if (length == 0)
            return least;
        while (length > 0 && group[length - 1] != '/')
            length--;
    }
}

/* Our control group in the unified hierarchy: the line "0::/path". False: there is none. */
static bool read_group(char *group) {
    char line[PATH_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        found = strncmp(line, "0::/", 4) == 0;
    }
    fclose(file);
    if (found)
        strcpy(group, line + 3);
    return found;
}

int cpus_available(void) {
    char group[PATH_BYTES];
    cpu_set_t cpus;
    int available = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    int quota = read_group(group) ? cpus_quota("/sys/fs/cgroup", group) : 0;
    if (quota > 0 && quota < available)
        available = quota;
    return available > 0 ? available : 1;
}
