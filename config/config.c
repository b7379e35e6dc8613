#include "config/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_yaml.h"

struct loader {
    struct config config;
    struct config_problems *problems;
    const char *file;
    int file_lines[CONFIG_KEY_COUNT]; /* where the file gave a key; 0 if it did not */
    bool flagged[CONFIG_KEY_COUNT];   /* given by a flag or as an argument */
};

static void take_value(struct loader *loader, const struct config_key *key, const char *text,
                       const struct config_origin *origin, const struct config_place *place) {
    char why[256];
    if (config_schema_set(key, text, &loader->config, why, sizeof why))
        loader->config.origins[config_schema_id(key)] = *origin;
    else
        config_problems_add(loader->problems, CONFIG_ERROR, place, "%s", why);
}

static void take_pair(void *context, const struct config_yaml_pair *pair) {
    struct loader *loader = context;
    const struct config_place place = {loader->file, pair->line, pair->key};
    const struct config_origin origin = {CONFIG_ORIGIN_FILE, pair->line};
    const struct config_key *key = config_schema_find(pair->key);
    bool plain = pair->kind == CONFIG_YAML_PLAIN;
    if (pair->model) {
        config_models_take(&loader->config.models, pair, loader->file, loader->problems);
        return;
    }
    if (!key) {
        key = config_schema_nearest(pair->key);
        if (key)
            config_problems_add(loader->problems, CONFIG_ERROR, &place, "unknown key, did you mean %s?", key->name);
        else
            config_problems_add(loader->problems, CONFIG_ERROR, &place, "unknown key (`weir config` lists the keys)");
        return;
    }
    int *line = &loader->file_lines[config_schema_id(key)];
    if (*line > 0) {
        config_problems_add(loader->problems, CONFIG_ERROR, &place, "is given twice, on line %d and on line %d", *line,
                            pair->line);
        return;
    }
    *line = pair->line;
    if (pair->kind == CONFIG_YAML_LIST || pair->kind == CONFIG_YAML_MAPPING)
        config_problems_add(loader->problems, CONFIG_ERROR, &place, "must be one value, not a %s",
                            pair->kind == CONFIG_YAML_LIST ? "list" : "mapping");
    else if (plain && (!*pair->value || strcmp(pair->value, "~") == 0 || strcasecmp(pair->value, "null") == 0))
        config_problems_add(loader->problems, CONFIG_ERROR, &place, "has no value: give one or leave the key out");
    else if (!plain && key->type == CONFIG_TYPE_INTEGER)
        config_problems_add(loader->problems, CONFIG_ERROR, &place, "\"%.80s\" must be a number without quotes",
                            pair->value);
    else
        take_value(loader, key, pair->value, &origin, &place);
}

static void load_defaults(struct loader *loader) {
    const struct config_origin origin = {CONFIG_ORIGIN_DEFAULT, 0};
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        const struct config_place place = {NULL, 0, key->name};
        if (key->fallback)
            take_value(loader, key, key->fallback, &origin, &place);
    }
}

static void load_file(struct loader *loader, const char *text, size_t size) {
    const struct config_yaml_sink sink = {take_pair, loader};
    loader->config.file = strdup(loader->file);
    if (loader->config.file) {
        config_yaml_read(text, size, loader->file, &sink, loader->problems);
    } else {
        const struct config_place place = {loader->file, 0, NULL};
        config_problems_add(loader->problems, CONFIG_ERROR, &place, "cannot be read: no memory");
    }
}

/* Kubernetes puts the address of every Service into the environment of the pods in its namespace. A Service named
 * "weir" or "weir-..." yields WEIR_PORT=tcp://..., WEIR_SERVICE_HOST and more. Source: Kubernetes documentation,
 * "Service", environment variables. */
