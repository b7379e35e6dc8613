#include "engine/model/file_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct walk {
    const struct file_visitor *visitor;
    int entries;
    char path[PATH_MAX]; /* of the entry that is being looked at */
};

/* A directory that is open, and the one that it was reached from. */
struct level {
    int directory;
    int depth;
    size_t path_length; /* of its own path, with a slash behind it */
    const struct level *above;
};

static enum weir_status walk_level(struct walk *walk, const struct level *level, struct weir_error *err);

static enum weir_status cannot(const char *path, int number, struct weir_error *err) {
    if (number == ENOENT || number == ENOTDIR || number == ESTALE)
        return weir_fail(err, WEIR_NOT_FOUND, "%.300s: vanished, or is a link that leads nowhere", path);
    return weir_fail(err, WEIR_IO, "%.300s: %s", path, strerror(number));
}

/* Is the directory one of those it was reached through? */
static bool is_above(int directory, const struct level *level) {
    struct stat here, there;
    if (fstat(directory, &here) != 0)
        return true;
    for (; level; level = level->above)
        if (fstat(level->directory, &there) == 0 && there.st_dev == here.st_dev && there.st_ino == here.st_ino)
            return true;
    return false;
}

static enum weir_status enter(struct walk *walk, const struct level *level, const char *name, bool is_link,
                              struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    size_t length = strlen(walk->path);
    int directory = openat(level->directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return cannot(walk->path, errno, err);
    if (is_link && is_above(directory, level))
        goto out;
    if (level->depth == FILE_WALK_DEPTH || length + 2 > sizeof walk->path) {
        status = weir_fail(err, WEIR_TOO_LARGE, "%.300s: more than %d directories within each other", walk->path,
                           FILE_WALK_DEPTH);
        goto out;
    }
    walk->path[length] = '/';
    struct level below = {directory, level->depth + 1, length + 1, level};
    status = walk_level(walk, &below, err);
out:
    close(directory);
    return status;
}

static enum weir_status look_at(struct walk *walk, const struct level *level, const struct dirent64 *entry,
                                struct weir_error *err) {
    struct stat stat;
    size_t length = strlen(entry->d_name);
    if (level->path_length + length + 1 > sizeof walk->path)
        return weir_fail(err, WEIR_TOO_LARGE, "%.300s: the path is too long", walk->path);
    memcpy(walk->path + level->path_length, entry->d_name, length + 1);
    if (++walk->entries > FILE_WALK_MOST)
        return weir_fail(err, WEIR_TOO_LARGE, "more than %d files and directories", FILE_WALK_MOST);
    if (entry->d_type == DT_DIR)
        return enter(walk, level, entry->d_name, false, err);
    if (fstatat(level->directory, entry->d_name, &stat, 0) != 0)
        return cannot(walk->path, errno, err);
    if (S_ISDIR(stat.st_mode))
        return enter(walk, level, entry->d_name, true, err);
    return S_ISREG(stat.st_mode) ? walk->visitor->visit(walk->visitor->context, walk->path, &stat, err) : WEIR_OK;
}

static enum weir_status walk_level(struct walk *walk, const struct level *level, struct weir_error *err) {
    _Alignas(struct dirent64) char entries[4096];
    for (;;) {
        ssize_t size = getdents64(level->directory, entries, sizeof entries);
        if (size < 0) {
            walk->path[level->path_length] = 0;
            return cannot(level->path_length > 0 ? walk->path : ".", errno, err);
        }
        if (size == 0)
            return WEIR_OK;
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            at += entry->d_reclen;
            enum weir_status status = entry->d_name[0] == '.' ? WEIR_OK : look_at(walk, level, entry, err);
            if (status != WEIR_OK)
                return status;
        }
    }
}

enum weir_status file_walk(int directory, const struct file_visitor *visitor, struct weir_error *err) {
    struct walk walk;
    struct level top = {.directory = directory};
    walk.visitor = visitor;
    walk.entries = 0;
    walk.path[0] = 0;
    if (lseek(directory, 0, SEEK_SET) < 0)
        return cannot(".", errno, err);
    return walk_level(&walk, &top, err);
}
