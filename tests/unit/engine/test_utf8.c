#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <string.h>

#include "engine/utf8.h"

/* Encodes a code point without asking whether it may be. */
static size_t encode(uint32_t code, size_t size, char *text) {
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    text[0] = (char)(lead[size] | code);
    return size;
}

Test(utf8, every_code_point_but_the_surrogates_is_well_formed) {
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char text[4];
        size_t size = encode(code, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, text);
        size_t expected = code >= 0xD800 && code <= 0xDFFF ? 0 : size;
        cr_assert(utf8_length(text, size) == expected, "U+%04X", code);
        cr_assert(utf8_length(text, size - 1 + (size == 1)) == (size == 1 ? 1 : 0), "U+%04X cut", code);
    }
}

Test(utf8, longer_forms_than_needed_and_codes_past_the_last_are_refused) {
    char text[4];
    for (uint32_t code = 0; code < 0x80; code++)
        cr_assert(eq(sz, utf8_length(text, encode(code, 2, text)), 0));
    for (uint32_t code = 0; code < 0x800; code++)
        cr_assert(eq(sz, utf8_length(text, encode(code, 3, text)), 0));
    for (uint32_t code = 0; code < 0x10000; code += 7)
        cr_assert(eq(sz, utf8_length(text, encode(code, 4, text)), 0));
    for (uint32_t code = 0x110000; code < 0x200000; code += 101)
        cr_assert(eq(sz, utf8_length(text, encode(code, 4, text)), 0));
}

Test(utf8, bytes_that_begin_no_sequence_are_refused) {
    for (int first = 0x80; first <= 0xFF; first++) {
        char text[] = {(char)first, 'a', 'a', 'a'};
        cr_assert(eq(sz, utf8_length(text, sizeof text), 0));
    }
    cr_assert(eq(sz,
                 utf8_length("\xE2\x82"
                             "a",
                             3),
                 0));
    cr_assert(eq(sz, utf8_length("\0", 1), 1));
}
