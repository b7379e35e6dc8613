#include "config/config_schema.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"

static const char *refusal(const char *name, const char *text) {
    static char why[256];
    struct config config = {.file = NULL};
    const struct config_key *key = config_schema_find(name);
    *why = 0;
    cr_assert_not(config_schema_set(key, text, &config, why, sizeof why), "%s took \"%s\"", name, text);
    cr_assert_neq(*why, 0);
    return why;
}

static int64_t number(const char *name, const char *text) {
    struct config config = {.file = NULL};
    char why[256];
    const struct config_key *key = config_schema_find(name);
    cr_assert(config_schema_set(key, text, &config, why, sizeof why), "%s = \"%s\": %s", name, text, why);
    return *(int64_t *)((char *)&config + key->offset);
}

static void assert_taken(const char *name, const char *text) {
    struct config config = {.file = NULL};
    char why[256], value[4200];
    const struct config_key *key = config_schema_find(name);
    cr_assert(config_schema_set(key, text, &config, why, sizeof why), "%s = \"%s\": %s", name, text, why);
    cr_assert_str_eq(config_schema_value(key, &config, value, sizeof value), text);
    config_release(&config);
}

Test(config_schema, every_default_is_a_value_that_its_own_key_takes_and_spells_alike) {
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        if (key->fallback)
            assert_taken(key->name, key->fallback);
    }
}

Test(config_schema, every_key_is_found_by_its_name_and_explained_in_a_sentence) {
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        cr_assert_eq(config_schema_find(key->name), key);
        cr_assert_eq((int)config_schema_id(key), i);
        cr_assert_eq(key->sentence[strlen(key->sentence) - 1], '.');
        cr_assert_leq(strlen(key->sentence), 76);
    }
    cr_assert_null(config_schema_find("Port"));
    cr_assert_null(config_schema_find("service"));
}

Test(config_schema, every_bound_is_taken_and_the_number_beyond_it_is_not) {
    char text[32];
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        if (key->type != CONFIG_TYPE_INTEGER && key->type != CONFIG_TYPE_SIZE)
            continue;
        snprintf(text, sizeof text, "%" PRId64, key->least);
        cr_assert_eq(number(key->name, text), key->least);
        snprintf(text, sizeof text, "%" PRId64, key->most);
        cr_assert_eq(number(key->name, text), key->most);
        snprintf(text, sizeof text, "%" PRId64, key->least - 1);
        cr_assert_not_null(strstr(refusal(key->name, text), "out of range"));
        snprintf(text, sizeof text, "%" PRId64, key->most + 1);
        cr_assert_not_null(strstr(refusal(key->name, text), "out of range"));
    }
}

Test(config_schema, huge_numbers_are_out_of_range_and_never_wrap) {
    static const char *const texts[] = {
        "4294967297",           "2147483648",           "9223372036854775807",     "9223372036854775808",
        "18446744073709551617", "-9223372036854775808", "-99999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_assert_not_null(strstr(refusal("batch_size", texts[i]), "out of range, allowed is 1..65536"));
        cr_assert_not_null(strstr(refusal("max_body_bytes", texts[i]), "out of range"));
    }
    cr_assert_not_null(strstr(refusal("max_body_bytes", "9007199254740993KiB"), "out of range"));
    cr_assert_not_null(strstr(refusal("max_body_bytes", "18446744073709551617GiB"), "out of range"));
}

