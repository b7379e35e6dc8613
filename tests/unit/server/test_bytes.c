#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "server/bytes.h"

static void expect_json(const char *text, size_t size, const char *expected) {
    struct bytes bytes = {0};
    bytes_json_string(&bytes, text, size);
    bytes_append(&bytes, "", 1);
    cr_assert(not(bytes.failed));
    cr_expect(eq(str, bytes.data, (char *)expected));
    bytes_release(&bytes);
}

Test(bytes, what_is_appended_stands_in_order) {
    struct bytes bytes = {0};
    bytes_text(&bytes, "one ");
    bytes_append(&bytes, "two!", 3);
    bytes_printf(&bytes, " %d%s", 3, "");
    bytes_append(&bytes, NULL, 0);
    cr_assert(eq(sz, bytes.size, 9));
    cr_assert(memcmp(bytes.data, "one two 3", 9) == 0);
    bytes_release(&bytes);
    bytes_append(&bytes, NULL, 0);
    cr_assert(bytes.data == NULL && bytes.size == 0 && bytes.capacity == 0 && !bytes.failed);
}

Test(bytes, growth_keeps_what_is_there) {
    struct bytes bytes = {0};
    for (int i = 0; i < 10000; i++)
        bytes_printf(&bytes, "%05d", i);
    cr_assert(eq(sz, bytes.size, 50000));
    for (int i = 0; i < 10000; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "%05d", i);
        cr_assert(memcmp(bytes.data + i * 5, expected, 5) == 0);
    }
    bytes_release(&bytes);
}

Test(bytes, a_long_text_from_printf_is_whole) {
    char text[5001];
    memset(text, 'x', 5000);
    text[5000] = 0;
    struct bytes bytes = {0};
    bytes_printf(&bytes, "%s", text);
    cr_assert(eq(sz, bytes.size, 5000));
    cr_assert(memcmp(bytes.data, text, 5000) == 0);
    bytes_release(&bytes);
}

Test(bytes, reserve_makes_room_and_adds_nothing) {
    struct bytes bytes = {0};
    bytes_text(&bytes, "abc");
    char *to = bytes_reserve(&bytes, 1000);
    cr_assert(to == bytes.data + 3);
    cr_assert(eq(sz, bytes.size, 3));
    cr_assert(ge(sz, bytes.capacity, 1003));
    bytes_release(&bytes);
}

Test(bytes, after_a_failure_everything_is_dropped_and_what_was_there_stays) {
    struct bytes bytes = {0};
    bytes_text(&bytes, "abc");
    cr_assert(bytes_reserve(&bytes, SIZE_MAX) == NULL);
    cr_assert(bytes.failed);
    bytes_text(&bytes, "def");
    bytes_printf(&bytes, "%d", 5);
    bytes_json_string(&bytes, "g", 1);
    cr_assert(eq(sz, bytes.size, 3));
    cr_assert(memcmp(bytes.data, "abc", 3) == 0);
    bytes_release(&bytes);
    cr_assert(not(bytes.failed));
}

Test(bytes, a_json_string_is_quoted_and_escaped) {
    expect_json("plain", 5, "\"plain\"");
    expect_json("", 0, "\"\"");
    expect_json("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    expect_json("\0\n\x1F\x7F", 4, "\"\\u0000\\u000a\\u001f\\u007f\"");
    expect_json("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}

Test(bytes, bytes_that_are_not_utf8_become_the_replacement_character) {
    expect_json("a\xFF"
                "b",
                3,
                "\"a\xEF\xBF\xBD"
                "b\"");
    expect_json("\xC0\xAF", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_json("\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_json("\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

Test(bytes, numbers_are_decimal) {
    struct bytes bytes = {0};
    bytes_number(&bytes, 0);
    bytes_text(&bytes, " ");
    bytes_number(&bytes, 1234567890);
    bytes_text(&bytes, " ");
    bytes_number(&bytes, UINT64_MAX);
    bytes_append(&bytes, "", 1);
    cr_assert_str_eq(bytes.data, "0 1234567890 18446744073709551615");
    bytes_release(&bytes);
}

Test(bytes, a_json_member_has_its_text_escaped) {
    struct bytes bytes = {0};
    bytes_json_member(&bytes, "name", "a\"b");
    bytes_text(&bytes, ",");
    bytes_json_member(&bytes, "none", "");
    bytes_append(&bytes, "", 1);
    cr_assert_str_eq(bytes.data, "\"name\":\"a\\\"b\",\"none\":\"\"");
    bytes_release(&bytes);
}
