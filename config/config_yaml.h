/* The configuration file as a flat list of keys and values. libyaml reads it; what this product's files may not hold
 * (nesting beyond `service:` and `models:`, aliases, tags, several documents) ends here. */
#ifndef WEIR_CONFIG_CONFIG_YAML_H
#define WEIR_CONFIG_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config_problems.h"

enum { CONFIG_YAML_MAX_BYTES = 64 * 1024, CONFIG_YAML_MAX_DEPTH = 4 };

enum config_yaml_kind { CONFIG_YAML_PLAIN, CONFIG_YAML_QUOTED, CONFIG_YAML_LIST, CONFIG_YAML_MAPPING };

/* One `key: value` of the root or of `service:`, or of a model under `models:` (`NAME: PATH` there has the key "path").
 * value is "" unless the kind is PLAIN or QUOTED. All are valid UTF-8 without NUL, and live only during the call. */
struct config_yaml_pair {
    const char *model; /* NULL: not under `models:` */
    int model_line;
    const char *key;
    const char *value;
    enum config_yaml_kind kind;
    int line; /* of the key, from 1 */
};

struct config_yaml_sink {
    void (*take)(void *context, const struct config_yaml_pair *pair);
    void *context;
};

/* Reads the file into *text (size bytes, then a NUL). On false a problem says why: missing, unreadable, a directory,
 * larger than CONFIG_YAML_MAX_BYTES. Owner of *text: the caller. */
bool config_yaml_open(const char *file, char **text, size_t *size, struct config_problems *problems);

/* Gives every pair of text to sink in the order of the file; each fault of form becomes a problem with file and line.
 * An empty file holds no pairs. */
void config_yaml_read(const char *text, size_t size, const char *file, const struct config_yaml_sink *sink,
                      struct config_problems *problems);

#endif
