#include "server/cli/models_call.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/nearest.h"
#include "engine/version_number.h"
#include "server/cli/command.h"

static const struct {
    const char *text, *operands;
    int least, most;
} actions[] = {
#define ACTION(name, text, operands, least, most) {text, operands, least, most},
    MODELS_ACTION_LIST(ACTION)
#undef ACTION
};

const char *models_call_text(enum models_action action) {
    return actions[action].text;
}

enum kind { WORD, SWITCH, TEXT, NUMBER, CHECK, FLAG };

#define ON(name)    (1U << MODELS_##name)
#define ROLLOUTS    (ON(CANARY) | ON(SHADOW))
#define WITH_SERVER (~(ON(SEAL) | ON(CHECK_SEAL)))
#define CALL(field) offsetof(struct models_call, field)
#define IN_THE_BODY 0

/* WORD and SWITCH are fields of the call, the others members of the body. */
static const struct flag {
    const char *name, *member;
    enum kind kind;
    unsigned actions;
    size_t offset;
} flags[] = {
    {"admin", NULL, WORD, WITH_SERVER, CALL(admin)},
    {"config", NULL, WORD, WITH_SERVER, CALL(file)},
    {"json", NULL, SWITCH, WITH_SERVER, CALL(json)},
    {"watch", NULL, SWITCH, ON(STATUS), CALL(watch)},
    {"reason", "reason", TEXT, ON(ROLLBACK), IN_THE_BODY},
    {"steps", "steps", TEXT, ROLLOUTS, IN_THE_BODY},
    {"percent", "shadow_percent", NUMBER, ON(SHADOW), IN_THE_BODY},
    {"shadow_percent", "shadow_percent", NUMBER, ROLLOUTS, IN_THE_BODY},
    {"compare_percent", "compare_percent", NUMBER, ROLLOUTS, IN_THE_BODY},
    {"sticky_header", "sticky_header", TEXT, ROLLOUTS, IN_THE_BODY},
    {"auto_promote", "auto_promote", FLAG, ROLLOUTS, IN_THE_BODY},
    {"may_shrink", "may_shrink", FLAG, ROLLOUTS, IN_THE_BODY},
    {"max_error_rate", "max_error_rate", CHECK, ROLLOUTS, IN_THE_BODY},
    {"max_p99_ratio", "max_p99_ratio", CHECK, ROLLOUTS, IN_THE_BODY},
    {"max_compute_ratio", "max_compute_ratio", CHECK, ROLLOUTS, IN_THE_BODY},
    {"max_non_finite", "max_non_finite", CHECK, ROLLOUTS, IN_THE_BODY},
    {"min_agreement", "min_agreement", CHECK, ROLLOUTS, IN_THE_BODY},
    {"max_drift", "max_drift", CHECK, ROLLOUTS, IN_THE_BODY},
};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

/* What is being read. */
struct reader {
    struct models_call *call;
    cJSON *body;
    char **argv; /* what is left */
    int argc;
    int operands;
};

__attribute__((format(printf, 1, 2))) static bool misuse(const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    command_misuse(&command_models, "%s", text);
    return false;
}

static bool read_action(const char *word, enum models_action *out) {
    const char *names[MODELS_ACTION_COUNT];
    for (int i = 0; i < MODELS_ACTION_COUNT; i++) {
        names[i] = actions[i].text;
        if (strcmp(word, names[i]) == 0) {
            *out = (enum models_action)i;
            return true;
        }
    }
    int nearest = nearest_find(word, names, MODELS_ACTION_COUNT);
    return misuse("\"%.40s\" is no command of `weir models`%s%s%s", word, nearest >= 0 ? ", did you mean " : "",
                  nearest >= 0 ? names[nearest] : "", nearest >= 0 ? "?" : "");
}

