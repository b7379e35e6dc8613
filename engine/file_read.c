#include "engine/file_read.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum weir_status file_read_exactly(int file, void *to, size_t size, uint64_t offset, struct weir_error *err) {
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(file, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return weir_fail(err, WEIR_IO, "%s", n < 0 ? strerror(errno) : "it became shorter while it was read");
        done += (size_t)n;
    }
    return WEIR_OK;
}
