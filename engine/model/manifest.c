#include "engine/model/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/file_read.h"
#include "engine/model/file_walk.h"
#include "engine/model/manifest_text.h"

enum {
    MOST_BYTES = 4 << 20, /* of a manifest */
};
_Static_assert((int)MANIFEST_HASH_BYTES == (int)FILE_HASH_BYTES, "a manifest has the hashes of files");

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory for a manifest");
}

/* Opens a file beneath the directory; links are followed as long as they stay there. Otherwise the status. */
static enum weir_status open_beneath(int directory, const char *path, int *out, struct stat *info,
                                     struct weir_error *err) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int file = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (file < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return weir_fail(err, WEIR_NOT_READY, "incomplete: %.300s is missing", path);
        if (errno == EXDEV)
            return weir_fail(err, WEIR_INVALID, "%.300s leads out of the version's directory", path);
        if (errno == ENOSYS)
            return weir_fail(err, WEIR_UNSUPPORTED, "this kernel has no openat2, which keeps files confined");
        return weir_fail(err, WEIR_IO, "%.300s: %s", path, strerror(errno));
    }
    if (fstat(file, info) == 0 && S_ISREG(info->st_mode)) {
        *out = file;
        return WEIR_OK;
    }
    close(file);
    return weir_fail(err, WEIR_INVALID, "%.300s is not a regular file", path);
}

static enum weir_status open_directory(const char *path, int *out, struct weir_error *err) {
    *out = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*out >= 0)
        return WEIR_OK;
    return weir_fail(err, errno == ENOENT || errno == ENOTDIR ? WEIR_NOT_FOUND : WEIR_IO, "%s", strerror(errno));
}

/* Reads the manifest in the directory. *present: there is one. */
static enum weir_status read_manifest(int directory, struct manifest_text *manifest, bool *present,
                                      struct weir_error *err) {
    struct stat info;
    char *text = NULL;
    size_t size;
    int file;
    enum weir_status status = open_beneath(directory, MANIFEST_NAME, &file, &info, err);
    *present = status != WEIR_NOT_READY;
    if (status != WEIR_OK)
        return *present ? status : WEIR_OK;
    size = (size_t)info.st_size;
    if (size > MOST_BYTES) {
        status = weir_fail(err, WEIR_TOO_LARGE, "%s: %zu bytes, the limit is %d", MANIFEST_NAME, size, MOST_BYTES);
        goto out;
    }
    text = malloc(size + 1);
    if (!text) {
        status = no_memory(err);
        goto out;
    }
    status = file_read_exactly(file, text, size, 0, err);
    if (status != WEIR_OK) {
        weir_fail_in(err, MANIFEST_NAME);
        goto out;
    }
    status = manifest_text_parse(text, size, manifest, err);
out:
    free(text);
    close(file);
    return status;
}

/* ---- checking ---- */

static enum weir_status check_size(int directory, const struct manifest_entry *entry, struct weir_error *err) {
    struct stat info;
    int file;
    enum weir_status status = open_beneath(directory, entry->path, &file, &info, err);
    if (status != WEIR_OK)
        return status;
    close(file);
    if (entry->has_size && (uint64_t)info.st_size != entry->size)
        return weir_fail(err, WEIR_NOT_READY, "incomplete: %.300s has %lld of %" PRIu64 " bytes", entry->path,
                         (long long)info.st_size, entry->size);
    return WEIR_OK;
}

static enum weir_status check_hash(int directory, const struct file_hash *hasher, const struct manifest_entry *entry,
                                   struct weir_error *err) {
    unsigned char hash[MANIFEST_HASH_BYTES];
    struct stat info;
    uint64_t size;
    int file;
    enum weir_status status = open_beneath(directory, entry->path, &file, &info, err);
    if (status != WEIR_OK)
        return status;
    status = file_hash_read(hasher, file, hash, &size, err);
    close(file);
    if (status == WEIR_IO)
        weir_fail_in(err, "%.300s", entry->path);
    if (status == WEIR_OK && memcmp(hash, entry->hash, MANIFEST_HASH_BYTES) != 0)
        return weir_fail(err, WEIR_NOT_READY, "incomplete: %.300s has another SHA-256 than %s says", entry->path,
                         MANIFEST_NAME);
    return status;
}

/* Files that a manifest does not hold: itself, and what is written for people. */
static bool is_aside(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(path, MANIFEST_NAME) == 0 || strncmp(slash ? slash + 1 : path, "README", 6) == 0;
}

static enum weir_status visit_named(void *context, const char *path, const struct stat *stat, struct weir_error *err) {
    (void)stat;
    if (is_aside(path) || manifest_text_names(context, path))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%.300s is not in %s", path, MANIFEST_NAME);
}

