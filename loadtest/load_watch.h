/* The CPU time of another process's threads, by their names. */
#ifndef WEIR_LOADTEST_LOAD_WATCH_H
#define WEIR_LOADTEST_LOAD_WATCH_H

#include <stdint.h>

enum { WATCH_THREADS = 64, WATCH_NAME_BYTES = 16 };

struct watch {
    struct {
        char name[WATCH_NAME_BYTES];
        int64_t cpu_ns;
    } threads[WATCH_THREADS];
    int thread_count;
    int64_t total_ns; /* -1: the process cannot be read */
};

/* Reads the times now. pid 0: none is watched. */
void watch_read(struct watch *watch, int pid);

/* What passed from `begin` to `end`, by name; names that several threads have are added up. */
void watch_subtract(const struct watch *begin, const struct watch *end, struct watch *out);

#endif
