#include "engine/model/repository.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/version_number.h"

static const char MODEL_FILE[] = "model.onnx";

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory to list the model's versions");
}

static bool is_name(const char *text) {
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return length >= 1 && length <= REPOSITORY_NAME_MAX && !text[length] && *text != '.';
}

/* NULL if path is a regular file, links followed; otherwise why not. */
static const char *why_no_file(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ? "it holds no model.onnx" : strerror(errno);
    return S_ISREG(status.st_mode) ? NULL : "its model.onnx is not a file";
}

static char *join(const char *directory, const char *name) {
    char *path = NULL;
    size_t length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", directory, slash, name) < 0 ? NULL : path;
}

static bool add_version(struct repository_listing *listing, uint64_t number, char *path) {
    size_t count = listing->version_count;
    struct repository_version *more = reallocarray(listing->versions, count + 1, sizeof *more);
    if (!more || !path) {
        listing->versions = more ? more : listing->versions;
        free(path);
        return false;
    }
    more[count].number = number;
    more[count].path = path;
    listing->versions = more;
    listing->version_count = count + 1;
    return true;
}

/* The words pass through an error text, which makes them printable. A list that is full only counts. */
static bool add_remark(struct repository_listing *listing, const char *entry, const char *why) {
    struct weir_error text;
    if (listing->remark_count >= REPOSITORY_REMARKS_MAX) {
        listing->remark_count++;
        return true;
    }
    weir_fail(&text, WEIR_INVALID, "%s: ignored, %s", entry, why);
    if (!listing->remarks)
        listing->remarks = calloc(REPOSITORY_REMARKS_MAX, sizeof *listing->remarks);
    char *copy = listing->remarks ? strdup(text.text) : NULL;
    if (copy)
        listing->remarks[listing->remark_count++] = copy;
    return copy != NULL;
}

/* Turns the count of a list that overflowed into its last remark. */
static bool close_remarks(struct repository_listing *listing) {
    if (listing->remark_count <= REPOSITORY_REMARKS_MAX)
        return true;
    size_t last = REPOSITORY_REMARKS_MAX - 1;
    char *text = NULL;
    int n = asprintf(&text, "%zu more entries: ignored", listing->remark_count - last);
    listing->remark_count = REPOSITORY_REMARKS_MAX;
    if (n < 0)
        return false;
    free(listing->remarks[last]);
    listing->remarks[last] = text;
    return true;
}

static int newest_first(const void *a, const void *b) {
    const struct repository_version *x = a, *y = b;
    return (x->number < y->number) - (x->number > y->number);
}

/* The absolute path without ".", ".." and doubled slashes, links unresolved: /models/current is called current,
 * wherever it leads. The root is "". */
static char *tidy_path(const char *path) {
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    char *whole = NULL;
    if (*path != '/' && !here)
        return NULL;
    if (asprintf(&whole, "%s/%s", here ? here : "", path) < 0)
        whole = NULL;
    free(here);
    if (!whole)
        return NULL;
    char *end = whole;
    for (const char *part = whole; *part;) {
        part += strspn(part, "/");
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            while (end > whole && *--end != '/')
                ;
        } else if (length > 0 && !(length == 1 && part[0] == '.')) {
            *end++ = '/';
            memmove(end, part, length);
            end += length;
        }
        part += length;
    }
    *end = 0;
    return whole;
}

/* Cuts the last part off path and returns it; "" when nothing is left. */
static const char *cut_last(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = 0;
    return slash + 1;
}

static enum weir_status set_name(struct repository_listing *listing, const char *name, const char *origin,
                                 struct weir_error *err) {
    if (!is_name(name))
        return weir_fail(err, WEIR_INVALID,
                         "model name \"%.100s\" (%s): only 1 to %d of A-Z a-z 0-9 . _ - without a leading dot are "
                         "allowed; set model_name",
                         name, origin, REPOSITORY_NAME_MAX);
    snprintf(listing->name, sizeof listing->name, "%s", name);
    return WEIR_OK;
}

/* Names the listing after the directory at tidy (which this cuts up) and, if that is a version directory, gives its
 * number in *number and names the listing after its parent. */
static enum weir_status name_by_directory(struct repository_listing *listing, char *tidy, const char *model_name,
                                          uint64_t *number, struct weir_error *err) {
    const char *name = cut_last(tidy);
    if (version_number_read(name, number))
        name = cut_last(tidy);
    if (*number == 0)
        return weir_fail(err, WEIR_INVALID, "model_path leads to version 0: versions are numbered from 1");
    return model_name ? set_name(listing, model_name, "model_name", err)
                      : set_name(listing, name, "from model_path", err);
}

/* Is it the model file of a version directory? tidy: the path of its directory. */
static bool is_of_version(const char *tidy, const char *file) {
    uint64_t number;
    const char *directory = strrchr(tidy, '/');
    return strcmp(file, MODEL_FILE) == 0 && directory && version_number_read(directory + 1, &number);
}

