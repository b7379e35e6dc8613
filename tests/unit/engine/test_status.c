#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "engine/status.h"
#include "engine/utf8.h"

static bool is_utf8(const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        size_t n = utf8_length(text, left);
        if (n == 0)
            return false;
        text += n;
        left -= n;
    }
    return true;
}

Test(status, fail_fills_the_error_and_returns_its_status) {
    struct weir_error err;
    cr_assert(weir_fail(&err, WEIR_TOO_LARGE, "%d bytes of %s", 5, "cake") == WEIR_TOO_LARGE);
    cr_assert(err.status == WEIR_TOO_LARGE);
    cr_assert(eq(str, err.text, "5 bytes of cake"));
}

Test(status, fail_needs_no_error_to_fill) {
    cr_assert(weir_fail(NULL, WEIR_IO, "%s", "nobody reads this") == WEIR_IO);
}

Test(status, a_long_text_is_cut_and_stays_utf8) {
    char text[1200];
    for (size_t start = 0; start < 3; start++) {
        memset(text, 'x', start);
        for (size_t i = start; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 4);
        struct weir_error err;
        cr_assert(weir_fail(&err, WEIR_INVALID, "%s", text) == WEIR_INVALID);
        cr_assert(eq(sz, strlen(err.text), sizeof err.text - 1));
        cr_assert(is_utf8(err.text));
    }
}

Test(status, bytes_that_are_not_text_become_question_marks) {
    struct weir_error err;
    (void)weir_fail(&err, WEIR_INVALID, "%s",
                    "a\xFF"
                    "b\nc\x7F\xC3\xA9\xC0\xAF");
    cr_assert(eq(str, err.text, "a?b?c?\xC3\xA9??"));
}

Test(status, fail_in_puts_a_prefix_in_front) {
    struct weir_error err;
    (void)weir_fail(&err, WEIR_NOT_FOUND, "no such file");
    cr_assert(weir_fail_in(&err, "model %s", "demo") == WEIR_NOT_FOUND);
    cr_assert(eq(str, err.text, "model demo: no such file"));
    cr_assert(weir_fail_in(&err, "%s", "") == WEIR_NOT_FOUND);
    cr_assert(eq(str, err.text, "model demo: no such file"));
}

Test(status, fail_in_cuts_what_does_not_fit) {
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    struct weir_error err;
    (void)weir_fail(&err, WEIR_IO, "%s", text);
    (void)weir_fail_in(&err, "prefix");
    cr_assert(eq(sz, strlen(err.text), sizeof err.text - 1));
    cr_assert(strncmp(err.text, "prefix: xxx", 11) == 0);
    (void)weir_fail_in(&err, "%s", text);
    cr_assert(eq(sz, strlen(err.text), sizeof err.text - 1));
    cr_assert(strspn(err.text, "x") == strlen(err.text));
}

Test(status, every_status_has_a_text_of_its_own) {
    for (int i = 0; i < WEIR_STATUS_COUNT; i++)
        for (int j = 0; j < i; j++)
            cr_assert(strcmp(weir_status_text((enum weir_status)i), weir_status_text((enum weir_status)j)) != 0);
    cr_assert(eq(str, (char *)weir_status_text(WEIR_DEADLINE), "deadline passed"));
    cr_assert(eq(str, (char *)weir_status_text(WEIR_STATUS_COUNT), "unknown status"));
}