Test(config_schema, only_plain_decimal_is_a_whole_number) {
    static const char *const texts[] = {"",  "1e3", "0x10", "010", "00", "+5",  " 5",  "5 ", "5.0", "1_000",
                                        "-", "--5", "-0",   "5a",  "٣",  "1,0", "ten", "~",  "5KiB"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_assert_not_null(strstr(refusal("port", texts[i]), "not a whole number"), "%s", texts[i]);
}

Test(config_schema, sizes_take_a_binary_suffix) {
    cr_assert_eq(number("max_body_bytes", "1000"), 1000);
    cr_assert_eq(number("max_body_bytes", "1KiB"), 1024);
    cr_assert_eq(number("max_body_bytes", "16 MiB"), 16777216);
    cr_assert_eq(number("max_inflight_body_bytes", "3GiB"), INT64_C(3221225472));
    static const char *const texts[] = {"16MB", "16mib", "16M", "16  MiB", "16 ", "MiB", "1.5MiB", "16MiBs", "016MiB"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_assert_not_null(strstr(refusal("max_body_bytes", texts[i]), "KiB, MiB or GiB"), "%s", texts[i]);
}

Test(config_schema, a_choice_is_one_of_its_words_and_numbered_like_its_enum) {
    struct config config = {.file = NULL};
    char why[256];
    cr_assert(config_schema_set(config_schema_find("device"), "cuda", &config, why, sizeof why));
    cr_assert_eq(config.device, CONFIG_DEVICE_CUDA);
    cr_assert(config_schema_set(config_schema_find("log_level"), "debug", &config, why, sizeof why));
    cr_assert_eq(config.log_level, CONFIG_LOG_LEVEL_DEBUG);
    cr_assert_str_eq(refusal("device", "gpu0"), "\"gpu0\" is not one of auto, cpu, cuda");
    refusal("device", "CPU");
    refusal("device", "");
}

Test(config_schema, a_health_path_must_be_plain_and_free) {
    static const char *const good[] = {"/health", "/healthz", "/h", "/a/b-c_d.e~f", "/predictions", "/v1x", "/..a"};
    static const char *const bad[] = {"health",     "/",     "",          "/predict", "/predict/x", "/v1",
                                      "/v2/health", "/ui",   "/admin",    "/a/",      "//a",        "/a//b",
                                      "/a/../b",    "/a/..", "/a/.",      "/./a",     "/a?b",       "/a b",
                                      "/a%20b",     "/a#b",  "/\xC3\xA4", "/metrics", "/models/a"};
    char longest[160];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_taken("health_path", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refusal("health_path", bad[i]);
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    longest[128] = 0;
    assert_taken("health_path", longest);
    longest[128] = 'a';
    longest[129] = 0;
    refusal("health_path", longest);
}

/* The engine's own reader refuses the same (tests/unit/engine/model/test_version_policy.c). */
Test(config_schema, a_version_policy_names_versions_that_can_be) {
    static const char *const good[] = {"latest", "latest:1", "latest:64", "all", "1", "1, 4", " [ v9 ,10] ", "007"};
    static const char *const bad[] = {
        "newest", "latest:",  "latest:0", "latest:00", "latest:-1", "latest:1x", "0",  "1, 0",  "[3, v0]",
        "[]",     "[1, 3",    "1, 3]",    "1,,2",      "1 2",       "v",         "1,", "[[1]]", "99999999999999999999",
        "-1",     "latest 2", "allow",    "vv1"};
    char many[256] = "1";
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_taken("version_policy", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refusal("version_policy", bad[i]);
    for (int i = 1; i < 64; i++)
        strcat(many, ",1");
    assert_taken("version_policy", many);
    strcat(many, ",1");
    refusal("version_policy", many);
}

Test(config_schema, other_texts_are_checked_for_what_they_name) {
    assert_taken("model_path", "/srv/models/modèle de test");
    refusal("model_path", "");
    refusal("model_path", "a\nb");
    assert_taken("model_name", "digits-2.1_x");
    refusal("model_name", ".hidden");
    refusal("model_name", "a/b");
    refusal("model_name", "a b");
    assert_taken("host", "0.0.0.0");
    assert_taken("host", "fe80::1%eth0");
    assert_taken("host", "[::1]");
    assert_taken("host", "localhost");
    refusal("host", "http://x");
    refusal("host", "a b");
}

Test(config_schema, a_misspelt_name_finds_its_key) {
    static const char *const pairs[][2] = {
        {"batchsize", "batch_size"},    {"batch-size", "batch_size"},
        {"Batch_Size", "batch_size"},   {"prot", "port"},
        {"tmieout_ms", "timeout_ms"},   {"timeout", "timeout_ms"},
        {"model", "model_path"},        {"max_concurency", "max_concurrency"},
        {"helth_path", "health_path"},  {"worker", "workers"},
        {"loglevel", "log_level"},      {"gpus_count", "gpu_count"},
        {"max_body", "max_body_bytes"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct config_key *key = config_schema_nearest(pairs[i][0]);
        cr_assert_not_null(key, "%s", pairs[i][0]);
        cr_assert_str_eq(key->name, pairs[i][1]);
    }
    char endless[200];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    cr_assert_null(config_schema_nearest(endless));
    cr_assert_null(config_schema_nearest("xyzzy_quux"));
    cr_assert_null(config_schema_nearest(""));
}

Test(config_schema, a_range_is_written_for_people) {
    char range[96];
    cr_assert_str_eq(config_schema_range(config_schema_find("port"), range, sizeof range), "0..65535");
    cr_assert_str_eq(config_schema_range(config_schema_find("max_body_bytes"), range, sizeof range), "1..1GiB");
    cr_assert_str_eq(config_schema_range(config_schema_find("log_level"), range, sizeof range),
                     "error, warn, info, debug");
    cr_assert_str_eq(config_schema_range(config_schema_find("host"), range, sizeof range), "text");
}

Test(config_schema, values_are_compared_by_content) {
    char a[] = "/x", b[] = "/x";
    struct config one = {.health_path = a, .port = 1}, two = {.health_path = b, .port = 2};
    cr_assert(config_schema_equal(config_schema_find("health_path"), &one, &two));
    cr_assert(config_schema_equal(config_schema_find("model_path"), &one, &two));
    cr_assert_not(config_schema_equal(config_schema_find("port"), &one, &two));
    two.model_path = b;
    cr_assert_not(config_schema_equal(config_schema_find("model_path"), &one, &two));
}
