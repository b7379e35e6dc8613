/* Feeds bytes to the configuration as the text of its file. What is taken must be within its range, and what is refused
 * must say why. */
#include "config/config.h"
#include "tests/fuzz/fuzz.h"

static void check_values(const struct config *config) {
    char value[8192], why[256];
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        struct config again = {.file = NULL};
        config_schema_value(key, config, value, sizeof value);
        if (!*value)
            continue;
        require(config_schema_set(key, value, &again, why, sizeof why), "a value's own text is refused");
        require(config_schema_equal(key, config, &again), "a value's own text is read as another");
        config_release(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct config_problems problems = {.count = 0};
    struct config config;
    char text[512];
    if (config_load_text((const char *)data, size, "fuzz.yaml", &config, &problems)) {
        require(problems.errors == 0, "what has errors is taken");
        check_values(&config);
        config_release(&config);
    } else {
        require(problems.errors > 0 && problems.count > 0, "it is refused without a problem");
    }
    for (int i = 0; i < problems.count; i++) {
        require(*config_problems_text(&problems.items[i], text, sizeof text), "a problem without a text");
        require(problems.items[i].line >= 0, "a problem in a line before the first");
    }
    return 0;
}
