#include "config/config_secret.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Has the name, words joined by '_', one of these words? */
static bool has_word(const char *name, const char *const *words) {
    for (; *words; words++) {
        size_t size = strlen(*words);
        for (const char *at = strstr(name, *words); at; at = strstr(at + 1, *words))
            if ((at == name || at[-1] == '_') && (at[size] == 0 || at[size] == '_'))
                return true;
    }
    return false;
}

static bool is_secret(const struct config_key *key) {
    static const char *const secrets[] = {"key",    "keys",     "secret", "secrets",    "token",
                                          "tokens", "password", "auth",   "credential", "credentials",
                                          "header", "headers",  NULL};
    static const char *const places[] = {"file", "path", "dir", NULL};
    return has_word(key->name, secrets) && !has_word(key->name, places);
}

const char *config_secret_hide(const struct config_key *key, const char *value, char *out, size_t size) {
    const char *scheme = strstr(value, "://");
    const char *host = scheme ? scheme + 3 : value;
    const char *user_end = NULL;
    if (value[0] && is_secret(key)) {
        snprintf(out, size, "(set, not shown)");
        return out;
    }
    for (const char *at = host; scheme && *at && *at != '/' && *at != '?' && *at != '#'; at++)
        if (*at == '@')
            user_end = at;
    if (user_end)
        snprintf(out, size, "%.*s***%s", (int)(host - value), value, user_end);
    else
        snprintf(out, size, "%s", value);
    return out;
}
