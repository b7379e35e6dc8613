#include "engine/graph/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/file_read.h"

enum weir_status plan_file_read(const char *path, unsigned char **bytes, size_t *size, struct weir_error *err) {
    struct stat stat;
    void *memory = MAP_FAILED;
    enum weir_status status = WEIR_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &stat) != 0) {
        status = weir_fail(err, WEIR_IO, "%s", strerror(errno));
        goto out;
    }
    if (!S_ISREG(stat.st_mode)) {
        status = weir_fail(err, WEIR_INVALID, "it is not a regular file");
        goto out;
    }
    if (stat.st_size <= 0 || stat.st_size > INT_MAX) { /* protobuf's limit */
        status = weir_fail(err, stat.st_size <= 0 ? WEIR_INVALID : WEIR_TOO_LARGE,
                           "it has %lld bytes; supported: 1 to %d", (long long)stat.st_size, INT_MAX);
        goto out;
    }
    memory = mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for its %lld bytes", (long long)stat.st_size);
        goto out;
    }
    status = file_read_exactly(file, memory, (size_t)stat.st_size, 0, err);
    if (status == WEIR_OK) {
        *bytes = memory;
        *size = (size_t)stat.st_size;
    }
out:
    if (status != WEIR_OK && memory != MAP_FAILED)
        munmap(memory, (size_t)stat.st_size);
    if (file >= 0)
        close(file);
    return status;
}

void plan_file_release(unsigned char *bytes, size_t size) {
    if (bytes)
        munmap(bytes, size);
}

int plan_file_open_directory(const char *path) {
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    if (size >= sizeof directory)
        return -1;
    memcpy(directory, path, size);
    directory[size] = 0;
    return open(size > 0 ? directory : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}