enum weir_status manifest_sizes(const char *directory, bool *present, struct weir_error *err) {
    struct manifest_text manifest = {.count = 0};
    bool found = false;
    int opened;
    enum weir_status status = open_directory(directory, &opened, err);
    if (status != WEIR_OK)
        return status;
    status = read_manifest(opened, &manifest, &found, err);
    for (size_t i = 0; i < manifest.count && status == WEIR_OK; i++)
        status = check_size(opened, &manifest.entries[i], err);
    close(opened);
    manifest_text_release(&manifest);
    if (status == WEIR_OK)
        *present = found;
    return status;
}

enum weir_status manifest_verify(const char *directory, const struct file_hash_pace *pace, bool *present,
                                 struct weir_error *err) {
    struct manifest_text manifest = {.count = 0};
    struct file_hash hasher = {.context = NULL};
    struct file_visitor visitor = {.context = &manifest, .visit = visit_named};
    bool found = false;
    int opened;
    enum weir_status status = open_directory(directory, &opened, err);
    if (status != WEIR_OK)
        return status;
    status = read_manifest(opened, &manifest, &found, err);
    for (size_t i = 0; i < manifest.count && status == WEIR_OK; i++)
        status = check_size(opened, &manifest.entries[i], err);
    if (status == WEIR_OK && found)
        status = file_walk(opened, &visitor, err);
    if (status == WEIR_OK && found)
        status = file_hash_open(&hasher, pace, err);
    for (size_t i = 0; i < manifest.count && status == WEIR_OK; i++)
        status = check_hash(opened, &hasher, &manifest.entries[i], err);
    file_hash_close(&hasher);
    close(opened);
    manifest_text_release(&manifest);
    if (status == WEIR_OK)
        *present = found;
    return status;
}

/* ---- sealing ---- */

static enum weir_status visit_sealed(void *context, const char *path, const struct stat *stat, struct weir_error *err) {
    (void)stat;
    const char *fault = manifest_text_path_fault(path, strlen(path));
    if (is_aside(path))
        return WEIR_OK;
    if (fault)
        return weir_fail(err, WEIR_INVALID, "%.300s %s", path, fault);
    return manifest_text_add(context, path, strlen(path)) ? WEIR_OK : no_memory(err);
}

static enum weir_status hash_all(int directory, struct manifest_text *manifest, const struct file_hash_pace *pace,
                                 struct weir_error *err) {
    struct file_hash hasher;
    enum weir_status status = file_hash_open(&hasher, pace, err);
    for (size_t i = 0; i < manifest->count && status == WEIR_OK; i++) {
        struct manifest_entry *entry = &manifest->entries[i];
        struct stat info;
        int file;
        status = open_beneath(directory, entry->path, &file, &info, err);
        if (status != WEIR_OK)
            break;
        status = file_hash_read(&hasher, file, entry->hash, &entry->size, err);
        close(file);
        if (status == WEIR_IO)
            weir_fail_in(err, "%.300s", entry->path);
    }
    file_hash_close(&hasher);
    return status;
}

/* Writes under another, hidden name and renames. Returns false, with errno, if that failed. */
static bool write_file(int directory, const struct manifest_text *manifest) {
    char name[64];
    snprintf(name, sizeof name, ".%s.%ld", MANIFEST_NAME, (long)getpid());
    unlinkat(directory, name, 0);
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    bool good = out && manifest_text_write(manifest, out) && fsync(file) == 0 &&
                renameat(directory, name, directory, MANIFEST_NAME) == 0 && fsync(directory) == 0;
    int number = errno;
    if (out)
        fclose(out);
    else if (file >= 0)
        close(file);
    if (!good && file >= 0)
        unlinkat(directory, name, 0);
    errno = number;
    return good;
}

enum weir_status manifest_seal(const char *directory, const struct file_hash_pace *pace, struct weir_error *err) {
    struct manifest_text manifest = {.has_sizes = true};
    struct file_visitor visitor = {.context = &manifest, .visit = visit_sealed};
    int opened;
    enum weir_status status = open_directory(directory, &opened, err);
    if (status != WEIR_OK)
        return status;
    status = file_walk(opened, &visitor, err);
    if (status == WEIR_OK && manifest.count == 0)
        status = weir_fail(err, WEIR_INVALID, "there are no files to seal");
    if (status == WEIR_OK) {
        manifest_text_sort(&manifest);
        status = hash_all(opened, &manifest, pace, err);
    }
    if (status == WEIR_OK && !write_file(opened, &manifest))
        status = weir_fail(err, WEIR_IO, "%s cannot be written: %s", MANIFEST_NAME, strerror(errno));
    close(opened);
    manifest_text_release(&manifest);
    return status;
}
