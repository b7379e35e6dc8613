#include "config/config_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_schema.h"

static struct config_model *find(const struct config_models *models, const char *name) {
    for (size_t i = 0; i < models->count; i++)
        if (strcmp(models->items[i].name, name) == 0)
            return &models->items[i];
    return NULL;
}

/* The model of this name, which is added if it is new. NULL: why says what is wrong. */
static struct config_model *enter(struct config_models *models, const struct config_yaml_pair *pair, char *why,
                                  size_t size) {
    struct config_model *model = find(models, pair->model);
    if (model)
        return model;
    if (!config_schema_is_model_name(pair->model)) {
        snprintf(why, size, "\"%.80s\" may hold only A-Z a-z 0-9 . _ - and not begin with a dot, at most 64 of them",
                 pair->model);
        return NULL;
    }
    if (models->count == CONFIG_MODELS_MOST) {
        snprintf(why, size, "there are more than %d models", CONFIG_MODELS_MOST);
        return NULL;
    }
    struct config_model *more = reallocarray(models->items, models->count + 1, sizeof *more);
    char *name = strdup(pair->model);
    models->items = more ? more : models->items;
    if (!more || !name) {
        free(name);
        snprintf(why, size, "no memory for the models");
        return NULL;
    }
    more[models->count] = (struct config_model){.name = name, .line = pair->model_line};
    return &more[models->count++];
}

static const char *const options[] = {"path", "version_policy"};

/* Which field of the model an option is; NULL: there is no such option. */
static char **field_of(struct config_model *model, const char *option) {
    if (strcmp(option, options[0]) == 0)
        return &model->path;
    return strcmp(option, options[1]) == 0 ? &model->version_policy : NULL;
}

static void set(char **field, const struct config_yaml_pair *pair, char *why, size_t size) {
    const struct config_key *key =
        config_schema_key(strcmp(pair->key, "path") == 0 ? CONFIG_KEY_model_path : CONFIG_KEY_version_policy);
    const char *fault = config_schema_judge(key, pair->value);
    if (*field)
        snprintf(why, size, "is given twice for the model %s", pair->model);
    else if (pair->kind == CONFIG_YAML_LIST || pair->kind == CONFIG_YAML_MAPPING)
        snprintf(why, size, "must be one value, not a %s", pair->kind == CONFIG_YAML_LIST ? "list" : "mapping");
    else if (!*pair->value || (int64_t)strlen(pair->value) > key->most)
        snprintf(why, size, "must hold 1 to %lld characters", (long long)key->most);
    else if (fault)
        snprintf(why, size, "\"%.80s\" %s", pair->value, fault);
    else if (!(*field = strdup(pair->value)))
        snprintf(why, size, "no memory for the value");
}

void config_models_take(struct config_models *models, const struct config_yaml_pair *pair, const char *file,
                        struct config_problems *problems) {
    char why[256] = "", key[160];
    snprintf(key, sizeof key, "models.%.70s.%.70s", pair->model, pair->key);
    struct config_place place = {file, pair->line, key};
    struct config_model *model = enter(models, pair, why, sizeof why);
    char **field = model ? field_of(model, pair->key) : NULL;
    if (field)
        set(field, pair, why, sizeof why);
    else if (model)
        snprintf(why, sizeof why, "unknown option of a model: there are %s and %s", options[0], options[1]);
    if (why[0])
        config_problems_add(problems, CONFIG_ERROR, &place, "%s", why);
}

void config_models_check(const struct config_models *models, const char *file, struct config_problems *problems) {
    for (size_t i = 0; i < models->count; i++) {
        const struct config_model *model = &models->items[i];
        char key[160];
        snprintf(key, sizeof key, "models.%s", model->name);
        struct config_place place = {file, model->line, key};
        if (!model->path)
            config_problems_add(problems, CONFIG_ERROR, &place, "has no path");
    }
}

static bool same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool config_models_equal(const struct config_models *a, const struct config_models *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same(a->items[i].name, b->items[i].name) || !same(a->items[i].path, b->items[i].path) ||
            !same(a->items[i].version_policy, b->items[i].version_policy))
            return false;
    return true;
}

void config_models_release(struct config_models *models) {
    for (size_t i = 0; i < models->count; i++) {
        free(models->items[i].name);
        free(models->items[i].path);
        free(models->items[i].version_policy);
    }
    free(models->items);
    *models = (struct config_models){.count = 0};
}
