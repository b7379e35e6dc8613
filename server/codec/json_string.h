/* One JSON string, read as its bytes arrive: escapes undone, UTF-8 checked. */
#ifndef WEIR_SERVER_CODEC_JSON_STRING_H
#define WEIR_SERVER_CODEC_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_STRING_KEPT_BYTES = 256 };

enum json_string_place {
    JSON_STRING_PLAIN,
    JSON_STRING_ESCAPE,    /* behind a backslash */
    JSON_STRING_HEX,       /* in the four digits of \u */
    JSON_STRING_CHARACTER, /* in a character of several bytes */
};

/* text[0..size) is the string so far, as UTF-8; cut says that it is longer than what is kept. The rest is private. */
struct json_string {
    size_t size;
    bool cut;
    enum json_string_place place;
    int have;      /* hex digits or bytes of the character */
    int want;      /* bytes of the character */
    uint32_t code; /* of the \u escape */
    uint32_t high; /* a high surrogate that waits for its low one, or 0 */
    char character[4];
    char text[JSON_STRING_KEPT_BYTES];
};

/* Begins behind the opening quote. */
void json_string_begin(struct json_string *string);

/* Reads on from *at to the closing quote (*done, *at behind it) or to end. Returns NULL, or what is wrong, *at being
 * the first byte that cannot stand there. A surrogate without its other half is wrong: it has no UTF-8. Source: RFC
 * 8259, section 7. */
const char *json_string_read(struct json_string *string, const char **at, const char *end, bool *done);

#endif