static bool is_service_link(const char *name, const char *value) {
    if (strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT"))
        return true;
    const char *port = strstr(name, "_PORT");
    if (!port)
        return false;
    if (port[5] == 0)
        return strncmp(value, "tcp://", 6) == 0 || strncmp(value, "udp://", 6) == 0;
    return port[5] == '_' && isdigit((unsigned char)port[6]);
}

static const char *variable_name(const struct config_key *key, char *out, size_t size) {
    snprintf(out, size, "WEIR_%s", key->name);
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return out;
}

static void take_variable(struct loader *loader, const char *name, const char *value) {
    const struct config_origin origin = {CONFIG_ORIGIN_ENVIRONMENT, 0};
    const struct config_place place = {NULL, 0, name};
    char expected[64];
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        if (strcmp(name, variable_name(key, expected, sizeof expected)) == 0) {
            take_value(loader, key, value, &origin, &place);
            return;
        }
    }
    const struct config_key *nearest = config_schema_nearest(name + strlen("WEIR_"));
    if (nearest)
        config_problems_add(loader->problems, CONFIG_WARNING, &place, "unknown variable ignored, did you mean %s?",
                            variable_name(nearest, expected, sizeof expected));
    else
        config_problems_add(loader->problems, CONFIG_WARNING, &place, "unknown variable ignored");
}

static void load_environment(struct loader *loader, char *const *environment) {
    bool link_said = false;
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (strncmp(*environment, "WEIR_", 5) != 0 || !equals)
            continue;
        char *name = strndup(*environment, (size_t)(equals - *environment));
        const struct config_place place = {NULL, 0, name};
        if (!name) {
            config_problems_add(loader->problems, CONFIG_ERROR, &place, "no memory for the environment");
            return;
        }
        if (!is_service_link(name, equals + 1))
            take_variable(loader, name, equals + 1);
        else if (!link_said)
            config_problems_add(loader->problems, CONFIG_NOTICE, &place,
                                "is a Kubernetes service link, not a setting: it and others like it are ignored");
        link_said = link_said || is_service_link(name, equals + 1);
        free(name);
    }
}

struct flag {
    char name[64];     /* with _ for -, without the dashes in front */
    char spelt[64];    /* as typed, without the value */
    const char *value; /* NULL if there is none */
};

static char *replace(char *text, char from, char to) {
    for (char *p = text; *p; p++)
        if (*p == from)
            *p = to;
    return text;
}

/* Reads the flag at argv[*at] and moves *at behind it and its value. */
static struct flag next_flag(const struct config_sources *sources, int *at) {
    struct flag flag = {.value = NULL};
    const char *text = sources->argv[*at];
    size_t length = strcspn(text, "=");
    snprintf(flag.spelt, sizeof flag.spelt, "%.*s", (int)(length < sizeof flag.spelt ? length : sizeof flag.spelt),
             text);
    snprintf(flag.name, sizeof flag.name, "%s", flag.spelt + strspn(flag.spelt, "-"));
    replace(flag.name, '-', '_');
    *at += 1;
    if (text[length] == '=')
        flag.value = text + length + 1;
    else if (*at < sources->argc && strncmp(sources->argv[*at], "--", 2) != 0)
        flag.value = sources->argv[(*at)++];
    return flag;
}

static bool is_file_flag(const struct flag *flag) {
    return strcmp(flag->spelt, "-c") == 0 || strcmp(flag->spelt, "--config") == 0;
}

static bool is_flag(const char *text) {
    return text[0] == '-' && text[1];
}

/* The FILE of -c FILE, or NULL. What is wrong with the flags is load_flags's to say. */
static const char *find_file(const struct config_sources *sources) {
    for (int at = 0; at < sources->argc && strcmp(sources->argv[at], "--") != 0;) {
        if (!is_flag(sources->argv[at])) {
            at++;
            continue;
        }
        struct flag flag = next_flag(sources, &at);
        if (is_file_flag(&flag) && flag.value)
            return flag.value;
    }
    return NULL;
}

static void say_unknown_flag(struct loader *loader, const struct flag *flag, const struct config_place *place) {
    char nearest[64];
    const struct config_key *key = config_schema_nearest(flag->name);
    if (key) {
        snprintf(nearest, sizeof nearest, "%s", key->name);
        config_problems_add(loader->problems, CONFIG_ERROR, place, "unknown flag, did you mean --%s?",
                            replace(nearest, '_', '-'));
    } else {
        config_problems_add(loader->problems, CONFIG_ERROR, place, "unknown flag (`weir config` lists the keys)");
    }
}

