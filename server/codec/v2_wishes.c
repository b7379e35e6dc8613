#include "server/codec/v2_wishes.h"

#include <stdlib.h>
#include <string.h>

#include "server/codec/v2_input.h"

#define HOUR_US (INT64_C(3600) * 1000000)

void v2_wishes_begin(struct v2_wishes *v2) {
    const struct json_string *name = &v2->reader->string;
    size_t most = sizeof v2->parameter - 1, size = name->size < most ? name->size : most;
    if (name->cut) /* how much of it is kept depends on how the body came */
        size = 0;
    while (size > 0 && size < name->size && (name->text[size] & 0xC0) == 0x80)
        size--; /* not inside a character */
    memcpy(v2->parameter, name->text, size);
    v2->parameter[size] = 0;
}

enum weir_status v2_wishes_fail(const struct v2_wishes *v2, const char *what, struct weir_error *err) {
    return weir_fail(err, WEIR_INVALID, "parameter \"%s\" %s (offset %zu)", v2->parameter, what,
                     v2->reader->token_offset);
}

static enum weir_status read_flag(const struct v2_wishes *v2, enum json_token token, bool *out,
                                  struct weir_error *err) {
    if (token != JSON_TRUE && token != JSON_FALSE)
        return v2_wishes_fail(v2, "must be true or false", err);
    *out = token == JSON_TRUE;
    return WEIR_OK;
}

enum weir_status v2_wishes_count(const struct v2_wishes *v2, enum json_token token, uint64_t *out,
                                 struct weir_error *err) {
    if (token != JSON_NUMBER || !v2_input_count(v2->reader, out))
        return v2_wishes_fail(v2, "must be a whole number of 0 or more", err);
    return WEIR_OK;
}

enum weir_status v2_wishes_parameter(struct v2_wishes *v2, enum json_token token, struct weir_error *err) {
    uint64_t count = 0;
    enum weir_status status = WEIR_OK;
    if (strcmp(v2->parameter, "binary_data_output") == 0)
        return read_flag(v2, token, &v2->wishes.binary, err);
    if (strcmp(v2->parameter, "timeout") == 0) {
        status = v2_wishes_count(v2, token, &count, err);
        v2->wishes.timeout_us = count < HOUR_US ? (int64_t)count : HOUR_US;
    } else if (strcmp(v2->parameter, "priority") == 0) {
        status = v2_wishes_count(v2, token, &v2->wishes.priority, err);
    } else if (strcmp(v2->parameter, "sequence_id") == 0) {
        bool is_none = token == JSON_NUMBER
                           ? v2_input_count(v2->reader, &count) && count == 0
                           : token == JSON_STRING && !v2->reader->string.cut && v2->reader->string.size == 0;
        status = is_none ? WEIR_OK : v2_wishes_fail(v2, "asks for a sequence, which is not served", err);
    } else if (strncmp(v2->parameter, "triton_", 7) == 0) {
        status = v2_wishes_fail(v2, "is reserved", err);
    }
    return status;
}

enum weir_status v2_wishes_output_parameter(struct v2_wishes *v2, enum json_token token, struct weir_error *err) {
    uint64_t count;
    if (strncmp(v2->parameter, "shared_memory_", 14) == 0)
        return v2_wishes_fail(v2, "is not served", err);
    if (strcmp(v2->parameter, "binary_data") == 0)
        return read_flag(v2, token, &v2->wish.binary, err);
    if (strcmp(v2->parameter, "classification") != 0)
        return WEIR_OK;
    enum weir_status status = v2_wishes_count(v2, token, &count, err);
    if (status == WEIR_OK && count == 0)
        return v2_wishes_fail(v2, "must be at least 1", err);
    v2->wish.classes = status == WEIR_OK && count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    return status;
}

enum weir_status v2_wishes_name(struct v2_wishes *v2, struct weir_error *err) {
    const struct json_string *name = &v2->reader->string;
    v2->wish.output = -1;
    if (name->cut) /* how much of it is kept depends on how the body came */
        return weir_fail(err, WEIR_INVALID, "there is no output of a name of more than %d bytes",
                         JSON_STRING_KEPT_BYTES);
    for (int i = 0; i < v2->signature->output_count; i++)
        if (strlen(v2->signature->outputs[i].name) == name->size &&
            memcmp(v2->signature->outputs[i].name, name->text, name->size) == 0)
            v2->wish.output = i;
    if (v2->wish.output < 0)
        return weir_fail(err, WEIR_INVALID, "there is no output \"%.*s\"", (int)name->size, name->text);
    for (int i = 0; i < v2->wishes.output_count; i++)
        if (v2->wishes.outputs[i].output == v2->wish.output)
            return weir_fail(err, WEIR_INVALID, "output \"%.*s\" is asked for twice", (int)name->size, name->text);
    return WEIR_OK;
}

enum weir_status v2_wishes_end(struct v2_wishes *v2, struct weir_error *err) {
    struct wishes *wishes = &v2->wishes;
    if (v2->wish.output < 0)
        return weir_fail(err, WEIR_INVALID, "an output has no \"name\" (offset %zu)", v2->reader->token_offset);
    if (wishes->output_count == v2->capacity) {
        int capacity = v2->capacity * 2 + 4;
        struct wish *more = reallocarray(wishes->outputs, (size_t)capacity, sizeof *more);
        if (!more)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for the outputs");
        wishes->outputs = more;
        v2->capacity = capacity;
    }
    wishes->outputs[wishes->output_count++] = v2->wish;
    return WEIR_OK;
}
