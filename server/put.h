/* Text without printf, where tens of thousands of answers and log lines a second are written. Each function returns
 * what comes after what it wrote; there is room. */
#ifndef WEIR_SERVER_PUT_H
#define WEIR_SERVER_PUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline char *put_bytes(char *to, const char *bytes, size_t size) {
    memcpy(to, bytes, size);
    return to + size;
}

static inline char *put_text(char *to, const char *text) {
    return put_bytes(to, text, strlen(text));
}

/* At most 20 digits. */
static inline char *put_number(char *to, uint64_t value) {
    char digits[20];
    size_t first = sizeof digits;
    do
        digits[--first] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    for (; first < sizeof digits; first++) /* few: shorter than a call of memcpy */
        *to++ = digits[first];
    return to;
}

#endif
