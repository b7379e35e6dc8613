#include "engine/cgroup.h"

#include <string.h>

bool cgroup_own(char group[CGROUP_PATH_BYTES]) {
    char line[CGROUP_PATH_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) { /* the unified hierarchy's line is "0::/path" */
        line[strcspn(line, "\n")] = 0;
        found = strncmp(line, "0::/", 4) == 0;
    }
    fclose(file);
    if (found)
        strcpy(group, line + 3);
    return found;
}

static uint64_t read_limit(const char *path, cgroup_reader reader) {
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    uint64_t limit = reader(file);
    fclose(file);
    return limit;
}

uint64_t cgroup_least(const char *root, const char *group, const char *name, cgroup_reader reader) {
    char path[CGROUP_PATH_BYTES];
    size_t length = strlen(group);
    uint64_t least = 0;
    for (;;) {
        while (length > 0 && group[length - 1] == '/')
            length--;
        int size = snprintf(path, sizeof path, "%s%.*s/%s", root, (int)length, group, name);
        uint64_t limit = size < (int)sizeof path ? read_limit(path, reader) : 0;
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
        if (length == 0)
            return least;
        while (length > 0 && group[length - 1] != '/')
            length--;
    }
}