/* Finds the flag of that name, length bytes; '-' and '_' are one. NULL after saying that there is none. */
static const struct flag *find_flag(const char *name, size_t length, enum models_action action) {
    const char *names[FLAG_COUNT];
    char written[41], nearest_name[41];
    int count = 0;
    snprintf(written, sizeof written, "%.*s", (int)(length < 40 ? length : 40), name);
    for (char *p = written; *p; p++)
        if (*p == '-')
            *p = '_';
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flags[i].actions & (1U << action)) {
            if (strcmp(flags[i].name, written) == 0)
                return &flags[i];
            names[count++] = flags[i].name;
        }
    int nearest = nearest_find(written, names, count);
    snprintf(nearest_name, sizeof nearest_name, "%s", nearest >= 0 ? names[nearest] : "");
    for (char *p = nearest_name; *p; p++)
        if (*p == '_')
            *p = '-';
    misuse("--%.*s: `weir models %s` has no such flag%s%s%s", (int)(length < 40 ? length : 40), name,
           actions[action].text, nearest >= 0 ? ", did you mean --" : "", nearest_name, nearest >= 0 ? "?" : "");
    return NULL;
}

/* "0.9", "20%"; for checks also "off", which becomes null. */
static bool add_number(struct reader *reader, const struct flag *flag, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (flag->kind == CHECK && strcmp(text, "off") == 0)
        return cJSON_AddNullToObject(reader->body, flag->member) || misuse("no memory");
    end += flag->kind == NUMBER && *end == '%';
    if (!*text || *end || strspn(text, "0123456789.e-%") != strlen(text))
        return misuse("--%s: \"%.60s\" is not a number%s", flag->name, text, flag->kind == CHECK ? " or off" : "");
    return cJSON_AddNumberToObject(reader->body, flag->member, value) || misuse("no memory");
}

/* value NULL: none was given. */
static bool take_flag(struct reader *reader, const struct flag *flag, const char *value) {
    void *field = (char *)reader->call + flag->offset;
    bool is_bare = flag->kind == SWITCH || flag->kind == FLAG;
    bool is_there = flag->kind == WORD     ? *(const char **)field != NULL
                    : flag->kind == SWITCH ? *(bool *)field
                                           : cJSON_HasObjectItem(reader->body, flag->member);
    if (is_there)
        return misuse("--%s: is given twice", flag->name);
    if (is_bare != (value == NULL))
        return misuse(is_bare ? "--%s: takes no value" : "--%s: needs a value", flag->name);
    switch (flag->kind) {
    case WORD:
        *(const char **)field = value;
        return true;
    case SWITCH:
        *(bool *)field = true;
        return true;
    case TEXT:
        return cJSON_AddStringToObject(reader->body, flag->member, value) || misuse("no memory");
    case FLAG:
        return cJSON_AddTrueToObject(reader->body, flag->member) || misuse("no memory");
    default:
        return add_number(reader, flag, value);
    }
}

/* Takes one flag, and its value, from what is left. */
static bool read_flag(struct reader *reader) {
    const char *word = reader->argv[0];
    const char *name = strcmp(word, "-c") == 0 ? "config" : word + 2;
    const char *equals = strchr(name, '=');
    if (word[1] != '-' && strcmp(word, "-c") != 0)
        return misuse("%.40s: unknown flag", word);
    const struct flag *flag = find_flag(name, equals ? (size_t)(equals - name) : strlen(name), reader->call->action);
    if (!flag)
        return false;
    const char *value = equals ? equals + 1 : NULL;
    reader->argv++;
    reader->argc--;
    if (!value && flag->kind != SWITCH && flag->kind != FLAG && reader->argc > 0) {
        value = reader->argv[0];
        reader->argv++;
        reader->argc--;
    }
    return take_flag(reader, flag, value);
}

