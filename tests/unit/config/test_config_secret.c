#include "config/config_secret.h"

#include <criterion/criterion.h>

static const char *shown(const char *name, const char *value) {
    static char out[256];
    return config_secret_hide(&(struct config_key){.name = name, .type = CONFIG_TYPE_STRING}, value, out, sizeof out);
}

Test(config_secret, values_of_secret_keys_are_not_shown) {
    const char *const names[] = {"api_key",    "keys",          "trace_headers",  "admin_token",
                                 "key_secret", "some_password", "proxy_auth_word"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_assert_str_eq(shown(names[i], "abc"), "(set, not shown)", "%s", names[i]);
}

Test(config_secret, a_secret_that_is_not_set_is_not_called_set) {
    cr_assert_str_eq(shown("api_key", ""), "");
}

Test(config_secret, other_values_and_names_of_files_are_shown) {
    cr_assert_str_eq(shown("model_path", "models/digits"), "models/digits");
    cr_assert_str_eq(shown("tls_key_file", "/etc/key.pem"), "/etc/key.pem");
    cr_assert_str_eq(shown("keyboard", "de"), "de");
    cr_assert_str_eq(shown("admin_listen", "127.0.0.1:8001"), "127.0.0.1:8001");
}

Test(config_secret, a_url_loses_its_user_and_password) {
    cr_assert_str_eq(shown("trace_endpoint", "https://me:pass@word@host:4318/v1?a@b"), "https://***@host:4318/v1?a@b");
    cr_assert_str_eq(shown("trace_endpoint", "http://host:4318/a@b"), "http://host:4318/a@b");
}