static enum weir_status scan_file(const char *path, const char *model_name, struct repository_listing *listing,
                                  struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    uint64_t number = 1;
    char *tidy = tidy_path(path);
    if (!tidy)
        return no_memory(err);
    const char *file = cut_last(tidy);
    size_t length = strlen(file);
    listing->is_loose = !is_of_version(tidy, file);
    if (length <= 5 || strcmp(file + length - 5, ".onnx") != 0) {
        status = weir_fail(err, WEIR_INVALID, "model_path %s: is not an .onnx file", path);
    } else if (strcmp(file, MODEL_FILE) == 0) {
        status = name_by_directory(listing, tidy, model_name, &number, err);
    } else if (model_name) {
        status = set_name(listing, model_name, "model_name", err);
    } else {
        tidy[strlen(tidy) + 1 + length - 5] = 0;
        status = set_name(listing, file, "from model_path", err);
    }
    if (status == WEIR_OK && !add_version(listing, number, strchr(path, '/') ? strdup(path) : join(".", path)))
        status = no_memory(err);
    free(tidy);
    return status;
}

/* Files beside the versions (a README, the training script) are nobody's mistake. */
static bool is_plain_file(const char *directory, const char *entry) {
    struct stat status;
    char *path = join(directory, entry);
    bool plain = path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
    free(path);
    return plain;
}

/* Adds the entry of a model directory as a version, or says why not. Returns false if memory ran out. */
static bool take_entry(const char *directory, const char *entry, struct repository_listing *listing) {
    uint64_t number = 0;
    if (!version_number_read(entry, &number))
        return is_plain_file(directory, entry) ||
               add_remark(listing, entry, "its name is not a version number (such as 7 or v7)");
    if (number == 0)
        return add_remark(listing, entry, "versions are numbered from 1");
    for (size_t i = 0; i < listing->version_count; i++)
        if (listing->versions[i].number == number) {
            char why[64];
            snprintf(why, sizeof why, "version %" PRIu64 " is there already", number);
            return add_remark(listing, entry, why);
        }
    char *inner = join(directory, entry);
    char *path = inner ? join(inner, MODEL_FILE) : NULL;
    free(inner);
    if (!path)
        return false;
    const char *fault = why_no_file(path);
    if (!fault)
        return add_version(listing, number, path);
    free(path);
    return add_remark(listing, entry, fault);
}

static int skip_dots(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Of 7, v7 and 007 the first is the version, also if the others came before it. */
static int shorter_first(const struct dirent **a, const struct dirent **b) {
    size_t size_a = strlen((*a)->d_name), size_b = strlen((*b)->d_name);
    return size_a != size_b ? (size_a > size_b) - (size_a < size_b) : strcmp((*a)->d_name, (*b)->d_name);
}

static enum weir_status scan_directory(const char *path, const char *model_name, struct repository_listing *listing,
                                       struct weir_error *err) {
    struct dirent **entries = NULL;
    int count = 0;
    uint64_t number = 1;
    enum weir_status status = WEIR_OK;
    char *tidy = tidy_path(path);
    char *model = join(path, MODEL_FILE);
    bool is_version = model && !why_no_file(model);
    if (!tidy || !model) {
        status = no_memory(err);
        goto out;
    }
    if (is_version)
        status = name_by_directory(listing, tidy, model_name, &number, err);
    else if (model_name)
        status = set_name(listing, model_name, "model_name", err);
    else
        status = set_name(listing, cut_last(tidy), "from model_path", err);
    if (status != WEIR_OK)
        goto out;
    if (is_version) {
        if (!add_version(listing, number, model))
            status = no_memory(err);
        model = NULL;
        goto out;
    }
    count = scandir(path, &entries, skip_dots, shorter_first);
    if (count < 0) {
        status = weir_fail(err, WEIR_IO, "model_path %s: cannot be listed: %s", path, strerror(errno));
        goto out;
    }
    for (int i = 0; i < count && status == WEIR_OK; i++)
        if (!take_entry(path, entries[i]->d_name, listing))
            status = no_memory(err);
    if (status == WEIR_OK && !close_remarks(listing))
        status = no_memory(err);
    if (listing->version_count > 0)
        qsort(listing->versions, listing->version_count, sizeof *listing->versions, newest_first);
out:
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    free(model);
    free(tidy);
    return status;
}

enum weir_status repository_scan(const char *model_path, const char *model_name, struct repository_listing *out,
                                 struct weir_error *err) {
    struct repository_listing listing = {.version_count = 0};
    struct stat info;
    enum weir_status status;
    if (stat(model_path, &info) != 0)
        return weir_fail(err, errno == ENOENT || errno == ENOTDIR ? WEIR_NOT_FOUND : WEIR_IO, "model_path %s: %s",
                         model_path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        status = scan_directory(model_path, model_name, &listing, err);
    else if (S_ISREG(info.st_mode))
        status = scan_file(model_path, model_name, &listing, err);
    else
        status = weir_fail(err, WEIR_INVALID, "model_path %s: is neither a file nor a directory", model_path);
    if (status == WEIR_OK)
        *out = listing;
    else
        repository_listing_release(&listing);
    return status;
}

void repository_listing_release(struct repository_listing *listing) {
    for (size_t i = 0; i < listing->version_count; i++)
        free(listing->versions[i].path);
    for (size_t i = 0; i < listing->remark_count && i < REPOSITORY_REMARKS_MAX; i++)
        free(listing->remarks[i]);
    free(listing->versions);
    free(listing->remarks);
    *listing = (struct repository_listing){.version_count = 0};
}