static bool read_operand(struct reader *reader) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    struct models_call *call = reader->call;
    const char *word = reader->argv[0];
    bool is_name = reader->operands == 0;
    bool is_directory = call->action == MODELS_SEAL || call->action == MODELS_CHECK_SEAL;
    if (reader->operands == actions[call->action].most)
        return misuse("\"%.60s\" is too much: `weir models %s` takes %s", word, actions[call->action].text,
                      actions[call->action].operands);
    if (is_name && !is_directory && (word[strspn(word, letters)] || !*word || strlen(word) > 64))
        return misuse("\"%.80s\" cannot be the name of a model", word);
    uint64_t number;
    if (!is_name && !version_number_read(word, &number))
        return misuse("\"%.60s\" is not a version number, such as 7 or v7", word);
    *(is_name ? &call->name : &call->version) = is_name || *word != 'v' ? word : word + 1;
    reader->operands++;
    reader->argv++;
    reader->argc--;
    return true;
}

/* Where the server listens for us: --admin, WEIR_ADMIN_LISTEN, the file, the usual place. */
static bool find_target(struct models_call *call) {
    char *argv[] = {"-c", (char *)call->file};
    const struct config_sources sources = command_sources(call->file ? 2 : 0, argv);
    struct config_problems problems = {.count = 0};
    struct config config;
    const char *text = call->admin;
    bool is_read = !text;
    if (is_read && !config_load(&sources, &config, &problems)) {
        command_print_problems(&problems, CONFIG_ERROR);
        return false;
    }
    if (is_read)
        text = config.admin_listen ? config.admin_listen : "127.0.0.1:8001";
    const char *rest = http_client_read_target(text, "8001", &call->target);
    bool good = rest && !*rest && strtol(call->target.port, NULL, 10) > 0;
    if (!good)
        misuse("%s: \"%.100s\" is not the ADDRESS:PORT of a server", call->admin ? "--admin" : "admin_listen", text);
    if (is_read)
        config_release(&config);
    return good;
}

/* An order's body: its flags, and of a rollout what it is of. */
static bool finish_body(struct reader *reader) {
    struct models_call *call = reader->call;
    bool is_shadow = call->action == MODELS_SHADOW;
    if (is_shadow && !cJSON_HasObjectItem(reader->body, "shadow_percent"))
        return misuse("`weir models shadow` needs --percent, such as --percent 20");
    if (call->action == MODELS_CANARY && !cJSON_HasObjectItem(reader->body, "steps"))
        return misuse("`weir models canary` needs --steps, such as --steps \"5%% for 10m, 25%%, 100%%\"");
    if ((ROLLOUTS & (1U << call->action)) &&
        (!cJSON_AddStringToObject(reader->body, "version", call->version) ||
         !cJSON_AddStringToObject(reader->body, "kind", is_shadow ? "shadow" : "canary")))
        return misuse("no memory");
    if (reader->body->child)
        call->body = cJSON_PrintUnformatted(reader->body);
    return call->body || !reader->body->child || misuse("no memory");
}

static bool read_all(struct reader *reader) {
    struct models_call *call = reader->call;
    if (!read_action(reader->argv[0], &call->action))
        return false;
    reader->argv++;
    reader->argc--;
    while (reader->argc > 0)
        if (!(reader->argv[0][0] == '-' && reader->argv[0][1] ? read_flag(reader) : read_operand(reader)))
            return false;
    if (reader->operands < actions[call->action].least)
        return misuse("`weir models %s` takes %s", actions[call->action].text, actions[call->action].operands);
    return finish_body(reader) && (!(WITH_SERVER & (1U << call->action)) || find_target(call));
}

bool models_call_read(int argc, char **argv, struct models_call *out) {
    *out = (struct models_call){.name = NULL};
    if (argc < 1)
        return misuse("`weir models` needs a command, such as `weir models list`");
    struct reader reader = {.call = out, .body = cJSON_CreateObject(), .argv = argv, .argc = argc};
    bool good = reader.body ? read_all(&reader) : misuse("no memory");
    cJSON_Delete(reader.body);
    if (!good)
        models_call_release(out);
    return good;
}

void models_call_release(struct models_call *call) {
    cJSON_free(call->body);
    call->body = NULL;
}
