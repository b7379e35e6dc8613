#include "server/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/utf8.h"

void bytes_release(struct bytes *bytes) {
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

char *bytes_reserve(struct bytes *bytes, size_t more) {
    size_t need;
    if (bytes->failed || __builtin_add_overflow(bytes->size, more, &need)) {
        bytes->failed = true;
        return NULL;
    }
    if (need > bytes->capacity) {
        size_t capacity = bytes->capacity + bytes->capacity / 2;
        if (capacity < need)
            capacity = need;
        if (capacity < 256)
            capacity = 256;
        char *data = realloc(bytes->data, capacity);
        if (!data) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = data;
        bytes->capacity = capacity;
    }
    return bytes->data + bytes->size;
}

void bytes_append(struct bytes *bytes, const void *data, size_t size) {
    char *to = size > 0 ? bytes_reserve(bytes, size) : NULL;
    if (to) {
        memcpy(to, data, size);
        bytes->size += size;
    }
}

void bytes_text(struct bytes *bytes, const char *text) {
    bytes_append(bytes, text, strlen(text));
}

void bytes_printf(struct bytes *bytes, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = size < 0 ? NULL : bytes_reserve(bytes, (size_t)size + 1);
    if (to) {
        vsnprintf(to, (size_t)size + 1, format, again);
        bytes->size += (size_t)size;
    } else {
        bytes->failed = true;
    }
    va_end(again);
}

/* How many bytes of text stand for themselves in a JSON string. */
static size_t plain_run(const char *text, size_t size) {
    size_t n = 0;
    while (n < size && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7F && text[n] != '"' &&
           text[n] != '\\')
        n++;
    return n;
}

void bytes_json_string(struct bytes *bytes, const char *text, size_t size) {
    bytes_append(bytes, "\"", 1);
    while (size > 0) {
        size_t n = plain_run(text, size);
        if (n > 0) {
            bytes_append(bytes, text, n);
        } else if ((n = utf8_length(text, size)) == 0) {
            bytes_text(bytes, "\xEF\xBF\xBD");
            n = 1;
        } else if (*text == '"' || *text == '\\') {
            bytes_append(bytes, *text == '"' ? "\\\"" : "\\\\", 2);
        } else if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            bytes_printf(bytes, "\\u%04x", (unsigned char)*text);
        } else {
            bytes_append(bytes, text, n);
        }
        text += n;
        size -= n;
    }
    bytes_append(bytes, "\"", 1);
}

void bytes_number(struct bytes *bytes, uint64_t value) {
    char digits[20];
    int count = sizeof digits;
    do
        digits[--count] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    bytes_append(bytes, digits + count, sizeof digits - (size_t)count);
}

void bytes_json_member(struct bytes *bytes, const char *name, const char *value) {
    bytes_printf(bytes, "\"%s\":", name);
    bytes_json_string(bytes, value, strlen(value));
}
