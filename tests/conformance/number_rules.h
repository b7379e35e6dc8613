/* The checks of server/codec's reading and writing of numbers, against strtof and printf. */
#ifndef WEIR_TESTS_CONFORMANCE_NUMBER_RULES_H
#define WEIR_TESTS_CONFORMANCE_NUMBER_RULES_H

#include <stdlib.h>

#include "server/codec/json_writer.h"
#include "tests/conformance/number_texts.h"

static inline uint32_t number_texts_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns whether both ways of reading text agree with strtof; the quick one may decline. */
static inline bool number_rules_read(const char *text, size_t size, bool *quick) {
    uint32_t expected = number_texts_bits(strtof(text, NULL));
    float value;
    size_t bad;
    if (!number_parse(text, size, &value, &bad) || number_texts_bits(value) != expected)
        return false;
    char padded[NUMBER_TEXTS_BYTES + 1 + NUMBER_MARGIN_BYTES];
    memcpy(padded, text, size);
    padded[size] = ',';
    memset(padded + size + 1, ' ', NUMBER_MARGIN_BYTES);
    const char *at = padded;
    bool after_comma;
    *quick = number_read_run(&at, padded + size + 1 + NUMBER_MARGIN_BYTES, &value, 1, &after_comma) == 1;
    return !*quick || (number_texts_bits(value) == expected && after_comma && at > padded + size);
}

/* Returns whether the text that json_writer_float makes of a finite value is a JSON number and reads back as the same
 * bits. */
static inline bool number_rules_written(float value) {
    char text[JSON_WRITER_FLOAT_BYTES];
    size_t size = (size_t)(json_writer_float(text, value) - text);
    float back;
    size_t bad;
    return size < sizeof text && number_parse(text, size, &back, &bad) &&
           number_texts_bits(back) == number_texts_bits(value);
}

/* Returns whether no text of fewer digits would do: printf's nearest with one digit less reads back as another float.
 * Not for powers of two, whose interval is lopsided. */
static inline bool number_rules_shortest(float value) {
    char text[JSON_WRITER_FLOAT_BYTES + 1], shorter[64];
    *json_writer_float(text, value) = 0;
    /* Digits that count: from the first that is not 0 to the last that is not 0. */
    int digits = 0, zeros = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (*p == '0' && digits == 0))
            continue;
        zeros = *p == '0' ? zeros + 1 : 0;
        digits++;
    }
    digits -= zeros;
    if (digits < 2)
        return true;
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)value);
    if (number_texts_bits(strtof(shorter, NULL)) == number_texts_bits(value))
        return false;
    /* And of that many digits the nearest. */
    snprintf(shorter, sizeof shorter, "%.*e", digits - 1, (double)value);
    return strtod(shorter, NULL) == strtod(text, NULL);
}

#endif
