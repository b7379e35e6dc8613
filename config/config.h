/* The configuration: flags over environment over file over defaults, every value with its origin. */
#ifndef WEIR_CONFIG_CONFIG_H
#define WEIR_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config_models.h"
#include "config/config_problems.h"
#include "config/config_schema.h"

enum config_origin_kind {
    CONFIG_ORIGIN_DEFAULT,
    CONFIG_ORIGIN_FILE,
    CONFIG_ORIGIN_ENVIRONMENT,
    CONFIG_ORIGIN_FLAG,
    CONFIG_ORIGIN_ARGUMENT /* MODEL, without a flag */
};

struct config_origin {
    enum config_origin_kind kind;
    int line; /* for CONFIG_ORIGIN_FILE */
};

#define CONFIG_FIELD_INTEGER(name)    int64_t name
#define CONFIG_FIELD_SIZE(name)       int64_t name
#define CONFIG_FIELD_STRING(name)     char *name
#define CONFIG_FIELD_ENUM(name)       enum config_##name name
#define CONFIG_FIELD(name, type, ...) CONFIG_FIELD_##type(name);

/* One field for each key, named like it; a string that nobody set and that has no default is NULL. file is the file
 * that was read, or NULL. Owner: whoever called config_load; released by config_release. */
struct config {
    CONFIG_KEY_LIST(CONFIG_FIELD)
    struct config_models models; /* of the file's `models:`; then model_path is NULL */
    struct config_origin origins[CONFIG_KEY_COUNT];
    char *file;
};

/* Where a configuration comes from. All is borrowed and must stay, so that a reload can read again. */
struct config_sources {
    int argc; /* what follows the subcommand: --key VALUE, --key=VALUE (- or _ in it), -c FILE, MODEL */
    char *const *argv;
    char *const *environment; /* like environ; NULL is empty */
    const char *file;         /* read when the flags name no file; NULL is none */
};

/* Reads all sources. problems must be zeroed; after the call it holds every error, warning and notice, and the caller
 * prints or logs them. Returns true, and fills out, if there was no error. thread: any. */
bool config_load(const struct config_sources *sources, struct config *out, struct config_problems *problems);

/* The same for the text of a file, without flags and environment; name stands for the file in problems and origins. */
bool config_load_text(const char *text, size_t size, const char *name, struct config *out,
                      struct config_problems *problems);

void config_release(struct config *config);

/* Writes where the value of key came from: "default", "weir.yaml:3", "WEIR_PORT", "--port", "MODEL". Returns out. */
const char *config_origin_text(const struct config *config, const struct config_key *key, char *out, size_t size);

/* Compares a running configuration with the one read at a reload. Returns true if all that changed may change while
 * running; otherwise names holds the keys that may not, joined with ", " (cut to size). */
bool config_may_reload(const struct config *running, const struct config *wanted, char *names, size_t size);

#endif
