#include "engine/seal.h"

#include <stdio.h>
#include <sys/stat.h>

#include "engine/model/manifest.h"

static bool count(void *context, size_t bytes) {
    uint64_t *sum = context;
    *sum += bytes;
    return true;
}

/* A directory of versions would be sealed with all of them, and be refused whenever one comes. */
static enum weir_status check_directory(const char *directory, struct weir_error *err) {
    char path[4096];
    struct stat info;
    if ((size_t)snprintf(path, sizeof path, "%s/model.onnx", directory) >= sizeof path)
        return weir_fail(err, WEIR_INVALID, "the path is too long");
    if (stat(path, &info) == 0 || stat(directory, &info) != 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "no model.onnx lies in it: name the directory of a version");
}

enum weir_status seal_write(const char *directory, uint64_t *bytes, struct weir_error *err) {
    uint64_t sum = 0;
    const struct file_hash_pace pace = {.context = &sum, .go_on = count};
    enum weir_status status = check_directory(directory, err);
    if (status == WEIR_OK)
        status = manifest_seal(directory, &pace, err);
    if (status != WEIR_OK)
        return weir_fail_in(err, "%.300s", directory);
    *bytes = sum;
    return WEIR_OK;
}

enum weir_status seal_check(const char *directory, uint64_t *bytes, struct weir_error *err) {
    uint64_t sum = 0;
    bool is_present = false;
    const struct file_hash_pace pace = {.context = &sum, .go_on = count};
    enum weir_status status = manifest_verify(directory, &pace, &is_present, err);
    if (status == WEIR_OK && !is_present)
        status = weir_fail(err, WEIR_NOT_FOUND, "it is not sealed: there is no manifest.sha256");
    if (status != WEIR_OK)
        return weir_fail_in(err, "%.300s", directory);
    *bytes = sum;
    return WEIR_OK;
}

const char *seal_remark(const char *directory, char *text, size_t size) {
    bool is_present = false;
    struct weir_error err;
    if (manifest_sizes(directory, &is_present, &err) != WEIR_OK)
        snprintf(text, size, " (%s)", err.text);
    else
        snprintf(text, size, "%s", is_present ? " (sealed)" : "");
    return text;
}
