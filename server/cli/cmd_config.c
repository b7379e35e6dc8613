#include <stdio.h>
#include <string.h>

#include "server/cli/command.h"
#include "server/exit_code.h"

static const char *default_of(const struct config_key *key) {
    return key->fallback ? key->fallback : "none";
}

static void print_table(void) {
    puts("| key | values | default | SIGHUP | meaning |\n|---|---|---|---|---|");
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        char range[96];
        printf("| `%s` | %s%s%s | %s | %s | %s |\n", key->name, config_schema_range(key, range, sizeof range),
               *key->unit ? " " : "", key->unit, default_of(key), key->reloadable ? "applies" : "needs a restart",
               key->sentence);
    }
}

static void print_list(void) {
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        char range[96];
        printf("%s: %s\n    %s\n    %s%s%s%s\n", key->name, default_of(key), key->sentence,
               config_schema_range(key, range, sizeof range), *key->unit ? " " : "", key->unit,
               key->reloadable ? ", SIGHUP applies a change" : "");
    }
}

static int run(int argc, char **argv) {
    if (argc > 1 || (argc == 1 && strcmp(argv[0], "--markdown") != 0))
        return command_misuse(&command_config, "`weir config` takes --markdown or nothing");
    if (argc == 1)
        print_table();
    else
        print_list();
    return EXIT_CODE_DONE;
}

const struct command command_config = {
    "config",
    "list every configuration key",
    "usage: weir config [--markdown]\n"
    "\n"
    "Prints every key with its default, what it means and what it takes.\n"
    "\n"
    "  --markdown    as a Markdown table\n",
    run,
    NULL,
};
