/* A growing byte buffer: what codecs write and connections send. */
#ifndef WEIR_SERVER_BYTES_H
#define WEIR_SERVER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    char *data;
    size_t size;
    size_t capacity;
    bool failed; /* memory ran out: what follows is dropped, the writer asks once at the end */
};

void bytes_release(struct bytes *bytes);

/* Makes room for `more` bytes after size and returns where they go; NULL (and failed set) if memory ran out. */
char *bytes_reserve(struct bytes *bytes, size_t more);
void bytes_append(struct bytes *bytes, const void *data, size_t size);
void bytes_text(struct bytes *bytes, const char *text);
void bytes_printf(struct bytes *bytes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends value in decimal. */
void bytes_number(struct bytes *bytes, uint64_t value);

/* Appends text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void bytes_json_string(struct bytes *bytes, const char *text, size_t size);

/* Appends "name":"value", a member of a JSON object whose value is text. The name needs no escapes. */
void bytes_json_member(struct bytes *bytes, const char *name, const char *value);

#endif
