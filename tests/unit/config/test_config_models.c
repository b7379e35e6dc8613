#include "config/config_models.h"

#include <criterion/criterion.h>
#include <string.h>

#include "config/config.h"

static struct config config;
static struct config_problems problems;

static bool load(const char *text) {
    problems = (struct config_problems){.count = 0};
    return config_load_text(text, strlen(text), "f.yaml", &config, &problems);
}

/* The text of the only problem. */
static const char *fault(const char *text) {
    static char out[1024];
    cr_assert_not(load(text), "%s", text);
    cr_assert_geq(problems.count, 1);
    return config_problems_text(&problems.items[0], out, sizeof out);
}

Test(config_models, models_have_names_paths_and_options) {
    cr_assert(
        load("port: 1\nmodels:\n  digits: /m/digits\n  big.one:\n    path: /m/big\n    version_policy: latest:2\n"));
    cr_assert_eq(config.models.count, 2);
    cr_assert_str_eq(config.models.items[0].name, "digits");
    cr_assert_str_eq(config.models.items[0].path, "/m/digits");
    cr_assert_null(config.models.items[0].version_policy);
    cr_assert_str_eq(config.models.items[1].name, "big.one");
    cr_assert_str_eq(config.models.items[1].version_policy, "latest:2");
    cr_assert_eq(config.models.items[1].line, 4);
    cr_assert_eq(config.port, 1);
    config_release(&config);
}

Test(config_models, they_may_lie_under_service_too) {
    cr_assert(load("service:\n  models:\n    a: /a\n  port: 2\n"));
    cr_assert_eq(config.models.count, 1);
    cr_assert_eq(config.port, 2);
    config_release(&config);
}

Test(config_models, faults_name_the_model_and_the_line) {
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"models: /a\n", "f.yaml:1: models: must hold models by name"},
        {"models:\n  - a\n", "must hold models by name"},
        {"models:\n  a:\n    port: 1\n", "f.yaml:3: models.a.port: unknown option"},
        {"models:\n  .a: /x\n", "may hold only"},
        {"models:\n  a: [1]\n", "must be one value, not a list"},
        {"models:\n  a: /x\n  a: /y\n", "f.yaml:3: models.a.path: is given twice"},
        {"models:\n  a:\n    version_policy: all\n", "f.yaml:2: models.a: has no path"},
        {"models:\n  a:\n    path: /x\n    version_policy: newest\n", "is none of latest"},
        {"models:\n  a:\n    path: /x\n    version_policy: latest:0\n", "f.yaml:4: models.a.version_policy: "},
        {"models:\n  a: /x\nmodel_path: /y\n", "f.yaml:3: model_path: and models are both given"},
        {"models:\n  a: /x\nmodel_name: b\n", "models have names"},
        {"models:\n  a:\n    path: {b: c}\n", "must be one value, not a mapping"},
        {"models:\n  a: &x /x\n", "anchors"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = fault(rows[i].text);
        cr_assert_not_null(strstr(text, rows[i].wanted), "%s gives %s", rows[i].text, text);
    }
}

Test(config_models, a_changed_model_needs_a_restart) {
    struct config other;
    char names[64];
    cr_assert(load("models:\n  a: /x\n"));
    other = config;
    cr_assert(load("models:\n  a: /y\n"));
    cr_assert_not(config_may_reload(&other, &config, names, sizeof names));
    cr_assert_str_eq(names, "models");
    config_release(&other);
    config_release(&config);
}
