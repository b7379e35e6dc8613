/* Feeds bytes to the configuration as the text of its file. What is taken must be within its range, and what is refused
 * must say why. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const struct config *config) {
    char value[8192], why[256];
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        struct config again = {.file = NULL};
        config_schema_value(key, config, value, sizeof value);
        if (!*value)
            continue;
        if (!config_schema_set(key, value, &again, why, sizeof why) || !config_schema_equal(key, config, &again))
            abort();
        config_release(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct config_problems problems = {.count = 0};
    struct config config;
    char text[512];
    if (config_load_text((const char *)data, size, "fuzz.yaml", &config, &problems)) {
        if (problems.errors != 0)
            abort();
        check_values(&config);
        config_release(&config);
    } else if (problems.errors == 0 || problems.count == 0) {
        abort();
    }
    for (int i = 0; i < problems.count; i++)
        if (strlen(config_problems_text(&problems.items[i], text, sizeof text)) == 0 || problems.items[i].line < 0)
            abort();
    return 0;
}
