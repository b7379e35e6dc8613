#include "engine/catalog/content.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
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
    EVP_MD_CTX *digest;
    uint64_t sum[2];
};

/* Adds a file: its name and what it holds, in any order of files. */
static enum weir_status add_file(struct reading *reading, const char *name, struct weir_error *err) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    uint64_t words[2];
    ssize_t n = 1;
    int file = openat(reading->directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return weir_fail(err, WEIR_IO, "%s cannot be opened", name);
    bool good = EVP_DigestInit_ex(reading->digest, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(reading->digest, name, strlen(name) + 1) == 1;
    while (good && n > 0 && !reading->catalog->stopping) {
        n = read(file, reading->piece, PIECE_BYTES);
        if (n > 0)
            good = EVP_DigestUpdate(reading->digest, reading->piece, (size_t)n) == 1;
        nanosleep(&(struct timespec){.tv_nsec = PIECE_REST_US * CLOCK_NS_PER_US}, NULL);
    }
    close(file);
    if (!good || n != 0 || EVP_DigestFinal_ex(reading->digest, hash, NULL) != 1)
        return weir_fail(err, WEIR_IO, "%s cannot be read", name);
    memcpy(words, hash, sizeof words);
    reading->sum[0] += words[0];
    reading->sum[1] += words[1];
    return WEIR_OK;
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
    struct reading reading = {.catalog = catalog, .piece = malloc(PIECE_BYTES), .digest = EVP_MD_CTX_new()};
    if (reading.piece && reading.digest && read_all(&reading, model, entry->path, &err) == WEIR_OK &&
        snapshot_take(entry->path, !model->is_loose, &after, &err) == WEIR_OK && snapshot_equal(&before, &after)) {
        pthread_mutex_lock(&catalog->changing);
        entry->held = before;
        memcpy(entry->content, reading.sum, sizeof entry->content);
        pthread_mutex_unlock(&catalog->changing);
    }
    free(reading.piece);
    EVP_MD_CTX_free(reading.digest);
}