static void take_flag(struct loader *loader, const struct config_key *key, const struct config_place *place,
                      const char *value, enum config_origin_kind kind) {
    const struct config_origin origin = {kind, 0};
    bool *given = &loader->flagged[config_schema_id(key)];
    if (!value)
        config_problems_add(loader->problems, CONFIG_ERROR, place, "needs a value");
    else if (*given)
        config_problems_add(loader->problems, CONFIG_ERROR, place, "%s is given twice", key->name);
    else
        take_value(loader, key, value, &origin, place);
    *given = true;
}

static void load_flags(struct loader *loader, const struct config_sources *sources) {
    bool only_arguments = false, file_given = false;
    for (int at = 0; at < sources->argc;) {
        const char *text = sources->argv[at];
        if (only_arguments || !is_flag(text)) {
            const struct config_place place = {NULL, 0, "MODEL"};
            at++;
            take_flag(loader, config_schema_key(CONFIG_KEY_model_path), &place, text, CONFIG_ORIGIN_ARGUMENT);
            continue;
        }
        if (strcmp(text, "--") == 0) {
            only_arguments = true;
            at++;
            continue;
        }
        const struct flag flag = next_flag(sources, &at);
        const struct config_place place = {NULL, 0, flag.spelt};
        const struct config_key *key = strncmp(text, "--", 2) == 0 ? config_schema_find(flag.name) : NULL;
        if (key)
            take_flag(loader, key, &place, flag.value, CONFIG_ORIGIN_FLAG);
        else if (!is_file_flag(&flag))
            say_unknown_flag(loader, &flag, &place);
        else if (!flag.value || file_given)
            config_problems_add(loader->problems, CONFIG_ERROR, &place, flag.value ? "is given twice" : "needs a file");
        file_given = file_given || is_file_flag(&flag);
    }
}

/* Adds a problem at the place that gave key its value. */
static void complain_about(struct loader *loader, enum config_key_id id, enum config_severity severity,
                           const char *text) {
    const struct config_key *key = config_schema_key(id);
    const struct config_origin *origin = &loader->config.origins[id];
    char name[64];
    struct config_place place = {NULL, 0, key->name};
    if (origin->kind == CONFIG_ORIGIN_FILE) {
        place.file = loader->file;
        place.line = origin->line;
    } else if (origin->kind != CONFIG_ORIGIN_DEFAULT) {
        place.key = config_origin_text(&loader->config, key, name, sizeof name);
    }
    config_problems_add(loader->problems, severity, &place, "%s", text);
}

static bool is_default(const struct loader *loader, enum config_key_id id) {
    return loader->config.origins[id].kind == CONFIG_ORIGIN_DEFAULT;
}

/* Where the device is not known before the start, it refuses then. */
static void check_precision(struct loader *loader) {
    const struct config *config = &loader->config;
    bool is_gpus = config->precision == CONFIG_PRECISION_TF32 || config->precision == CONFIG_PRECISION_FP16;
    if (config->device == CONFIG_DEVICE_CUDA && config->precision == CONFIG_PRECISION_INT8)
        complain_about(loader, CONFIG_KEY_precision, CONFIG_ERROR,
                       "int8 is for the CPU: GPUs have fp32, tf32, fp16 and bf16");
    if (config->device == CONFIG_DEVICE_CPU && is_gpus)
        complain_about(loader, CONFIG_KEY_precision, CONFIG_ERROR,
                       "tf32 and fp16 are for GPUs: the CPU has fp32, bf16 and int8");
}

