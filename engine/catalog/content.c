#include "engine/catalog/content.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/model/file_hash.h"
#include "engine/model/file_walk.h"

struct reading {
    int directory; /* open */
    struct file_hash hash;
    uint64_t sum[2];
};

/* Adds a file: its name and what it holds, in any order of files. */
static enum weir_status visit(void *context, const char *path, const struct stat *stat, struct weir_error *err) {
    struct reading *reading = context;
    unsigned char hash[FILE_HASH_BYTES];
    uint64_t words[2], size;
    (void)stat;
    int file = openat(reading->directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return weir_fail(err, WEIR_IO, "%s cannot be opened", path);
    enum weir_status status = file_hash_read(&reading->hash, file, hash, &size, err);
    close(file);
    if (status != WEIR_OK)
        return status;
    memcpy(words, hash, sizeof words);
    for (const char *c = path; *c; c++) /* the same files under other names are others */
        words[0] = (words[0] ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    reading->sum[0] += words[0];
    reading->sum[1] += words[1];
    return WEIR_OK;
}

static enum weir_status read_all(struct reading *reading, bool is_loose, const char *path, struct weir_error *err) {
    struct file_visitor visitor = {.context = reading, .visit = visit};
    char *copy = strdup(path), *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : (char *)path;
    enum weir_status status = copy ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "%s: no memory", path);
    reading->directory = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (status == WEIR_OK && reading->directory < 0)
        status = weir_fail(err, WEIR_IO, "%s: its directory cannot be opened", path);
    if (status == WEIR_OK)
        status = is_loose ? visit(reading, name, NULL, err) : file_walk(reading->directory, &visitor, err);
    if (reading->directory >= 0)
        close(reading->directory);
    free(copy);
    return status;
}

void content_read(struct catalog *catalog, const struct catalog_model *model, struct entry *entry) {
    const struct file_hash_pace pace = {.context = catalog, .go_on = loading_go_on};
    struct reading reading = {.directory = -1};
    struct snapshot before, after;
    struct weir_error err;
    if (snapshot_take(entry->path, !model->is_loose, &before, &err) != WEIR_OK || snapshot_equal(&before, &entry->held))
        return;
    if (file_hash_open(&reading.hash, &pace, &err) == WEIR_OK &&
        read_all(&reading, model->is_loose, entry->path, &err) == WEIR_OK &&
        snapshot_take(entry->path, !model->is_loose, &after, &err) == WEIR_OK && snapshot_equal(&before, &after)) {
        pthread_mutex_lock(&catalog->changing);
        entry->held = before;
        memcpy(entry->content, reading.sum, sizeof entry->content);
        pthread_mutex_unlock(&catalog->changing);
    }
    file_hash_close(&reading.hash);
}
