#include "engine/model/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/file_walk.h"

struct look {
    const char *model; /* the model file's name */
    bool model_seen;
    struct snapshot snapshot;
};

/* Two sums that are stirred by different steps; each step alone can be undone, so two files that differ in one word
 * never have the same sum. The multipliers are those of MurmurHash3. */
struct stir {
    uint64_t a, b;
};

static void stir_word(struct stir *stir, uint64_t word) {
    stir->a = (stir->a ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
    stir->a ^= stir->a >> 33;
    stir->b = (stir->b + word) * UINT64_C(0xC4CEB9FE1A85EC53);
    stir->b ^= stir->b >> 29;
}

static void stir_text(struct stir *stir, const char *text) {
    size_t length = strlen(text);
    stir_word(stir, length);
    for (; length > 0; length -= length < 8 ? length : 8, text += 8) {
        uint64_t word = 0;
        memcpy(&word, text, length < 8 ? length : 8);
        stir_word(stir, word);
    }
}

/* Files are added up, so that their order does not matter. */
static void add_file(struct snapshot *snapshot, const char *path, const struct stat *stat) {
    struct stir stir = {1, 2};
    stir_text(&stir, path);
    stir_word(&stir, (uint64_t)stat->st_dev);
    stir_word(&stir, (uint64_t)stat->st_ino);
    stir_word(&stir, (uint64_t)stat->st_size);
    stir_word(&stir, (uint64_t)stat->st_mtim.tv_sec);
    stir_word(&stir, (uint64_t)stat->st_mtim.tv_nsec);
    stir_word(&stir, stir.a ^ stir.b);
    snapshot->hash[0] += stir.a;
    snapshot->hash[1] += stir.b;
    snapshot->bytes += (uint64_t)stat->st_size;
    int64_t changed_ns = (int64_t)stat->st_ctim.tv_sec * 1000000000 + stat->st_ctim.tv_nsec;
    if (changed_ns > snapshot->changed_unix_ns)
        snapshot->changed_unix_ns = changed_ns;
    snapshot->files++;
}

static enum weir_status visit(void *context, const char *path, const struct stat *stat, struct weir_error *err) {
    (void)err;
    struct look *look = context;
    if (strcmp(path, look->model) == 0)
        look->model_seen = true;
    add_file(&look->snapshot, path, stat);
    return WEIR_OK;
}

static enum weir_status cannot(const char *path, int number, struct weir_error *err) {
    bool gone = number == ENOENT || number == ENOTDIR || number == ESTALE;
    return weir_fail(err, gone ? WEIR_NOT_FOUND : WEIR_IO, "%s: %s", path, strerror(number));
}

static enum weir_status walk_directory(const char *path, struct look *look, struct weir_error *err) {
    char directory[PATH_MAX] = ".";
    size_t length = (size_t)(look->model - path);
    struct file_visitor visitor = {.context = look, .visit = visit};
    if (length >= sizeof directory)
        return cannot(path, ENAMETOOLONG, err);
    if (length > 0) {
        memcpy(directory, path, length);
        directory[length] = 0;
    }
    int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return cannot(directory, errno, err);
    enum weir_status status = file_walk(file, &visitor, err);
    close(file);
    if (status != WEIR_OK)
        weir_fail_in(err, "%s", directory);
    return status;
}

enum weir_status snapshot_take(const char *path, bool whole_directory, struct snapshot *out, struct weir_error *err) {
    const char *slash = strrchr(path, '/');
    struct look look = {.model = slash ? slash + 1 : path};
    struct stat info;
    enum weir_status status = whole_directory ? walk_directory(path, &look, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    if (!look.model_seen) {
        if (stat(path, &info) != 0)
            return cannot(path, errno, err);
        if (!S_ISREG(info.st_mode))
            return weir_fail(err, WEIR_NOT_FOUND, "%s: is not a file", path);
        add_file(&look.snapshot, look.model, &info);
    }
    *out = look.snapshot;
    return WEIR_OK;
}

bool snapshot_equal(const struct snapshot *a, const struct snapshot *b) {
    return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] && a->bytes == b->bytes && a->files == b->files;
}
