#include "engine/inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/device/cuda_module.h"
#include "engine/graph/describe.h"
#include "engine/graph/operators.h"
#include "engine/graph/plan.h"
#include "engine/model/repository.h"
#include "engine/seal.h"

/* Whether the version is sealed. A file that was named alone has no seal. */
static const char *remark_of(const char *model_path, const struct repository_version *version, char *text,
                             size_t size) {
    struct stat info;
    text[0] = 0;
    if (stat(model_path, &info) != 0 || !S_ISDIR(info.st_mode))
        return text;
    char *directory = strndup(version->path, (size_t)(strrchr(version->path, '/') - version->path));
    if (directory)
        seal_remark(directory, text, size);
    free(directory);
    return text;
}

enum weir_status inspect_versions(const char *model_path, const char *model_name, FILE *out, size_t *count,
                                  struct weir_error *err) {
    struct repository_listing listing;
    enum weir_status status = repository_scan(model_path, model_name, &listing, err);
    if (status != WEIR_OK)
        return status;
    fprintf(out, "model %s: %zu %s\n", listing.name, listing.version_count,
            listing.version_count == 1 ? "version" : "versions");
    for (size_t i = 0; i < listing.version_count; i++) {
        const struct repository_version *version = &listing.versions[i];
        char remark[600];
        fprintf(out, "  version %" PRIu64 ": %s%s\n", version->number, version->path,
                remark_of(model_path, version, remark, sizeof remark));
    }
    for (size_t i = 0; i < listing.remark_count; i++)
        fprintf(out, "  %s\n", listing.remarks[i]);
    *count = listing.version_count;
    repository_listing_release(&listing);
    return WEIR_OK;
}

struct lacking {
    FILE *out;
    int steps;
};

static void put_lack(void *context, const char *text) {
    struct lacking *lacking = context;
    if (lacking->steps++ == 0)
        fprintf(lacking->out, "%-10s lacks operators:\n", "cuda");
    fprintf(lacking->out, "  %s\n", text);
}

/* The CPU runs every operation: those that have no fast kernel by the plain one. */
static void put_devices(struct plan *plan, const char *cuda_module, FILE *out) {
    const struct cuda_module_options module = {.path = cuda_module, .folder = WEIR_MODULE_FOLDER};
    struct lacking lacking = {.out = out};
    struct weir_error err;
    fprintf(out, "%-10s runs all steps\n", "cpu");
    if (cuda_module_lacks(&module, plan, put_lack, &lacking, &err) != WEIR_OK)
        fprintf(out, "%-10s cannot be told: %s\n", "cuda", err.text);
    else if (lacking.steps == 0)
        fprintf(out, "%-10s runs all steps\n", "cuda");
}

enum weir_status inspect_model(const char *model_path, const char *cuda_module, FILE *out, struct weir_error *err) {
    struct repository_listing listing;
    struct plan *plan = NULL;
    char *text = NULL;
    enum weir_status status = repository_scan(model_path, NULL, &listing, err);
    if (status != WEIR_OK)
        return status;
    if (listing.version_count == 0) {
        status = weir_fail(err, WEIR_NOT_FOUND, "model_path %s: there is no version in it", model_path);
        goto out;
    }
    const struct repository_version *newest = &listing.versions[0];
    status = plan_load(newest->path, &plan, err);
    if (status != WEIR_OK)
        goto out;
    size_t size = plan_describe(plan, NULL, 0) + 1;
    text = malloc(size);
    if (!text) {
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory to describe the model");
        goto out;
    }
    plan_describe(plan, text, size);
    char remark[600];
    fprintf(out, "model %s, version %" PRIu64 ": %s%s\n%s", listing.name, newest->number, newest->path,
            remark_of(model_path, newest, remark, sizeof remark), text);
    put_devices(plan, cuda_module, out);
out:
    free(text);
    plan_destroy(plan);
    repository_listing_release(&listing);
    return status;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum weir_status inspect_operators(FILE *out, struct weir_error *err) {
    size_t count = 0;
    while (operators_name(count))
        count++;
    const char **names = calloc(count + 1, sizeof *names);
    if (!names)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu names", count);
    for (size_t i = 0; i < count; i++)
        names[i] = operators_name(i);
    names[count++] = "If"; /* taken into the graph before operators are looked at */
    qsort(names, count, sizeof *names, compare);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s\n", names[i]);
    free(names);
    return WEIR_OK;
}
