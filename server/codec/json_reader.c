#include "server/codec/json_reader.h"

#include <stdio.h>
#include <string.h>

static const char not_json_number[] = "NaN and Infinity are not JSON numbers";

void json_reader_init(struct json_reader *reader) {
    reader->depth = 0;
    reader->token_offset = 0;
    reader->number = 0;
    reader->piece = reader->at = reader->end = NULL;
    reader->piece_offset = 0;
    reader->ended = false;
    reader->expect = JSON_EXPECT_VALUE;
    reader->inside = JSON_INSIDE_NOTHING;
    reader->objects = 0;
    reader->word = JSON_NULL;
    reader->text_size = 0;
    json_string_begin(&reader->string);
    json_names_init(&reader->names);
}

void json_reader_feed(struct json_reader *reader, const char *bytes, size_t size) {
    reader->piece_offset += (size_t)(reader->end - reader->piece);
    reader->piece = reader->at = bytes;
    reader->end = bytes + size;
}

void json_reader_end(struct json_reader *reader) {
    reader->ended = true;
}

size_t json_reader_left(const struct json_reader *reader) {
    return (size_t)(reader->end - reader->at);
}

static size_t offset(const struct json_reader *reader) {
    return reader->piece_offset + (size_t)(reader->at - reader->piece);
}

bool json_reader_at_value(const struct json_reader *reader) {
    if (reader->inside == JSON_INSIDE_STRING)
        return reader->expect == JSON_EXPECT_VALUE;
    return reader->inside != JSON_INSIDE_NOTHING || reader->expect == JSON_EXPECT_VALUE ||
           reader->expect == JSON_EXPECT_VALUE_OR_END;
}

enum weir_status json_reader_fail(const struct json_reader *reader, struct weir_error *err, const char *text) {
    return weir_fail(err, WEIR_INVALID, "%s (offset %zu)", text, reader->token_offset);
}

/* "'x'" or "byte 0x1F" */
static const char *byte_text(char c, char *text, size_t size) {
    if (c > 0x20 && c < 0x7F)
        snprintf(text, size, "'%c'", c);
    else
        snprintf(text, size, "byte 0x%02X", (unsigned char)c);
    return text;
}

static enum weir_status fail_expected(const struct json_reader *reader, struct weir_error *err, const char *expected) {
    char got[16];
    return weir_fail(err, WEIR_INVALID, "expected %s, got %s (offset %zu)", expected,
                     byte_text(*reader->at, got, sizeof got), offset(reader));
}

static bool in_object(const struct json_reader *reader) {
    return reader->depth > 0 && (reader->objects >> (reader->depth - 1) & 1);
}

static enum weir_status fail_unexpected(const struct json_reader *reader, struct weir_error *err) {
    if ((unsigned char)*reader->at == 0xEF && offset(reader) == 0)
        return weir_fail(err, WEIR_INVALID, "a JSON body must not begin with a byte order mark (offset 0)");
    switch (reader->expect) {
    case JSON_EXPECT_VALUE:
    case JSON_EXPECT_VALUE_OR_END:
        if (*reader->at == 'N' || (*reader->at | 0x20) == 'i')
            return json_reader_fail(reader, err, not_json_number);
        return fail_expected(reader, err, "a value");
    case JSON_EXPECT_KEY:
    case JSON_EXPECT_KEY_OR_END:
        return fail_expected(reader, err, "a member name in quotes");
    case JSON_EXPECT_COLON:
        return fail_expected(reader, err, "':'");
    case JSON_EXPECT_COMMA_OR_END:
        return fail_expected(reader, err, in_object(reader) ? "',' or '}'" : "',' or ']'");
    case JSON_EXPECT_NOTHING:
        break;
    }
    return fail_expected(reader, err, "nothing behind the document");
}

static enum weir_status fail_cut(const struct json_reader *reader, struct weir_error *err) {
    const char *where = in_object(reader) ? "in an object" : reader->depth > 0 ? "in an array" : "in a value";
    if (reader->inside == JSON_INSIDE_STRING)
        where = "in a string";
    else if (reader->inside == JSON_INSIDE_NUMBER)
        where = "in a number";
    else if (reader->inside == JSON_INSIDE_NOTHING && reader->depth == 0)
        return weir_fail(err, WEIR_INVALID, "the body is empty, expected a JSON document");
    return weir_fail(err, WEIR_INVALID, "the body ends %s (offset %zu)", where, offset(reader));
}

static void value_over(struct json_reader *reader) {
    reader->inside = JSON_INSIDE_NOTHING;
    reader->expect = reader->depth == 0 ? JSON_EXPECT_NOTHING : JSON_EXPECT_COMMA_OR_END;
}

