/* Samples on their way to the disk. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/model/samples.h"
#include "engine/npy.h"

/* A directory of samples takes hidden files for nobody's. */
static const char NEW_NAME[] = ".output.new";

const char *samples_file_name(const char *name, char *text, size_t size) {
    size_t used = 0;
    for (; *name && used + 4 <= size; name++) {
        unsigned char byte = (unsigned char)*name;
        if (byte < 0x20 || byte == 0x7F || byte == '/' || byte == '%')
            used += (size_t)snprintf(text + used, size - used, "%%%02X", byte);
        else
            text[used++] = *name;
    }
    text[used] = 0;
    return text;
}

static bool write_whole(int fd, const void *bytes, size_t size) {
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* A file of its own in the directory, on the disk, under NEW_NAME. */
static bool write_new(int directory, const void *head, size_t head_bytes, const void *data, size_t data_bytes) {
    if (unlinkat(directory, NEW_NAME, 0) != 0 && errno != ENOENT)
        return false;
    int fd = openat(directory, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    bool good = write_whole(fd, head, head_bytes) && write_whole(fd, data, data_bytes) && fsync(fd) == 0;
    int error = errno;
    close(fd);
    errno = error;
    return good;
}

enum weir_status samples_write_output(const char *directory, const struct signature *signature,
                                      const struct samples *samples, int output, struct weir_error *err) {
    const struct tensor_spec *spec = &signature->outputs[output];
    const struct job_tensor *tensor = &samples->outputs[output];
    const char *old = samples->output_files ? samples->output_files[output] : NULL;
    struct tensor_shape shape = {.rank = 0};
    char text[NAME_MAX + 8], name[NAME_MAX + 32], head[NPY_HEAD_ROOM];
    size_t rows = 1;
    if (spec->batch_axis >= 0) {
        rows = samples->dims.rows;
        shape.dims[shape.rank++] = samples->dims.rows;
    }
    for (int i = 0; i < tensor->row.rank; i++)
        shape.dims[shape.rank++] = tensor->row.dims[i];
    snprintf(name, sizeof name, "output.%s.npy", samples_file_name(spec->name, text, sizeof text));
    if (!old && strlen(name) > NAME_MAX)
        return weir_fail(err, WEIR_INVALID, "%s: output \"%.100s\": the name is too long for a file's", directory,
                         spec->name);
    const char *final = old ? old : name;
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t head_bytes = npy_write_head(spec->dtype, &shape, head, sizeof head);
    bool good = folder >= 0 && write_new(folder, head, head_bytes, tensor->data, rows * tensor->row_bytes) &&
                renameat(folder, NEW_NAME, folder, final) == 0 && fsync(folder) == 0;
    int error = errno;
    if (!good && folder >= 0)
        unlinkat(folder, NEW_NAME, 0);
    if (folder >= 0)
        close(folder);
    return good ? WEIR_OK : weir_fail(err, WEIR_IO, "%s/%s: cannot be written: %s", directory, final, strerror(error));
}
