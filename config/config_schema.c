#include "config/config_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/nearest.h"

#define CHOICE(name, text) text,
static const char *const device_choices[] = {CONFIG_DEVICE_LIST(CHOICE) NULL};
static const char *const admission_choices[] = {CONFIG_ADMISSION_LIST(CHOICE) NULL};
static const char *const precision_choices[] = {CONFIG_PRECISION_LIST(CHOICE) NULL};
static const char *const invariance_choices[] = {CONFIG_INVARIANCE_LIST(CHOICE) NULL};
static const char *const new_versions_choices[] = {CONFIG_NEW_VERSIONS_LIST(CHOICE) NULL};
static const char *const access_log_format_choices[] = {CONFIG_ACCESS_LOG_FORMAT_LIST(CHOICE) NULL};
static const char *const server_timing_choices[] = {CONFIG_SERVER_TIMING_LIST(CHOICE) NULL};
static const char *const log_level_choices[] = {CONFIG_LOG_LEVEL_LIST(CHOICE) NULL};
#undef CHOICE

#define CHOICES_INTEGER(name) NULL
#define CHOICES_SIZE(name)    NULL
#define CHOICES_STRING(name)  NULL
#define CHOICES_ENUM(name)    name##_choices
#define RELOADABLE_LIVE       true
#define RELOADABLE_FIXED      false
#define KEY(name, type, unit, least, most, fallback, reload, sentence)                                                 \
    {#name,                                                                                                            \
     CONFIG_TYPE_##type,                                                                                               \
     unit,                                                                                                             \
     least,                                                                                                            \
     most,                                                                                                             \
     fallback,                                                                                                         \
     RELOADABLE_##reload,                                                                                              \
     sentence,                                                                                                         \
     CHOICES_##type(name),                                                                                             \
     offsetof(struct config, name)},
static const struct config_key keys[CONFIG_KEY_COUNT] = {CONFIG_KEY_LIST(KEY)};
#undef KEY

const struct config_key *config_schema_key(enum config_key_id id) {
    return &keys[id];
}

enum config_key_id config_schema_id(const struct config_key *key) {
    return (enum config_key_id)(key - keys);
}

const struct config_key *config_schema_find(const char *name) {
    for (int i = 0; i < CONFIG_KEY_COUNT; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const struct config_key *config_schema_nearest(const char *name) {
    const char *names[CONFIG_KEY_COUNT];
    for (int i = 0; i < CONFIG_KEY_COUNT; i++)
        names[i] = keys[i].name;
    int nearest = nearest_find(name, names, CONFIG_KEY_COUNT);
    return nearest < 0 ? NULL : &keys[nearest];
}

/* Reads the decimal digits at *text, without sign or leading zero. Returns false if there are none or they form no
 * number of that shape; a number beyond int64_t reads as INT64_MAX, which no range holds. */
static bool read_digits(const char **text, int64_t *out) {
    const char *p = *text;
    if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
        return false;
    int64_t value = 0;
    bool overflow = false;
    for (; *p >= '0' && *p <= '9'; p++)
        overflow |= __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value);
    *text = p;
    *out = overflow ? INT64_MAX : value;
    return true;
}

static bool read_integer(const char *text, int64_t *out) {
    bool negative = *text == '-';
    const char *p = text + negative;
    if (!read_digits(&p, out) || *p || (negative && *out == 0))
        return false;
    if (negative)
        *out = -*out;
    return true;
}

static bool read_size(const char *text, int64_t *out) {
    static const struct {
        const char *suffix;
        int shift;
    } suffixes[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    const char *p = text;
    if (*p == '-')
        return read_integer(text, out);
    if (!read_digits(&p, out))
        return false;
    if (p[0] == ' ' && p[1])
        p++;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(p, suffixes[i].suffix) != 0)
            continue;
        if (__builtin_mul_overflow(*out, INT64_C(1) << suffixes[i].shift, out))
            *out = INT64_MAX;
        return true;
    }
    return false;
}

static bool only(const char *text, const char *punctuation) {
    for (; *text; text++)
        if (!((*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z') ||
              strchr(punctuation, *text)))
            return false;
    return true;
}

bool config_schema_is_model_name(const char *text) {
    size_t length = strlen(text);
    return length >= 1 && length <= 64 && *text != '.' && only(text, "._-");
}

/* NULL if path may be the health path, else why not. */
static const char *judge_health_path(const char *path) {
    static const char *const taken[] = {"/predict", "/metrics", "/models",       "/v1",
                                        "/v2",      "/admin",   "/openapi.json", "/ui"};
    if (*path != '/')
        return "must start with /";
    if (!only(path, "/._~-"))
        return "may hold only letters, digits and / . _ ~ -";
    if (path[strlen(path) - 1] == '/' || strstr(path, "//"))
        return "must not be /, end with / or hold //";
    if (strstr(path, "/./") || strstr(path, "/../"))
        return "must not hold . or .. as a part";
    const char *last = strrchr(path, '/');
    if (strcmp(last, "/.") == 0 || strcmp(last, "/..") == 0)
        return "must not hold . or .. as a part";
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        size_t length = strlen(taken[i]);
        if (strncmp(path, taken[i], length) == 0 && (path[length] == 0 || path[length] == '/'))
            return "collides with a route of the server (/predict /metrics /models /v1 /v2 /admin /openapi.json /ui)";
    }
    return NULL;
}

