/* From model_path to a version that serves. */
#ifndef WEIR_ENGINE_CATALOG_H
#define WEIR_ENGINE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"

struct engine;

/* What catalog_load tells while it works. All functions may be NULL. */
struct catalog_listener {
    void *context;
    /* An entry of the model directory that is not a version, in a sentence. */
    void (*passed_over)(void *context, const char *remark);
    /* A version is loaded and about to serve. */
    void (*loaded)(void *context, const char *model, uint64_t number);
    /* A version that did not load. */
    void (*failed)(void *context, const char *model, uint64_t number, const struct weir_error *why);
};

struct catalog_result {
    char model[65]; /* the model's name, also when nothing loaded */
    uint32_t found; /* versions that lie there */
    bool loaded;
    uint64_t number; /* the version that serves */
};

/* Loads the newest version under model_path that can be loaded, trying older ones when it cannot. Finding no version is
 * OK with found = 0. Errors: NOT_FOUND (no such path), INVALID, IO; if versions lie there and none loads, the status of
 * the newest. thread: loader. */
enum weir_status catalog_load(struct engine *engine, const char *model_path, const char *model_name,
                              const struct catalog_listener *listener, struct catalog_result *out,
                              struct weir_error *err) WEIR_CHECKED;

#endif
