#include "engine/graph/external_data.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/file_read.h"

static enum weir_status refuse(const struct external_data *data, enum weir_status status, const char *why,
                               struct weir_error *err) {
    return weir_fail(err, status, "tensor '%.64s': external data at '%.*s': %s", data->tensor,
                     data->location_size < 200 ? (int)data->location_size : 200, data->location, why);
}

/* What is wrong with the location as a text, or NULL. */
static const char *location_fault(const struct external_data *data) {
    const char *at = data->location, *end = at + data->location_size;
    if (at == end)
        return "the location is empty";
    if (data->location_size >= PATH_MAX)
        return "the location is too long";
    if (memchr(at, 0, data->location_size))
        return "the location holds a NUL byte";
    if (*at == '/')
        return "the location is absolute; it must be relative to the model's directory";
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash ? slash : end;
        if (stop - at == 2 && at[0] == '.' && at[1] == '.')
            return "the location holds '..'; it must lie beneath the model's directory";
        at = slash ? slash + 1 : end;
    }
    return NULL;
}

enum weir_status external_data_open(int directory, const struct external_data *data, size_t size, int *file,
                                    struct weir_error *err) {
    char path[PATH_MAX];
    struct stat stat;
    enum weir_status status;
    const char *fault = location_fault(data);
    if (fault)
        return refuse(data, WEIR_INVALID, fault, err);
    if (directory < 0)
        return refuse(data, WEIR_INVALID, "the model was not read from a directory", err);
    memcpy(path, data->location, data->location_size);
    path[data->location_size] = 0;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int opened = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (opened < 0) {
        if (errno == ENOSYS)
            return refuse(data, WEIR_UNSUPPORTED, "this kernel has no openat2, which keeps such files confined", err);
        if (errno == EXDEV || errno == ELOOP)
            return refuse(data, WEIR_INVALID, "it leads through a symbolic link or out of the model's directory", err);
        return refuse(data, errno == ENOENT ? WEIR_INVALID : WEIR_IO, strerror(errno), err);
    }
    if (fstat(opened, &stat) != 0) {
        status = refuse(data, WEIR_IO, strerror(errno), err);
        goto out;
    }
    if (!S_ISREG(stat.st_mode)) {
        status = refuse(data, WEIR_INVALID, "it is not a regular file", err);
        goto out;
    }
    uint64_t present = (uint64_t)stat.st_size;
    uint64_t behind = data->offset_bytes <= present ? present - data->offset_bytes : 0;
    uint64_t length = data->length_bytes == UINT64_MAX ? behind : data->length_bytes;
    if (length != size || length > behind) {
        status = weir_fail(err, WEIR_INVALID,
                           "tensor '%.64s': external data at '%.200s': %llu bytes at offset %llu do not make its %zu "
                           "bytes (the file has %llu)",
                           data->tensor, path, (unsigned long long)length, (unsigned long long)data->offset_bytes, size,
                           (unsigned long long)present);
        goto out;
    }
    *file = opened;
    return WEIR_OK;
out:
    close(opened);
    return status;
}

enum weir_status external_data_read(int file, const struct external_data *data, void *memory, size_t size,
                                    struct weir_error *err) {
    struct weir_error why;
    enum weir_status status = file_read_exactly(file, memory, size, data->offset_bytes, &why);
    return status == WEIR_OK ? WEIR_OK : refuse(data, status, why.text, err);
}
