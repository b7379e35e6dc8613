/* The text of a manifest, as manifest.h shows it. No file is opened here. */
#ifndef WEIR_ENGINE_MODEL_MANIFEST_TEXT_H
#define WEIR_ENGINE_MODEL_MANIFEST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/status.h"

#define MANIFEST_NAME "manifest.sha256"
enum { MANIFEST_HASH_BYTES = 32 };

struct manifest_entry {
    char *path;
    bool has_size, has_hash;
    uint64_t size;
    unsigned char hash[MANIFEST_HASH_BYTES];
};

struct manifest_text {
    struct manifest_entry *entries; /* in byte order of their paths, each once */
    size_t count, room;
    bool has_sizes; /* it is one of ours, not sha256sum's */
};

/* Reads a manifest; out begins as zeros. Errors: NOT_READY (the text ends early, or has sizes without hashes), INVALID
 * (a faulty line, a path that leads elsewhere or is named twice), UNSUPPORTED (a later form). Owner of out, also after
 * an error: the caller, manifest_text_release. */
enum weir_status manifest_text_parse(const char *text, size_t size, struct manifest_text *out,
                                     struct weir_error *err) WEIR_CHECKED;

/* Adds an entry without looking at the others; manifest_text_sort brings them into order. Returns NULL if memory ran
 * out, or they are too many. */
struct manifest_entry *manifest_text_add(struct manifest_text *manifest, const char *path, size_t length);
void manifest_text_sort(struct manifest_text *manifest);

/* Writes the first line, sizes and hashes. Returns false if that failed. */
bool manifest_text_write(const struct manifest_text *manifest, FILE *out);

/* Is there an entry of that path? */
bool manifest_text_names(const struct manifest_text *manifest, const char *path);

/* What is wrong with a path that is to stand in a manifest, or NULL: it must lie beneath the version's directory, and
 * have no byte that sha256sum writes in another way. */
const char *manifest_text_path_fault(const char *path, size_t length);

void manifest_text_release(struct manifest_text *manifest);

#endif
