#include "engine/graph/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void pages_let_go(const void *bytes, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)bytes + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)bytes + size) / page * page;
    if (end > start)
        (void)madvise((void *)start, end - start, MADV_DONTNEED); /* if it fails the memory just stays */
}
