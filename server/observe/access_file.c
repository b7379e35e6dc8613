#include "server/observe/access_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/observe/access_entry.h"

enum { BUFFER_BYTES = 64 * 1024, MODE = 0640 };
_Static_assert(ACCESS_LINE_BYTES <= PIPE_BUF, "a line must fit one atomic write to a pipe");

static enum weir_status open_path(const char *path, int *out, bool *is_regular, struct weir_error *err) {
    struct stat about;
    if (strcmp(path, "-") == 0) {
        *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    } else {
        /* With a reader of our own, a FIFO opens without another one and outlives those that come and go. */
        bool is_fifo = stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
        int flags = is_fifo ? O_RDWR : O_WRONLY | O_CREAT | O_APPEND;
        *out = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, MODE);
    }
    if (*out < 0)
        return weir_fail(err, WEIR_IO, "cannot open the access log %.400s: %s", path, strerror(errno));
    *is_regular = fstat(*out, &about) == 0 && S_ISREG(about.st_mode);
    return WEIR_OK;
}

enum weir_status access_file_open(struct access_file *file, const char *path, struct weir_error *err) {
    *file = (struct access_file){.path = path, .fd = -1};
    file->bytes = malloc(BUFFER_BYTES);
    if (!file->bytes)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the access log");
    enum weir_status status = open_path(path, &file->fd, &file->is_regular, err);
    if (status != WEIR_OK)
        access_file_close(file);
    return status;
}

void access_file_close(struct access_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    free(file->bytes);
    file->fd = -1;
    file->bytes = NULL;
}

char *access_file_room(struct access_file *file) {
    return file->size + ACCESS_LINE_BYTES <= BUFFER_BYTES ? file->bytes + file->size : NULL;
}

void access_file_add(struct access_file *file, size_t size) {
    file->size += size;
}

static uint64_t count_lines(const char *bytes, size_t size) {
    uint64_t count = 0;
    for (const char *at = bytes, *end = bytes + size; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

/* Has the file the beginning of a line, whose rest is in the buffer? */
static bool is_torn(const struct access_file *file) {
    return file->sent > 0 && file->sent < file->size && file->bytes[file->sent - 1] != '\n';
}

/* Keeps no more than the rest of a torn line. */
static void fail(struct access_file *file) {
    const char *rest = file->bytes + file->sent;
    size_t left = file->size - file->sent, kept = 0;
    if (is_torn(file))
        kept = (size_t)((const char *)memchr(rest, '\n', left) - rest) + 1;
    file->losses += count_lines(rest + kept, left - kept);
    if (kept == 0) {
        file->size = file->sent = 0;
        return;
    }
    /* The byte before it stays too: it says that the line is torn. */
    memmove(file->bytes, rest - 1, kept + 1);
    file->sent = 1;
    file->size = kept + 1;
}

/* How much the next write takes: what is not a regular file gets whole lines that fit one atomic write. */
static size_t next_size(const struct access_file *file) {
    size_t left = file->size - file->sent;
    if (file->is_regular || left <= PIPE_BUF)
        return left;
    const char *rest = file->bytes + file->sent;
    const char *last = memrchr(rest, '\n', PIPE_BUF);
    return last ? (size_t)(last - rest) + 1 : PIPE_BUF;
}

enum access_file_state access_file_flush(struct access_file *file) {
    while (file->sent < file->size) {
        struct pollfd ready = {.fd = file->fd, .events = POLLOUT};
        if (!file->is_regular && poll(&ready, 1, 0) == 0)
            return ACCESS_FILE_BUSY;
        ssize_t written = write(file->fd, file->bytes + file->sent, next_size(file));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return ACCESS_FILE_BUSY;
        if (written <= 0) {
            file->error = written < 0 ? errno : EIO;
            fail(file);
            return ACCESS_FILE_FAILED;
        }
        file->lines += count_lines(file->bytes + file->sent, (size_t)written);
        file->sent += (size_t)written;
        file->error = 0;
    }
    file->size = file->sent = 0;
    return ACCESS_FILE_DONE;
}

void access_file_drop(struct access_file *file) {
    file->losses += count_lines(file->bytes + file->sent, file->size - file->sent);
    file->size = file->sent = 0;
}

enum weir_status access_file_reopen(struct access_file *file, struct weir_error *err) {
    int fd;
    bool is_regular;
    if (strcmp(file->path, "-") == 0)
        return WEIR_OK;
    enum weir_status status = open_path(file->path, &fd, &is_regular, err);
    if (status != WEIR_OK)
        return status;
    if (access_file_flush(file) != ACCESS_FILE_DONE && is_torn(file)) { /* its rest means nothing in another file */
        const char *rest = file->bytes + file->sent;
        file->sent += (size_t)((const char *)memchr(rest, '\n', file->size - file->sent) - rest) + 1;
        file->losses++;
    }
    close(file->fd);
    file->fd = fd;
    file->is_regular = is_regular;
    return WEIR_OK;
}
