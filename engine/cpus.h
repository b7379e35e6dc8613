/* How many processors this process may keep busy: what the scheduler lets it use, and what a container's limit allows.
 */
#ifndef WEIR_ENGINE_CPUS_H
#define WEIR_ENGINE_CPUS_H

/* At least 1. thread: any. */
int cpus_available(void);

/* The bound that a control group and those above it set, in whole processors rounded up; 0 if none does. root is where
 * the groups are mounted ("/sys/fs/cgroup"), group the path of ours beneath it ("/", "/a/b"). Source: the kernel's
 * cgroup-v2.rst, cpu.max: "QUOTA PERIOD" in microseconds, or "max PERIOD". */
int cpus_quota(const char *root, const char *group);

#endif