static enum weir_status open_level(struct json_reader *reader, enum json_token kind, enum json_token *token,
                                   struct weir_error *err) {
    if (reader->depth == JSON_READER_MAX_DEPTH)
        return weir_fail(err, WEIR_INVALID, "nested deeper than %d levels (offset %zu)", JSON_READER_MAX_DEPTH,
                         reader->token_offset);
    uint32_t bit = UINT32_C(1) << reader->depth++;
    reader->objects = kind == JSON_OBJECT ? reader->objects | bit : reader->objects & ~bit;
    reader->expect = kind == JSON_OBJECT ? JSON_EXPECT_KEY_OR_END : JSON_EXPECT_VALUE_OR_END;
    reader->at++;
    *token = kind;
    return WEIR_OK;
}

static enum weir_status close_level(struct json_reader *reader, enum json_token *token) {
    *token = JSON_ARRAY_END;
    if (in_object(reader)) {
        json_names_leave(&reader->names, reader->depth);
        *token = JSON_OBJECT_END;
    }
    reader->depth--;
    reader->at++;
    value_over(reader);
    return WEIR_OK;
}

static bool is_number_byte(char c) {
    return (unsigned)(c - '0') <= 9 || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

static enum weir_status fail_number(const struct json_reader *reader, size_t bad, struct weir_error *err) {
    char got[16];
    char c;
    if (bad < reader->text_size)
        c = reader->text[bad];
    else if (reader->at < reader->end)
        c = *reader->at;
    else
        return fail_cut(reader, err);
    if (bad == 1 && ((c | 0x20) == 'i' || (c | 0x20) == 'n'))
        return json_reader_fail(reader, err, not_json_number);
    return weir_fail(err, WEIR_INVALID, "%s cannot stand here in a number (offset %zu)", byte_text(c, got, sizeof got),
                     reader->token_offset + bad);
}

static enum weir_status read_number(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    const char *from = reader->at;
    while (reader->at < reader->end && is_number_byte(*reader->at))
        reader->at++;
    size_t size = (size_t)(reader->at - from);
    if (size > NUMBER_MAX_BYTES - reader->text_size)
        return weir_fail(err, WEIR_INVALID, "a number longer than %d bytes (offset %zu)", NUMBER_MAX_BYTES,
                         reader->token_offset);
    if (size > 0)
        memcpy(reader->text + reader->text_size, from, size);
    reader->text_size += size;
    if (reader->at == reader->end && !reader->ended) {
        *token = JSON_MORE;
        return WEIR_OK;
    }
    size_t bad;
    if (!number_parse(reader->text, reader->text_size, &reader->number, &bad))
        return fail_number(reader, bad, err);
    value_over(reader);
    *token = JSON_NUMBER;
    return WEIR_OK;
}

static enum weir_status read_word(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    const char *word = reader->word == JSON_TRUE ? "true" : reader->word == JSON_FALSE ? "false" : "null";
    for (; word[reader->text_size]; reader->at++, reader->text_size++) {
        if (reader->at == reader->end) {
            *token = JSON_MORE;
            return reader->ended ? fail_cut(reader, err) : WEIR_OK;
        }
        if (*reader->at == word[reader->text_size])
            continue;
        if (reader->word == JSON_NULL && reader->text_size == 1 && *reader->at == 'a')
            return json_reader_fail(reader, err, not_json_number);
        char expected[32];
        snprintf(expected, sizeof expected, "the word %s", word);
        return fail_expected(reader, err, expected);
    }
    value_over(reader);
    *token = reader->word;
    return WEIR_OK;
}

static enum weir_status read_string(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    bool done;
    const char *fault = json_string_read(&reader->string, &reader->at, reader->end, &done);
    if (fault)
        return weir_fail(err, WEIR_INVALID, "%s (offset %zu)", fault, offset(reader));
    if (!done) {
        *token = JSON_MORE;
        return reader->ended ? fail_cut(reader, err) : WEIR_OK;
    }
    if (reader->expect == JSON_EXPECT_VALUE) {
        value_over(reader);
        *token = JSON_STRING;
        return WEIR_OK;
    }
    const struct json_string *name = &reader->string;
    if (!name->cut && !json_names_add(&reader->names, reader->depth, name->text, name->size))
        return weir_fail(err, WEIR_INVALID, "member \"%.*s\" comes twice (offset %zu)", (int)name->size, name->text,
                         reader->token_offset);
    reader->inside = JSON_INSIDE_NOTHING;
    reader->expect = JSON_EXPECT_COLON;
    *token = JSON_KEY;
    return WEIR_OK;
}

static enum weir_status read_on(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    switch (reader->inside) {
    case JSON_INSIDE_STRING:
        return read_string(reader, token, err);
    case JSON_INSIDE_NUMBER:
        return read_number(reader, token, err);
    case JSON_INSIDE_WORD:
    case JSON_INSIDE_NOTHING:
        break;
    }
    return read_word(reader, token, err);
}

static enum weir_status begin_value(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    char c = *reader->at;
    if (c == '[' || c == '{')
        return open_level(reader, c == '[' ? JSON_ARRAY : JSON_OBJECT, token, err);
    reader->text_size = 0;
    if (c == '"') {
        reader->at++;
        reader->inside = JSON_INSIDE_STRING;
        reader->expect = JSON_EXPECT_VALUE;
        json_string_begin(&reader->string);
    } else if (c == '-' || (unsigned)(c - '0') <= 9) {
        reader->inside = JSON_INSIDE_NUMBER;
    } else if (c == 't' || c == 'f' || c == 'n') {
        reader->inside = JSON_INSIDE_WORD;
        reader->word = c == 't' ? JSON_TRUE : c == 'f' ? JSON_FALSE : JSON_NULL;
    } else {
        return fail_unexpected(reader, err);
    }
    return read_on(reader, token, err);
}

static enum weir_status begin_key(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    reader->at++;
    reader->inside = JSON_INSIDE_STRING;
    json_string_begin(&reader->string);
    return read_string(reader, token, err);
}

static void skip_white(struct json_reader *reader) {
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

/* Takes a comma or colon if one is due and here. */
static bool take_separator(struct json_reader *reader) {
    if (reader->expect == JSON_EXPECT_COMMA_OR_END && *reader->at == ',')
        reader->expect = in_object(reader) ? JSON_EXPECT_KEY : JSON_EXPECT_VALUE;
    else if (reader->expect == JSON_EXPECT_COLON && *reader->at == ':')
        reader->expect = JSON_EXPECT_VALUE;
    else
        return false;
    reader->at++;
    return true;
}

enum weir_status json_reader_next(struct json_reader *reader, enum json_token *token, struct weir_error *err) {
    if (reader->inside != JSON_INSIDE_NOTHING)
        return read_on(reader, token, err);
    do {
        skip_white(reader);
        if (reader->at == reader->end) {
            *token = reader->ended ? JSON_END : JSON_MORE;
            return reader->ended && reader->expect != JSON_EXPECT_NOTHING ? fail_cut(reader, err) : WEIR_OK;
        }
    } while (take_separator(reader));

    reader->token_offset = offset(reader);
    char c = *reader->at;
    switch (reader->expect) {
    case JSON_EXPECT_VALUE_OR_END:
        if (c == ']')
            return close_level(reader, token);
        return begin_value(reader, token, err);
    case JSON_EXPECT_VALUE:
        return begin_value(reader, token, err);
    case JSON_EXPECT_KEY_OR_END:
        if (c == '}')
            return close_level(reader, token);
        return c == '"' ? begin_key(reader, token, err) : fail_unexpected(reader, err);
    case JSON_EXPECT_KEY:
        return c == '"' ? begin_key(reader, token, err) : fail_unexpected(reader, err);
    case JSON_EXPECT_COMMA_OR_END:
        if (c == (in_object(reader) ? '}' : ']'))
            return close_level(reader, token);
        break;
    case JSON_EXPECT_COLON:
    case JSON_EXPECT_NOTHING:
        break;
    }
    return fail_unexpected(reader, err);
}

/* Goes to where the next number of an array may begin. False: none may, or the quick way is not for here. */
static bool find_number(struct json_reader *reader) {
    if (reader->depth == 0 || in_object(reader) || reader->inside != JSON_INSIDE_NOTHING)
        return false;
    skip_white(reader);
    if (reader->at < reader->end && take_separator(reader))
        skip_white(reader);
    return reader->expect == JSON_EXPECT_VALUE || reader->expect == JSON_EXPECT_VALUE_OR_END;
}

size_t json_reader_numbers(struct json_reader *reader, float *out, size_t room) {
    size_t total = 0, count = 1;
    while (count > 0 && total < room && find_number(reader)) {
        bool after_comma;
        count = number_read_run(&reader->at, reader->end, out + total, room - total, &after_comma);
        total += count;
        if (count > 0)
            reader->expect = after_comma ? JSON_EXPECT_VALUE : JSON_EXPECT_COMMA_OR_END;
    }
    return total;
}

size_t json_reader_doubles(struct json_reader *reader, double *out, size_t room) {
    size_t total = 0, count = 1;
    while (count > 0 && total < room && find_number(reader)) {
        bool after_comma;
        count = number_read_doubles(&reader->at, reader->end, out + total, room - total, &after_comma);
        total += count;
        if (count > 0)
            reader->expect = after_comma ? JSON_EXPECT_VALUE : JSON_EXPECT_COMMA_OR_END;
    }
    return total;
}

size_t json_reader_integers(struct json_reader *reader, const struct number_range *range, int64_t *out, size_t room) {
    size_t total = 0, count = 1;
    while (count > 0 && total < room && find_number(reader)) {
        bool after_comma;
        count = number_read_integers(&reader->at, reader->end, range, out + total, room - total, &after_comma);
        total += count;
        if (count > 0)
            reader->expect = after_comma ? JSON_EXPECT_VALUE : JSON_EXPECT_COMMA_OR_END;
    }
    return total;
}
