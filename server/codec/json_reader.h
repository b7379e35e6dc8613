/* A JSON document, token by token, as its bytes arrive: strict grammar (RFC 8259), no tree, no allocation. */
#ifndef WEIR_SERVER_CODEC_JSON_READER_H
#define WEIR_SERVER_CODEC_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"
#include "server/codec/json_names.h"
#include "server/codec/json_string.h"
#include "server/codec/number.h"

enum { JSON_READER_MAX_DEPTH = 32 };

enum json_token {
    JSON_MORE, /* the piece is used up: feed the next, or end */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* string holds the name; the value's tokens follow */
    JSON_STRING, /* string */
    JSON_NUMBER, /* number: the nearest float32, infinite if past its range */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_END, /* the document and the body are whole */
};

/* What may come next. */
enum json_expect {
    JSON_EXPECT_VALUE,
    JSON_EXPECT_VALUE_OR_END, /* behind '[' */
    JSON_EXPECT_KEY,
    JSON_EXPECT_KEY_OR_END, /* behind '{' */
    JSON_EXPECT_COLON,
    JSON_EXPECT_COMMA_OR_END,
    JSON_EXPECT_NOTHING,
};

/* The token that a piece may have cut. */
enum json_inside { JSON_INSIDE_NOTHING, JSON_INSIDE_STRING, JSON_INSIDE_NUMBER, JSON_INSIDE_WORD };

/* For users: depth (open objects and arrays), token_offset (of the token's first byte in the body), number, string. */
struct json_reader {
    int depth;
    size_t token_offset;
    float number;

    const char *piece, *at, *end;
    size_t piece_offset;
    bool ended;
    enum json_expect expect;
    enum json_inside inside;
    uint32_t objects; /* bit i: level i + 1 is an object */
    enum json_token word;
    size_t text_size; /* of the number or word so far */
    struct json_string string;
    struct json_names names;
    char text[NUMBER_MAX_BYTES];
};

void json_reader_init(struct json_reader *reader);

/* Gives the next piece, which must stay until JSON_MORE. */
void json_reader_feed(struct json_reader *reader, const char *bytes, size_t size);

/* No more pieces: json_reader_next gives what is left, then JSON_END. */
void json_reader_end(struct json_reader *reader);

/* Reads the next token. Errors: INVALID, naming the byte's offset in the body: grammar, UTF-8, depth, a number longer
 * than NUMBER_MAX_BYTES, a name that comes twice in its object (within the bounds of json_names.h), an early end. */
enum weir_status json_reader_next(struct json_reader *reader, enum json_token *token,
                                  struct weir_error *err) WEIR_CHECKED;

/* Inside an array: reads the numbers that come next, as many as go the quick way, up to room. Returns how many; 0 is no
 * error and no end. All else is for json_reader_next. */
size_t json_reader_numbers(struct json_reader *reader, float *out, size_t room);

/* The same as float64. */
size_t json_reader_doubles(struct json_reader *reader, double *out, size_t room);

/* The same for integers of that range. */
size_t json_reader_integers(struct json_reader *reader, const struct number_range *range, int64_t *out, size_t room);

/* Bytes of the piece not yet read. */
size_t json_reader_left(const struct json_reader *reader);

/* After an error: true if a value was being read or due, so that the error is about that value. */
bool json_reader_at_value(const struct json_reader *reader);

/* Fails with "text (offset N)", N being the present token's. */
enum weir_status json_reader_fail(const struct json_reader *reader, struct weir_error *err,
                                  const char *text) WEIR_CHECKED;

#endif
