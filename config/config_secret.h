/* Which values of a configuration nobody is shown. */
#ifndef WEIR_CONFIG_CONFIG_SECRET_H
#define WEIR_CONFIG_CONFIG_SECRET_H

#include <stddef.h>

#include "config/config_schema.h"

/* Writes the value as it may be shown: "(set, not shown)" where the key's name has a word such as key, secret, token,
 * password, credentials or headers, and a URL without its user and password. Names of files are no secrets: a word
 * file, path or dir takes precedence. Returns out. thread: any. */
const char *config_secret_hide(const struct config_key *key, const char *value, char *out, size_t size);

#endif
