#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "server/codec/json_string.h"

/* Reads text (behind the opening quote) in pieces of this size. Returns the fault; *used is how much was read. */
static const char *read_in_pieces(struct json_string *string, const char *text, size_t size, size_t piece, size_t *used,
                                  bool *done) {
    json_string_begin(string);
    *done = false;
    for (size_t start = 0; start < size; start += piece) {
        const char *at = text + start;
        const char *fault = json_string_read(string, &at, text + (size - start < piece ? size : start + piece), done);
        *used = (size_t)(at - text);
        if (fault || *done)
            return fault;
    }
    return NULL;
}

Test(json_string, escapes_and_characters_are_undone_wherever_the_pieces_end) {
    static const char text[] = "inst\\u0061nces \\\"\\\\\\/\\b\\f\\n\\r\\t \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 "
                               "\\u00e9\\u20AC\\ud83d\\uDE00 \\u0000.\"rest";
    static const char expected[] = "instances \"\\/\b\f\n\r\t \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 "
                                   "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \0.";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct json_string string;
        size_t used;
        bool done;
        cr_assert(read_in_pieces(&string, text, sizeof text - 1, piece, &used, &done) == NULL);
        cr_assert(done);
        cr_assert(eq(sz, used, sizeof text - 1 - strlen("rest")));
        cr_assert(not(string.cut));
        cr_assert(eq(sz, string.size, sizeof expected - 1));
        cr_assert(memcmp(string.text, expected, sizeof expected - 1) == 0);
    }
}

Test(json_string, a_fault_names_the_first_byte_that_cannot_stand_there) {
    static const struct {
        const char *text;
        size_t at;
        const char *fault;
    } rows[] = {
        {"ab\xFF\"", 2, "not UTF-8"},
        {"\xC0\xAF\"", 0, "not UTF-8"},
        {"\xE2\x82\"", 2, "not UTF-8"},
        {"\x80\"", 0, "not UTF-8"},
        {"\xED\xA0\x80\"", 2, "not UTF-8"},
        {"\xF4\x90\x80\x80\"", 3, "not UTF-8"},
        {"\xF5\"", 0, "not UTF-8"},
        {"a\nb\"", 1, "control"},
        {"a\x1F\"", 1, "control"},
        {"\\x\"", 1, "unknown escape"},
        {"\\u12g4\"", 4, "hexadecimal"},
        {"\\ud800\"", 6, "surrogate"},
        {"\\ud800x\"", 6, "surrogate"},
        {"\\ud800\\n\"", 7, "surrogate"},
        {"\\udc00\"", 5, "surrogate"},
        {"\\ud800\\u0041\"", 11, "surrogate"},
        {"\\ud800\xC3\xA9\"", 6, "surrogate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece < 12; piece++) {
            struct json_string string;
            size_t used;
            bool done;
            const char *fault = read_in_pieces(&string, rows[i].text, strlen(rows[i].text), piece, &used, &done);
            cr_assert(fault && strstr(fault, rows[i].fault), "row %zu: %s", i, fault ? fault : "no fault");
            cr_assert(used == rows[i].at, "row %zu: %zu", i, used);
        }
}

Test(json_string, a_nul_byte_behind_a_backslash_is_no_escape) {
    struct json_string string;
    size_t used;
    bool done;
    cr_assert(read_in_pieces(&string, "\\\0\"", 3, 3, &used, &done) != NULL);
}

Test(json_string, a_long_string_is_read_to_its_end_and_its_beginning_kept) {
    char text[3 * JSON_STRING_KEPT_BYTES];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '"';
    for (size_t piece = 1; piece < sizeof text; piece += 50) {
        struct json_string string;
        size_t used;
        bool done;
        cr_assert(read_in_pieces(&string, text, sizeof text, piece, &used, &done) == NULL);
        cr_assert(done);
        cr_assert(string.cut);
        cr_assert(eq(sz, used, sizeof text));
    }
}
