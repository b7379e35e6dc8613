#include "engine/model/manifest_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/file_walk.h"

static const char FIRST_LINE[] = "# weir manifest 1";
static const char FIRST_WORDS[] = "# weir manifest ", SIZE_WORDS[] = "# size ";

void manifest_text_release(struct manifest_text *manifest) {
    for (size_t i = 0; i < manifest->count; i++)
        free(manifest->entries[i].path);
    free(manifest->entries);
}

struct manifest_entry *manifest_text_add(struct manifest_text *manifest, const char *path, size_t length) {
    if (manifest->count == 2 * FILE_WALK_MOST)
        return NULL;
    if (manifest->count == manifest->room) {
        size_t room = manifest->room * 2 + 16;
        struct manifest_entry *more = reallocarray(manifest->entries, room, sizeof *more);
        if (!more)
            return NULL;
        manifest->entries = more;
        manifest->room = room;
    }
    struct manifest_entry *entry = &manifest->entries[manifest->count];
    *entry = (struct manifest_entry){.path = strndup(path, length)};
    if (!entry->path)
        return NULL;
    manifest->count++;
    return entry;
}

static int by_path(const void *a, const void *b) {
    const struct manifest_entry *x = a, *y = b;
    return strcmp(x->path, y->path);
}

void manifest_text_sort(struct manifest_text *manifest) {
    if (manifest->count > 0)
        qsort(manifest->entries, manifest->count, sizeof *manifest->entries, by_path);
}

bool manifest_text_names(const struct manifest_text *manifest, const char *path) {
    struct manifest_entry key = {.path = (char *)path};
    return manifest->count > 0 && bsearch(&key, manifest->entries, manifest->count, sizeof key, by_path) != NULL;
}

const char *manifest_text_path_fault(const char *path, size_t length) {
    if (length == 0 || *path == '/')
        return "is not a path beneath the version's directory";
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)path[i] < 0x20 || path[i] == 0x7F || path[i] == '\\')
            return "holds a backslash or a control character";
    for (size_t at = 0; at <= length;) {
        const char *slash = memchr(path + at, '/', length - at);
        size_t part = slash ? (size_t)(slash - path) - at : length - at;
        if (part == 0 || (part <= 2 && memcmp(path + at, "..", part) == 0))
            return "is not a path beneath the version's directory";
        at += part + 1;
    }
    return NULL;
}

static bool read_hash(const char *text, unsigned char *hash) {
    for (int i = 0; i < 2 * MANIFEST_HASH_BYTES; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        hash[i / 2] = (unsigned char)(i % 2 == 0 ? digit << 4 : hash[i / 2] | digit);
    }
    return true;
}

static bool starts(const char *line, size_t length, const char *words) {
    return length >= strlen(words) && memcmp(line, words, strlen(words)) == 0;
}

/* Reads "# size BYTES PATH" behind its first words. */
static const char *read_size_line(const char *line, size_t length, struct manifest_entry *entry, const char **path) {
    const char *end = line + length, *at = line;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(entry->size, UINT64_C(10), &entry->size) ||
            __builtin_add_overflow(entry->size, (uint64_t)(*at - '0'), &entry->size))
            return "has too large a size";
    if (at == line || at == end || *at != ' ')
        return "is not \"# size BYTES PATH\"";
    entry->has_size = true;
    *path = at + 1;
    return NULL;
}

/* Reads "HEX  PATH", or "HEX *PATH". */
static const char *read_hash_line(const char *line, size_t length, struct manifest_entry *entry, const char **path) {
    const char *mode = line + 2 * MANIFEST_HASH_BYTES + 1;
    if (length < 2 * MANIFEST_HASH_BYTES + 3 || !read_hash(line, entry->hash) || mode[-1] != ' ' ||
        (*mode != ' ' && *mode != '*'))
        return "is not \"SHA-256  PATH\"";
    entry->has_hash = true;
    *path = mode + 1;
    return NULL;
}