/* Skips a number of digits, which must be from 1 and fit 64 bits. NULL: that is not there. */
static const char *skip_count(const char *text) {
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    return strtoull(text, &end, 10) == 0 || errno != 0 ? NULL : end;
}

/* A list of version numbers, with or without brackets: "1, 3, v7". */
static bool is_version_list(const char *text) {
    enum { LISTED = 64 };
    text += strspn(text, " ");
    bool is_bracketed = *text == '[';
    text += is_bracketed ? 1 : 0;
    for (int i = 0; i < LISTED; i++) {
        text += strspn(text, " ");
        text = skip_count(*text == 'v' ? text + 1 : text);
        if (!text)
            return false;
        text += strspn(text, " ");
        if (*text != ',')
            break;
        text++;
    }
    if (is_bracketed && *text++ != ']')
        return false;
    return text[strspn(text, " ")] == 0;
}

/* Takes nothing that engine/model/version_policy.h would refuse. */
static const char *judge_version_policy(const char *text) {
    bool is_word = strcmp(text, "latest") == 0 || strcmp(text, "all") == 0;
    const char *end = strncmp(text, "latest:", 7) == 0 ? skip_count(text + 7) : NULL;
    return is_word || (end && *end == 0) || is_version_list(text)
               ? NULL
               : "is none of latest, latest:N, all or a list of at most 64 versions, all numbers from 1";
}

/* There are no keys for /admin yet, so that nobody but this machine may ask. */
static const char *judge_admin_listen(const char *text) {
    static const char *const hosts[] = {"127.0.0.1:", "localhost:", "[::1]:"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t length = strlen(hosts[i]);
        if (strncmp(text, hosts[i], length) != 0)
            continue;
        const char *port = text + length;
        size_t digits = strspn(port, "0123456789");
        return digits > 0 && digits <= 5 && !port[digits] && atoi(port) <= 65535 ? NULL : "has no port from 0 to 65535";
    }
    return "is not on loopback: 127.0.0.1:PORT, localhost:PORT or [::1]:PORT";
}

/* Traces go over plain HTTP: this build has no TLS. */
static const char *judge_traces_endpoint(const char *text) {
    static const char form[] = "is not of the form http://HOST[:PORT][/PATH]";
    if (strncmp(text, "https://", 8) == 0)
        return "asks for TLS, which traces cannot use yet: name a collector (or an agent on this host) by http://";
    if (strncmp(text, "http://", 7) != 0)
        return form;
    const char *host = text + 7, *end = host + strcspn(host, "/");
    const char *rest = *host == '[' ? host + strcspn(host, "]") : host + strcspn(host, ":/");
    bool is_there = *host == '[' ? *rest == ']' && rest > host + 1 : rest > host;
    rest += *host == '[' && *rest == ']';
    if (!is_there || rest > end)
        return form;
    for (const char *p = host; *p; p++)
        if (*p <= ' ' || *p > '~' || strchr("\"<>\\^`{|}#?@", *p))
            return "holds what a host and a path may not";
    if (rest == end)
        return NULL;
    size_t digits = strspn(rest + 1, "0123456789");
    return *rest == ':' && digits > 0 && digits <= 5 && rest + 1 + digits == end && atoi(rest + 1) > 0 &&
                   atoi(rest + 1) <= 65535
               ? NULL
               : "has no port from 1 to 65535";
}

const char *config_schema_judge(const struct config_key *key, const char *text) {
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            return "holds a control character";
    switch (config_schema_id(key)) {
    case CONFIG_KEY_host:
        return only(text, ".:-_%[]") ? NULL : "is not a host name or an address";
    case CONFIG_KEY_model_name:
        return config_schema_is_model_name(text) ? NULL : "may hold only A-Z a-z 0-9 . _ - and not begin with a dot";
    case CONFIG_KEY_health_path:
        return judge_health_path(text);
    case CONFIG_KEY_version_policy:
        return judge_version_policy(text);
    case CONFIG_KEY_admin_listen:
        return judge_admin_listen(text);
    case CONFIG_KEY_traces_endpoint:
        return judge_traces_endpoint(text);
    default:
        return NULL;
    }
}

static void *field(const struct config_key *key, struct config *config) {
    return (char *)config + key->offset;
}

static const void *field_of(const struct config_key *key, const struct config *config) {
    return (const char *)config + key->offset;
}

