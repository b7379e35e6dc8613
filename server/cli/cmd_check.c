#include <stdio.h>

#include "engine/inspect.h"
#include "server/cli/command.h"
#include "server/exit_code.h"

static void print_values(const struct config *config) {
    char value[4096], origin[4096 + 32];
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        config_schema_value(key, config, value, sizeof value);
        printf("%-24s %-20s %s\n", key->name, *value ? value : "-",
               config_origin_text(config, key, origin, sizeof origin));
    }
}

/* Returns true if a model can be served from its path. origin: where the path was given. */
static bool check_path(const char *path, const char *name, const char *origin) {
    struct weir_error err;
    size_t count = 0;
    if (inspect_versions(path, name, stdout, &count, &err) != WEIR_OK) {
        fprintf(stderr, "weir: %s: %s\n", origin, err.text);
        return false;
    }
    if (count == 0)
        fputs("weir: warning: no version found: the server would start, and not be ready\n", stderr);
    return true;
}

static bool check_models(const struct config *config) {
    char origin[4096 + 32];
    bool good = true;
    for (size_t i = 0; i < config->models.count; i++) {
        const struct config_model *model = &config->models.items[i];
        snprintf(origin, sizeof origin, "%s:%d", config->file, model->line);
        good &= check_path(model->path, model->name, origin);
    }
    if (config->models.count > 0)
        return good;
    if (!config->model_path) {
        fputs("weir: model_path: is not set\n", stderr);
        return false;
    }
    return check_path(config->model_path, config->model_name,
                      config_origin_text(config, config_schema_key(CONFIG_KEY_model_path), origin, sizeof origin));
}

static int run(int argc, char **argv) {
    const struct config_sources sources = command_sources(argc, argv);
    struct config_problems problems = {.count = 0};
    struct config config;
    bool loaded = config_load(&sources, &config, &problems);
    command_print_problems(&problems, CONFIG_NOTICE);
    if (!loaded) {
        printf("not ok: %d %s in the configuration\n", problems.errors, problems.errors == 1 ? "error" : "errors");
        return EXIT_CODE_USAGE;
    }
    print_values(&config);
    putchar('\n');
    bool ok = check_models(&config);
    puts(ok ? "ok: the configuration is valid" : "not ok: no model can be served from model_path");
    config_release(&config);
    return ok ? EXIT_CODE_DONE : EXIT_CODE_USAGE;
}

const struct command command_check = {
    "check",
    "check the configuration, without serving",
    "usage: weir check [MODEL] [-c FILE] [--KEY VALUE]...\n"
    "\n"
    "Reads the configuration as `weir serve` with the same arguments would, and\n"
    "prints every value with its origin, what is wrong or odd, and the versions of\n"
    "the model. Nothing is served or loaded. The last line is the verdict.\n"
    "\n"
    "exit: 0 fine, 2 the configuration is wrong\n",
    run,
    NULL,
};
