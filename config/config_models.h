/* The key `models`: several models by name, each with its path and options. */
#ifndef WEIR_CONFIG_CONFIG_MODELS_H
#define WEIR_CONFIG_CONFIG_MODELS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config_problems.h"
#include "config/config_yaml.h"

enum { CONFIG_MODELS_MOST = 64 };

struct config_model {
    char *name;
    char *path;           /* NULL until it was read */
    char *version_policy; /* NULL: as the key version_policy */
    int line;             /* where the name stands */
};

struct config_models {
    struct config_model *items; /* in the file's order: the first is the default */
    size_t count;
};

/* Takes one pair of `models` (pair->model is not NULL): `NAME: PATH`, or under `NAME:` one of its options. Faults
 * become problems of the file. */
void config_models_take(struct config_models *models, const struct config_yaml_pair *pair, const char *file,
                        struct config_problems *problems);

/* Says which models have no path. */
void config_models_check(const struct config_models *models, const char *file, struct config_problems *problems);

bool config_models_equal(const struct config_models *a, const struct config_models *b);
void config_models_release(struct config_models *models);

#endif
