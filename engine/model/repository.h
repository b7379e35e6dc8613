/* The repository: which versions of the model lie under model_path. It looks, and loads nothing. */
#ifndef WEIR_ENGINE_MODEL_REPOSITORY_H
#define WEIR_ENGINE_MODEL_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

enum { REPOSITORY_NAME_MAX = 64, REPOSITORY_REMARKS_MAX = 64 };

struct repository_version {
    uint64_t number;
    char *path; /* of the model file */
};

/* versions: newest first. remarks: a sentence for people about each directory that was passed over (plain files are
 * left alone), shorter names first; when there are more than REPOSITORY_REMARKS_MAX, the last one counts the rest. */
struct repository_listing {
    char name[REPOSITORY_NAME_MAX + 1];
    struct repository_version *versions;
    size_t version_count;
    bool is_loose; /* the version is a file alone, no directory of a version or of the model */
    char **remarks;
    size_t remark_count;
};

/* Lists what model_path holds: an .onnx file (version 1; model.onnx in a version directory stands for that directory);
 * a directory with model.onnx in it (likewise); or a model directory, whose version directories are v1, v2, 10, v10,
 * read as numbers; of several names of one number the shortest counts. Nothing found is OK with version_count 0.
 * model_name NULL derives the name from the path as the user wrote it, links unresolved. Errors: NOT_FOUND (no such
 * path), IO (unreadable), INVALID (neither a directory nor .onnx; a name that is not 1 to 64 of [A-Za-z0-9._-] without
 * a leading dot), NO_MEMORY. thread: any. Owner of out: the caller, repository_listing_release. */
enum weir_status repository_scan(const char *model_path, const char *model_name, struct repository_listing *out,
                                 struct weir_error *err) WEIR_CHECKED;

void repository_listing_release(struct repository_listing *listing);

#endif
