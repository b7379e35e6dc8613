#include "server/codec/json_string.h"

#include <string.h>

#include "engine/utf8.h"

static const char lone_surrogate[] = "half of a surrogate pair in a string";

void json_string_begin(struct json_string *string) {
    string->size = 0;
    string->cut = false;
    string->place = JSON_STRING_PLAIN;
    string->high = 0;
}

static void keep(struct json_string *string, const char *bytes, size_t size) {
    if (string->cut || size > sizeof string->text - string->size) {
        string->cut = true;
        return;
    }
    memcpy(string->text + string->size, bytes, size);
    string->size += size;
}

static void keep_code(struct json_string *string, uint32_t code) {
    char bytes[4];
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    bytes[0] = (char)(lead[size] | code);
    keep(string, bytes, size);
}

static const char *read_plain(struct json_string *string, unsigned char c) {
    if (c == '\\') {
        string->place = JSON_STRING_ESCAPE;
        return NULL;
    }
    if (string->high)
        return lone_surrogate;
    if (c < 0x20)
        return "a control character in a string (it must be escaped)";
    if (c < 0xC2 || c > 0xF4)
        return "a byte that is not UTF-8 in a string";
    string->place = JSON_STRING_CHARACTER;
    string->character[0] = (char)c;
    string->have = 1;
    string->want = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return NULL;
}

static const char *read_escape(struct json_string *string, char c) {
    static const char names[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (c == 'u') {
        string->place = JSON_STRING_HEX;
        string->have = 0;
        string->code = 0;
        return NULL;
    }
    if (string->high)
        return lone_surrogate;
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return "an unknown escape in a string";
    keep(string, &meanings[name - names], 1);
    string->place = JSON_STRING_PLAIN;
    return NULL;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

static const char *read_hex(struct json_string *string, char c) {
    int value = hex_value(c);
    if (value < 0)
        return "a \\u escape without four hexadecimal digits";
    string->code = string->code << 4 | (uint32_t)value;
    if (++string->have < 4)
        return NULL;
    string->place = JSON_STRING_PLAIN;
    bool low = string->code >= 0xDC00 && string->code <= 0xDFFF;
    if (low != (string->high != 0))
        return lone_surrogate;
    if (low) {
        keep_code(string, 0x10000 + ((string->high - 0xD800) << 10) + (string->code - 0xDC00));
        string->high = 0;
    } else if (string->code >= 0xD800 && string->code <= 0xDBFF) {
        string->high = string->code;
    } else {
        keep_code(string, string->code);
    }
    return NULL;
}

static const char *read_character(struct json_string *string, char c) {
    string->character[string->have++] = c;
    bool whole = string->have == string->want;
    if (((unsigned char)c & 0xC0) != 0x80 || (whole && utf8_length(string->character, (size_t)string->want) == 0))
        return "a byte that is not UTF-8 in a string";
    if (whole) {
        keep(string, string->character, (size_t)string->want);
        string->place = JSON_STRING_PLAIN;
    }
    return NULL;
}

static bool is_ordinary(char c) {
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

const char *json_string_read(struct json_string *string, const char **at, const char *end, bool *done) {
    *done = false;
    while (*at < end) {
        const char *fault = NULL;
        if (string->place == JSON_STRING_PLAIN && !string->high) {
            const char *from = *at;
            while (*at < end && is_ordinary(**at))
                ++*at;
            if (*at > from)
                keep(string, from, (size_t)(*at - from));
            if (*at == end)
                break;
            if (**at == '"') {
                ++*at;
                *done = true;
                break;
            }
        }
        switch (string->place) {
        case JSON_STRING_PLAIN:
            fault = read_plain(string, (unsigned char)**at);
            break;
        case JSON_STRING_ESCAPE:
            fault = read_escape(string, **at);
            break;
        case JSON_STRING_HEX:
            fault = read_hex(string, **at);
            break;
        case JSON_STRING_CHARACTER:
            fault = read_character(string, **at);
            break;
        }
        if (fault)
            return fault;
        ++*at;
    }
    return NULL;
}
