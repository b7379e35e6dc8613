/* How much memory this process may hope for: what the machine has, and what a container's limit allows. */
#ifndef WEIR_ENGINE_MEMORY_H
#define WEIR_ENGINE_MEMORY_H

#include <stddef.h>

/* thread: any. */
size_t memory_available(void);

/* The bound that a control group and those above it set, in bytes; 0 if none does. As cpus_quota. Source: memory.max:
 * a number of bytes, or "max". */
size_t memory_quota(const char *root, const char *group);

#endif
