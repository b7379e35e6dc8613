/* Number texts, random and hard ones, and the check of server/codec's reading and writing against strtof and printf.
 * Used by number_check.c (millions) and by the unit tests (some). */
#ifndef WEIR_TESTS_CONFORMANCE_NUMBER_TEXTS_H
#define WEIR_TESTS_CONFORMANCE_NUMBER_TEXTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/number.h"

enum { NUMBER_TEXTS_BYTES = NUMBER_MAX_BYTES + 1 };

/* splitmix64 (public domain formula by Sebastiano Vigna) */
static inline uint64_t number_texts_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline int number_texts_below(uint64_t *state, int bound) {
    return (int)(number_texts_random(state) % (uint64_t)bound);
}

static inline float number_texts_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Appends count random digits, the first not 0 if lead is set. */
static inline char *number_texts_digits(uint64_t *state, char *to, int count, bool lead) {
    for (int i = 0; i < count; i++)
        *to++ = (char)('0' + (i == 0 && lead ? 1 + number_texts_below(state, 9) : number_texts_below(state, 10)));
    return to;
}

static inline char *number_texts_exponent(uint64_t *state, char *to, int low, int high) {
    static const char *const forms[] = {"e%d", "E%d", "e%+d", "E%+03d"};
    return to + sprintf(to, forms[number_texts_below(state, 4)], low + number_texts_below(state, high - low + 1));
}

/* The point half way between a float (of any finite magnitude) and the next, which a double holds exactly. */
static inline double number_texts_half(uint64_t *state) {
    uint32_t bits = (uint32_t)number_texts_random(state) & 0x7FFFFFFF;
    if (number_texts_below(state, 4) == 0)
        bits = (uint32_t)number_texts_below(state, 0x1000000); /* subnormal and just above */
    if (bits >= 0x7F7FFFFF)
        return 0x1.FFFFFFp127; /* between the largest float and what would follow */
    return ((double)number_texts_from_bits(bits) + (double)number_texts_from_bits(bits + 1)) / 2;
}

/* A half, printed in full and then moved by nothing, or by one in some far digit. */
static inline char *number_texts_near_half(uint64_t *state, char *to) {
    char *e = to;
    to += sprintf(to, "%.*e", 120 + number_texts_below(state, 40), number_texts_half(state));
    e = strchr(e, 'e');
    if (number_texts_below(state, 3) == 0)
        e[-1] = '1';
    else if (number_texts_below(state, 2) == 0)
        for (char *digit = e - 1; digit[0] == '0' || digit[0] == '.'; digit--) {
            if (*digit == '.')
                continue;
            *digit = '9'; /* borrow down to the last digit that counts */
            if (digit[-1] != '0' && digit[-1] != '.') {
                digit[-1]--;
                break;
            }
        }
    return to;
}

static inline char *number_texts_long(uint64_t *state, char *to) {
    int whole = number_texts_below(state, 3) ? 1 : 1 + number_texts_below(state, 450);
    int zeros = number_texts_below(state, 2) * number_texts_below(state, 60);
    if (whole == 1 && number_texts_below(state, 2))
        *to++ = '0';
    else
        to = number_texts_digits(state, to, whole, true);
    *to++ = '.';
    memset(to, '0', (size_t)zeros);
    to = number_texts_digits(state, to + zeros, 1 + number_texts_below(state, 400), false);
    int middle = zeros - (whole > 1 ? whole : 0);
    return number_texts_exponent(state, to, middle - 45, middle + 40);
}

/* Writes one JSON number with a NUL behind it into text (NUMBER_TEXTS_BYTES). Returns its size. */
static inline size_t number_texts_next(uint64_t *state, char *text) {
    char *to = text;
    if (number_texts_below(state, 4) == 0)
        *to++ = '-';
    float any = fabsf(number_texts_from_bits((uint32_t)number_texts_random(state) & 0x7F7FFFFF));
    switch (number_texts_below(state, 11)) {
    case 0: /* everyday */
        to = number_texts_digits(state, to, 1 + number_texts_below(state, 8), true);
        *to++ = '.';
        to = number_texts_digits(state, to, 1 + number_texts_below(state, 8), false);
        break;
    case 1: /* as scripts print doubles */
        to += sprintf(to, "%.17g", (double)(number_texts_random(state) >> 11) * 0x1p-53);
        break;
    case 2:
        to += sprintf(to, "%.*g", 6 + number_texts_below(state, 12), (double)any);
        break;
    case 3: /* halves, cut */
        to += sprintf(to, "%.*e", 5 + number_texts_below(state, 30), number_texts_half(state));
        break;
    case 4:
        to = number_texts_near_half(state, to);
        break;
    case 5: /* 17 to 25 digits, exponents at the edges */
        to = number_texts_digits(state, to, 1, true);
        *to++ = '.';
        to = number_texts_digits(state, to, 16 + number_texts_below(state, 9), false);
        to = number_texts_below(state, 2) ? number_texts_exponent(state, to, 36, 39)
                                          : number_texts_exponent(state, to, -47, -36);
        break;
    case 6: /* subnormals */
        to += sprintf(to, "%.*e", number_texts_below(state, 40),
                      (double)number_texts_from_bits((uint32_t)number_texts_below(state, 0x800000)));
        break;
    case 7:
        to = number_texts_long(state, to);
        break;
    case 8: /* the largest float and the half above it: 3.4028234663852886e38, 3.4028235677973366e38 */
        to += sprintf(to, "3.402823%d", 3 + number_texts_below(state, 5));
        to = number_texts_digits(state, to, number_texts_below(state, 18), false);
        to += sprintf(to, "e38");
        break;
    case 9: /* whole numbers where float32 has gaps */
        to += sprintf(to, "%llu",
                      (unsigned long long)(number_texts_random(state) >> (1 + number_texts_below(state, 40))));
        if (number_texts_below(state, 2))
            to += sprintf(to, ".%0*d", 1 + number_texts_below(state, 30), number_texts_below(state, 2));
        break;
    default: /* anything with any exponent */
        to = number_texts_digits(state, to, 1 + number_texts_below(state, 20), true);
        to = number_texts_exponent(state, to, -70, 45);
        break;
    }
    *to = 0;
    return (size_t)(to - text);
}

#endif