static bool set_string(const struct config_key *key, const char *text, struct config *config, char *why, size_t size) {
    size_t length = strlen(text);
    const char *fault = length == 0 ? "is empty" : NULL;
    if ((int64_t)length > key->most) {
        snprintf(why, size, "is %zu characters long, at most %" PRId64 " are allowed", length, key->most);
        return false;
    }
    if (!fault)
        fault = config_schema_judge(key, text);
    if (fault) {
        snprintf(why, size, "\"%.80s\" %s", text, fault);
        return false;
    }
    char *copy = strdup(text);
    if (!copy) {
        snprintf(why, size, "no memory for the value");
        return false;
    }
    char **at = field(key, config);
    free(*at);
    *at = copy;
    return true;
}

/* Does the key take the word auto, for 0? */
static bool is_auto(const struct config_key *key) {
    return key->type == CONFIG_TYPE_INTEGER && key->fallback && strcmp(key->fallback, "auto") == 0;
}

bool config_schema_set(const struct config_key *key, const char *text, struct config *config, char *why, size_t size) {
    char range[96];
    config_schema_range(key, range, sizeof range);
    if (key->type == CONFIG_TYPE_STRING)
        return set_string(key, text, config, why, size);
    if (key->type == CONFIG_TYPE_ENUM) {
        for (int i = 0; key->choices[i]; i++)
            if (strcmp(key->choices[i], text) == 0) {
                *(int *)field(key, config) = i;
                return true;
            }
        snprintf(why, size, "\"%.80s\" is not one of %s", text, range);
        return false;
    }
    int64_t value = 0;
    if (is_auto(key) && strcmp(text, "auto") == 0) {
        *(int64_t *)field(key, config) = 0;
        return true;
    }
    if (!(key->type == CONFIG_TYPE_SIZE ? read_size(text, &value) : read_integer(text, &value))) {
        snprintf(why, size, "\"%.80s\" is not a whole number%s, allowed is %s", text,
                 key->type == CONFIG_TYPE_SIZE ? " of bytes (KiB, MiB or GiB may follow)" : "", range);
        return false;
    }
    if (value < key->least || value > key->most) {
        snprintf(why, size, "%.80s is out of range, allowed is %s", text, range);
        return false;
    }
    *(int64_t *)field(key, config) = value;
    return true;
}

static const char *size_text(int64_t value, char *out, size_t size) {
    static const char *const suffixes[] = {"", "KiB", "MiB", "GiB"};
    int step = 0;
    for (; step < 3 && value > 0 && value % 1024 == 0; step++)
        value /= 1024;
    snprintf(out, size, "%" PRId64 "%s", value, suffixes[step]);
    return out;
}

const char *config_schema_value(const struct config_key *key, const struct config *config, char *out, size_t size) {
    const void *at = field_of(key, config);
    const char *text = NULL;
    switch (key->type) {
    case CONFIG_TYPE_INTEGER:
        if (is_auto(key) && *(const int64_t *)at == 0)
            text = "auto";
        else
            snprintf(out, size, "%" PRId64, *(const int64_t *)at);
        if (!text)
            return out;
        break;
    case CONFIG_TYPE_SIZE:
        return size_text(*(const int64_t *)at, out, size);
    case CONFIG_TYPE_STRING:
        text = *(char *const *)at;
        break;
    case CONFIG_TYPE_ENUM:
        text = key->choices[*(const int *)at];
        break;
    }
    snprintf(out, size, "%s", text ? text : "");
    return out;
}

bool config_schema_equal(const struct config_key *key, const struct config *a, const struct config *b) {
    const void *x = field_of(key, a), *y = field_of(key, b);
    if (key->type == CONFIG_TYPE_STRING) {
        const char *s = *(char *const *)x, *t = *(char *const *)y;
        return s && t ? strcmp(s, t) == 0 : s == t;
    }
    if (key->type == CONFIG_TYPE_ENUM)
        return *(const int *)x == *(const int *)y;
    return *(const int64_t *)x == *(const int64_t *)y;
}

const char *config_schema_range(const struct config_key *key, char *out, size_t size) {
    char least[32], most[32];
    size_t used = 0;
    switch (key->type) {
    case CONFIG_TYPE_INTEGER:
        snprintf(out, size, "%s%" PRId64 "..%" PRId64, is_auto(key) ? "auto, " : "", key->least, key->most);
        break;
    case CONFIG_TYPE_SIZE:
        snprintf(out, size, "%s..%s", size_text(key->least, least, sizeof least),
                 size_text(key->most, most, sizeof most));
        break;
    case CONFIG_TYPE_STRING:
        snprintf(out, size, "text");
        break;
    case CONFIG_TYPE_ENUM:
        *out = 0;
        for (int i = 0; key->choices[i] && used < size; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", key->choices[i]);
        break;
    }
    return out;
}
