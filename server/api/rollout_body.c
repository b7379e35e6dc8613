#include "server/api/rollout_body.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/utf8.h"
#include "engine/version_number.h"

enum kind { TEXT, NUMBER, CHECK, FLAG, VERSION, KIND };

struct member {
    const char *name;
    enum kind kind;
    size_t offset, size; /* in struct catalog_order */
};

#define ROLLOUT(field) offsetof(struct catalog_order, rollout.field), sizeof(((struct catalog_order *)0)->rollout.field)
static const struct member members[] = {
    {"version", VERSION, 0, 0},
    {"kind", KIND, 0, 0},
    {"steps", TEXT, ROLLOUT(steps)},
    {"sticky_header", TEXT, ROLLOUT(sticky_header)},
    {"shadow_percent", NUMBER, ROLLOUT(shadow_percent)},
    {"compare_percent", NUMBER, ROLLOUT(compare_percent)},
    {"auto_promote", FLAG, ROLLOUT(auto_promote)},
    {"may_shrink", FLAG, ROLLOUT(may_shrink)},
    {"max_error_rate", CHECK, ROLLOUT(max_error_rate)},
    {"max_p99_ratio", CHECK, ROLLOUT(max_p99_ratio)},
    {"max_compute_ratio", CHECK, ROLLOUT(max_compute_ratio)},
    {"max_non_finite", CHECK, ROLLOUT(max_non_finite)},
    {"min_agreement", CHECK, ROLLOUT(min_agreement)},
    {"max_drift", CHECK, ROLLOUT(max_drift)},
    {"reason", TEXT, offsetof(struct catalog_order, reason), sizeof(((struct catalog_order *)0)->reason)},
};
enum { MEMBER_COUNT = sizeof members / sizeof members[0] };

static enum weir_status read_version(const cJSON *item, struct catalog_order *order, struct weir_error *err) {
    uint64_t number = 0;
    const double exact = 9007199254740992.0; /* 2^53: larger ones cannot be told apart as JSON numbers */
    if (cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < exact &&
        floor(item->valuedouble) == item->valuedouble)
        number = (uint64_t)item->valuedouble;
    else if (!cJSON_IsString(item) || !version_number_read(item->valuestring, &number))
        number = 0;
    if (number == 0)
        return weir_fail(err, WEIR_INVALID, "\"version\" must be a version number, such as 7 or \"v7\"");
    order->version = number;
    return WEIR_OK;
}

static enum weir_status read_member(const cJSON *item, const struct member *member, struct catalog_order *order,
                                    struct weir_error *err) {
    void *at = (char *)order + member->offset;
    switch (member->kind) {
    case TEXT:
        if (!cJSON_IsString(item))
            return weir_fail(err, WEIR_INVALID, "\"%s\" must be a string", member->name);
        if (strlen(item->valuestring) >= member->size)
            return weir_fail(err, WEIR_INVALID, "\"%s\" is longer than %zu characters", member->name, member->size - 1);
        snprintf(at, member->size, "%s", item->valuestring);
        return WEIR_OK;
    case FLAG:
        if (!cJSON_IsBool(item))
            return weir_fail(err, WEIR_INVALID, "\"%s\" must be true or false", member->name);
        *(bool *)at = cJSON_IsTrue(item);
        return WEIR_OK;
    case CHECK:
        if (cJSON_IsNull(item)) {
            *(double *)at = -1;
            return WEIR_OK;
        }
        /* fall through */
    case NUMBER:
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0)
            return weir_fail(err, WEIR_INVALID, "\"%s\" must be a number of at least 0%s", member->name,
                             member->kind == CHECK ? ", or null for no check" : "");
        *(double *)at = item->valuedouble;
        return WEIR_OK;
    case VERSION:
        return read_version(item, order, err);
    case KIND:
        if (!cJSON_IsString(item) ||
            (strcmp(item->valuestring, "canary") != 0 && strcmp(item->valuestring, "shadow") != 0))
            return weir_fail(err, WEIR_INVALID, "\"kind\" must be \"canary\" or \"shadow\"");
        order->rollout.is_shadow = strcmp(item->valuestring, "shadow") == 0;
        return WEIR_OK;
    }
    return WEIR_OK;
}

static enum weir_status read_object(const cJSON *root, struct catalog_order *order, struct weir_error *err) {
    bool seen[MEMBER_COUNT] = {false};
    const cJSON *item;
    if (!cJSON_IsObject(root))
        return weir_fail(err, WEIR_INVALID, "the body must be a JSON object");
    cJSON_ArrayForEach(item, root) {
        int i = 0;
        while (i < MEMBER_COUNT && strcmp(members[i].name, item->string) != 0)
            i++;
        if (i == MEMBER_COUNT)
            return weir_fail(err, WEIR_INVALID, "unknown member \"%.60s\"", item->string);
        if (seen[i])
            return weir_fail(err, WEIR_INVALID, "the member \"%s\" is given twice", members[i].name);
        seen[i] = true;
        enum weir_status status = read_member(item, &members[i], order, err);
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

static bool is_text(const char *text, size_t size) {
    for (size_t length; size > 0; text += length, size -= length) {
        length = utf8_length(text, size);
        if (length == 0 || *text == 0)
            return false;
    }
    return true;
}

enum weir_status rollout_body_read(const char *text, size_t size, struct catalog_order *order, struct weir_error *err) {
    const char *end = NULL;
    if (!is_text(text, size))
        return weir_fail(err, WEIR_INVALID, "the body is not UTF-8 text");
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (!root)
        return weir_fail(err, WEIR_INVALID, "the body is not JSON, at byte %td", end ? end - text : 0);
    while (end < text + size && strchr(" \t\r\n", *end))
        end++;
    enum weir_status status =
        end < text + size ? weir_fail(err, WEIR_INVALID, "more follows the JSON object, at byte %td", end - text)
                          : read_object(root, order, err);
    cJSON_Delete(root);
    return status;
}
