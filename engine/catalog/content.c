#include "engine/catalog/content.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/model/file_walk.h"

enum { PIECE_BYTES = 1 << 20, PIECE_REST_US = 200 /* so that others get at the disk */ };

struct reading {
    const struct catalog *catalog;
    int directory; /* open */
    char *piece;
    uint64_t sum[2];
};

/* Two lanes of multiplication and shifts: good against chance, and files are not chosen against it. */
static void stir(uint64_t lanes[2], uint64_t word) {
    lanes[0] = (lanes[0] ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    lanes[0] ^= lanes[0] >> 29;
    lanes[1] = (lanes[1] + word) * UINT64_C(0xD6E8FEB86659FD93);
    lanes[1] ^= lanes[1] >> 32;
}

static void stir_bytes(uint64_t lanes[2], const char *bytes, size_t size) {
    uint64_t word;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        stir(lanes, word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    stir(lanes, word ^ (uint64_t)size << 56);
}

/* Adds a file: its name and what it holds, in any order of files. */
static enum weir_status add_file(struct reading *reading, const char *name, struct weir_error *err) {
    uint64_t lanes[2] = {1, 2};
    size_t filled = 0;
    ssize_t n = 1;
    int file = openat(reading->directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return weir_fail(err, WEIR_IO, "%s cannot be opened", name);
    stir_bytes(lanes, name, strlen(name));
    while (n > 0 && !reading->catalog->stopping) {
        n = read(file, reading->piece + filled, PIECE_BYTES - filled);
        filled += n > 0 ? (size_t)n : 0;
        if (filled == PIECE_BYTES || n == 0) {
            stir_bytes(lanes, reading->piece, filled);
            filled = 0;
            nanosleep(&(struct timespec){.tv_nsec = PIECE_REST_US * CLOCK_NS_PER_US}, NULL);
        }
    }
    close(file);
    reading->sum[0] += lanes[0];
    reading->sum[1] += lanes[1];
    return n == 0 ? WEIR_OK : weir_fail(err, WEIR_IO, "%s cannot be read", name);
}

static enum weir_status visit(void *context, const char *path, const struct stat *stat, struct weir_error *err) {
    (void)stat;
    return add_file(context, path, err);
}

static enum weir_status read_all(struct reading *reading, const struct catalog_model *model, const char *path,
                                 struct weir_error *err) {
    struct file_visitor visitor = {.context = reading, .visit = visit};
    char *directory = model->is_loose ? NULL : strndup(path, (size_t)(strrchr(path, '/') - path));
    reading->directory = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    free(directory);
    if (reading->directory == AT_FDCWD)
        return add_file(reading, path, err);
    if (reading->directory < 0)
        return weir_fail(err, WEIR_IO, "%s: its directory cannot be opened", path);
    enum weir_status status = file_walk(reading->directory, &visitor, err);
    close(reading->directory);
    return status;
}

void content_read(struct catalog *catalog, const struct catalog_model *model, struct entry *entry) {
    struct snapshot before, after;
    struct weir_error err;
    if (snapshot_take(entry->path, !model->is_loose, &before, &err) != WEIR_OK || snapshot_equal(&before, &entry->held))
        return;
    struct reading reading = {.catalog = catalog, .piece = malloc(PIECE_BYTES)};
    if (reading.piece && read_all(&reading, model, entry->path, &err) == WEIR_OK &&
        snapshot_take(entry->path, !model->is_loose, &after, &err) == WEIR_OK && snapshot_equal(&before, &after)) {
        pthread_mutex_lock(&catalog->changing);
        entry->held = before;
        memcpy(entry->content, reading.sum, sizeof entry->content);
        pthread_mutex_unlock(&catalog->changing);
    }
    free(reading.piece);
}