/* Takes a line that names a file. Returns what is wrong with it, or NULL. */
static const char *take_line(struct manifest_text *manifest, const char *line, size_t length) {
    struct manifest_entry read = {.path = NULL};
    const char *path, *fault;
    bool is_size = starts(line, length, SIZE_WORDS);
    if (is_size && !manifest->has_sizes)
        return NULL; /* a comment of someone else */
    if (!is_size && (length == 0 || *line == '#'))
        return NULL;
    fault = is_size ? read_size_line(line + strlen(SIZE_WORDS), length - strlen(SIZE_WORDS), &read, &path)
                    : read_hash_line(line, length, &read, &path);
    size_t path_length = fault ? 0 : (size_t)(line + length - path);
    if (!fault)
        fault = manifest_text_path_fault(path, path_length);
    if (fault)
        return fault;
    struct manifest_entry *entry = manifest_text_add(manifest, path, path_length);
    if (!entry)
        return "is one too many";
    read.path = entry->path;
    *entry = read;
    return NULL;
}

/* Sorts the entries and joins the size and the hash of each path. */
static enum weir_status join_entries(struct manifest_text *manifest, struct weir_error *err) {
    size_t kept = 0;
    manifest_text_sort(manifest);
    for (size_t i = 0; i < manifest->count; i++) {
        struct manifest_entry *entry = &manifest->entries[i], *last = kept > 0 ? &manifest->entries[kept - 1] : NULL;
        if (!last || strcmp(last->path, entry->path) != 0) {
            struct manifest_entry moved = *entry;
            entry->path = NULL;
            manifest->entries[kept++] = moved;
            continue;
        }
        if ((last->has_size && entry->has_size) || (last->has_hash && entry->has_hash))
            return weir_fail(err, WEIR_INVALID, "%s names %.300s twice", MANIFEST_NAME, entry->path);
        last->has_size = last->has_hash = true;
        if (entry->has_size)
            last->size = entry->size;
        else
            memcpy(last->hash, entry->hash, MANIFEST_HASH_BYTES);
        free(entry->path);
        entry->path = NULL;
    }
    manifest->count = kept;
    for (size_t i = 0; i < kept; i++)
        if (!manifest->entries[i].has_hash || (manifest->has_sizes && !manifest->entries[i].has_size))
            return weir_fail(err, manifest->entries[i].has_hash ? WEIR_INVALID : WEIR_NOT_READY,
                             "%s%s has no %s of %.300s",
                             manifest->entries[i].has_hash ? "" : "incomplete: ", MANIFEST_NAME,
                             manifest->entries[i].has_hash ? "size" : "hash", manifest->entries[i].path);
    return kept > 0 ? WEIR_OK : weir_fail(err, WEIR_NOT_READY, "incomplete: %s names no files", MANIFEST_NAME);
}

enum weir_status manifest_text_parse(const char *text, size_t size, struct manifest_text *manifest,
                                     struct weir_error *err) {
    int number = 0;
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        if (!end)
            return weir_fail(err, WEIR_NOT_READY, "incomplete: %s ends within a line", MANIFEST_NAME);
        size_t length = (size_t)(end - line);
        at += length + 1;
        number++;
        if (number == 1 && starts(line, length, FIRST_WORDS)) {
            if (length != strlen(FIRST_LINE) || memcmp(line, FIRST_LINE, length) != 0)
                return weir_fail(err, WEIR_UNSUPPORTED, "%s is of another form: %.*s", MANIFEST_NAME,
                                 length < 40 ? (int)length : 40, line);
            manifest->has_sizes = true;
            continue;
        }
        const char *fault = take_line(manifest, line, length);
        if (fault)
            return weir_fail(err, WEIR_INVALID, "%s: line %d %s", MANIFEST_NAME, number, fault);
    }
    return join_entries(manifest, err);
}

bool manifest_text_write(const struct manifest_text *manifest, FILE *out) {
    fprintf(out, "%s\n", FIRST_LINE);
    for (size_t i = 0; i < manifest->count; i++)
        fprintf(out, "%s%" PRIu64 " %s\n", SIZE_WORDS, manifest->entries[i].size, manifest->entries[i].path);
    for (size_t i = 0; i < manifest->count; i++) {
        for (int byte = 0; byte < MANIFEST_HASH_BYTES; byte++)
            fprintf(out, "%02x", manifest->entries[i].hash[byte]);
        fprintf(out, "  %s\n", manifest->entries[i].path);
    }
    return fflush(out) == 0 && !ferror(out);
}
