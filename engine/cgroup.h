/* The control group that this process is in: what a container may use. Source: the kernel's cgroup-v2.rst. */
#ifndef WEIR_ENGINE_CGROUP_H
#define WEIR_ENGINE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CGROUP_PATH_BYTES = 4096 };

/* Writes the path of our group beneath the mount ("/", "/a/b"). False: there is no unified hierarchy. */
bool cgroup_own(char group[CGROUP_PATH_BYTES]);

/* Reads a limit from a file of a group; 0: it sets none. */
typedef uint64_t (*cgroup_reader)(FILE *file);

/* The least limit that the group and those above it set in their files of that name; 0: none does. root is where the
 * groups are mounted ("/sys/fs/cgroup"). */
uint64_t cgroup_least(const char *root, const char *group, const char *name, cgroup_reader reader);

#endif