static void check_together(struct loader *loader) {
    const struct config *config = &loader->config;
    char text[160];
    config_models_check(&config->models, loader->file, loader->problems);
    check_precision(loader);
    if (config->models.count > 0 && config->model_path)
        complain_about(loader, CONFIG_KEY_model_path, CONFIG_ERROR, "and models are both given: name it under models");
    if (config->models.count > 0 && config->model_name)
        complain_about(loader, CONFIG_KEY_model_name, CONFIG_ERROR, "names the model of model_path: models have names");
    if (config->ops_port != 0 && config->ops_port == config->port)
        complain_about(loader, CONFIG_KEY_ops_port, CONFIG_ERROR,
                       "is the same as port: 0 serves both on one port, another number on two");
    if (config->max_concurrency < config->batch_size) {
        snprintf(text, sizeof text,
                 "max_concurrency %lld is less than batch_size %lld: one-row requests never fill a batch",
                 (long long)config->max_concurrency, (long long)config->batch_size);
        complain_about(
            loader, is_default(loader, CONFIG_KEY_max_concurrency) ? CONFIG_KEY_batch_size : CONFIG_KEY_max_concurrency,
            CONFIG_WARNING, text);
    }
    if (config->max_inflight_body_bytes < config->max_body_bytes)
        complain_about(loader,
                       is_default(loader, CONFIG_KEY_max_inflight_body_bytes) ? CONFIG_KEY_max_body_bytes
                                                                              : CONFIG_KEY_max_inflight_body_bytes,
                       CONFIG_WARNING,
                       "max_inflight_body_bytes is less than max_body_bytes: the largest bodies never come in");
}

static bool finish(struct loader *loader, struct config *out) {
    if (loader->problems->errors == 0)
        check_together(loader);
    if (loader->problems->errors > 0) {
        config_release(&loader->config);
        return false;
    }
    *out = loader->config;
    return true;
}

bool config_load(const struct config_sources *sources, struct config *out, struct config_problems *problems) {
    const char *flagged_file = find_file(sources);
    struct loader loader = {.problems = problems, .file = flagged_file ? flagged_file : sources->file};
    char *text = NULL;
    size_t size = 0;
    load_defaults(&loader);
    if (loader.file && config_yaml_open(loader.file, &text, &size, problems))
        load_file(&loader, text, size);
    free(text);
    load_environment(&loader, sources->environment);
    load_flags(&loader, sources);
    return finish(&loader, out);
}

bool config_load_text(const char *text, size_t size, const char *name, struct config *out,
                      struct config_problems *problems) {
    struct loader loader = {.problems = problems, .file = name};
    load_defaults(&loader);
    load_file(&loader, text, size);
    return finish(&loader, out);
}

void config_release(struct config *config) {
#define RELEASE_INTEGER(name)
#define RELEASE_SIZE(name)
#define RELEASE_ENUM(name)
#define RELEASE_STRING(name)     free(config->name);
#define RELEASE(name, type, ...) RELEASE_##type(name)
    CONFIG_KEY_LIST(RELEASE)
    config_models_release(&config->models);
    free(config->file);
    memset(config, 0, sizeof *config);
}

const char *config_origin_text(const struct config *config, const struct config_key *key, char *out, size_t size) {
    const struct config_origin *origin = &config->origins[config_schema_id(key)];
    switch (origin->kind) {
    case CONFIG_ORIGIN_DEFAULT:
        snprintf(out, size, "default");
        break;
    case CONFIG_ORIGIN_FILE:
        snprintf(out, size, "%s:%d", config->file ? config->file : "file", origin->line);
        break;
    case CONFIG_ORIGIN_ENVIRONMENT:
        variable_name(key, out, size);
        break;
    case CONFIG_ORIGIN_FLAG:
        snprintf(out, size, "--%s", key->name);
        replace(out, '_', '-');
        break;
    case CONFIG_ORIGIN_ARGUMENT:
        snprintf(out, size, "MODEL");
        break;
    }
    return out;
}

bool config_may_reload(const struct config *running, const struct config *wanted, char *names, size_t size) {
    size_t used = 0;
    bool may = true;
    *names = 0;
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        if (key->reloadable || config_schema_equal(key, running, wanted))
            continue;
        if (used < size)
            used += (size_t)snprintf(names + used, size - used, "%s%s", may ? "" : ", ", key->name);
        may = false;
    }
    if (!config_models_equal(&running->models, &wanted->models)) {
        if (used < size)
            snprintf(names + used, size - used, "%smodels", may ? "" : ", ");
        may = false;
    }
    return may;
}
