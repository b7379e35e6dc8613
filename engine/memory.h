/* How much memory this process may hope for: what the machine has, and what a container's limit allows. */
#ifndef WEIR_ENGINE_MEMORY_H
#define WEIR_ENGINE_MEMORY_H

#include <stddef.h>

/* thread: any. */
size_t memory_available(void);

/* How much of it is free now, or held by files that would make room; SIZE_MAX: not known. thread: any. */
size_t memory_free(void);

/* The same of a control group that has a bound of its own; SIZE_MAX: it has none, or its use is not known. Source:
 * memory.max, memory.current and the line "file" of memory.stat. */
size_t memory_group_free(const char *root, const char *group);

/* The bound that a control group and those above it set, in bytes; 0 if none does. As cpus_quota. Source: memory.max:
 * a number of bytes, or "max". */
size_t memory_quota(const char *root, const char *group);

#endif
