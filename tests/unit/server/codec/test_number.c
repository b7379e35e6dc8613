#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/codec/number.h"
#include "tests/conformance/number_rules.h"

static float parse(const char *text) {
    float value = -1;
    size_t bad = 0;
    cr_assert(number_parse(text, strlen(text), &value, &bad), "%s is refused at %zu", text, bad);
    return value;
}

Test(number, random_and_hard_texts_read_as_strtof_reads_them) {
    uint64_t state = 20;
    size_t quick_count = 0;
    for (int i = 0; i < 200000; i++) {
        char text[NUMBER_TEXTS_BYTES];
        bool quick = false;
        size_t size = number_texts_next(&state, text);
        cr_assert(number_rules_read(text, size, &quick), "%s", text);
        quick_count += quick;
    }
    cr_assert(gt(sz, quick_count, 20000));
}

Test(number, known_values_are_read) {
    static const struct {
        const char *text;
        float value;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"-1.5", -1.5F},
        {"0.1", 0.1F},
        {"1E2", 100},
        {"1e+2", 100},
        {"25e-2", 0.25F},
        {"16777217", 16777216},
        {"16777217.0000000000000000000000000001", 16777218},
        {"3.4028235e38", 0x1.FFFFFEp127F},
        {"3.4028235677973367e38", INFINITY},
        {"3.4028235677973366e38", 0x1.FFFFFEp127F},
        {"1e400", INFINITY},
        {"-1e400", -INFINITY},
        {"1e39", INFINITY},
        {"1.4e-45", 0x1p-149F},
        {"7.0064923216240854e-46", 0x1p-149F},
        {"7.0064923216240853e-46", 0},
        {"1e-400", 0},
        {"0e999999999999", 0},
        {"1e-999999999999", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert(number_texts_bits(parse(rows[i].text)) == number_texts_bits(rows[i].value), "%s gives %a",
                  rows[i].text, (double)parse(rows[i].text));
}

Test(number, minus_zero_keeps_its_sign) {
    cr_assert(signbit(parse("-0")) != 0);
    cr_assert(signbit(parse("-0.000e5")) != 0);
    cr_assert(signbit(parse("-1e-400")) != 0);
    cr_assert(not(signbit(parse("0"))));
}

Test(number, a_text_that_is_no_json_number_is_refused_at_the_byte_that_breaks_it) {
    static const struct {
        const char *text;
        size_t bad;
    } rows[] = {{"", 0},     {"-", 1},     {"01", 1},   {"-01", 2}, {"00", 1},    {".5", 0},   {"1.", 2},
                {"1.e5", 2}, {"1e", 2},    {"1e+", 3},  {"+1", 0},  {"1.5.5", 3}, {"1e5e", 3}, {"1-2", 1},
                {"--1", 1},  {"1e5.5", 3}, {"0x10", 1}, {"1 ", 1},  {"-.5", 1},   {"1e-+5", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float value = 42;
        size_t bad = 99;
        cr_assert(not(number_parse(rows[i].text, strlen(rows[i].text), &value, &bad)), "%s", rows[i].text);
        cr_assert(bad == rows[i].bad, "%s: %zu", rows[i].text, bad);
        cr_assert(value == 42, "out is untouched on failure");
    }
}

Test(number, a_number_of_the_longest_allowed_size_is_read) {
    char text[NUMBER_MAX_BYTES];
    memset(text, '0', sizeof text);
    text[0] = '1';
    memcpy(text + sizeof text - 6, "e-1017", 6);
    float value;
    size_t bad;
    cr_assert(number_parse(text, sizeof text, &value, &bad));
    cr_assert(value == 1);
}

static size_t run_over(const char *list, float *out, size_t room, size_t *used, bool *after_comma) {
    char padded[512];
    size_t size = strlen(list);
    memcpy(padded, list, size);
    memset(padded + size, ' ', NUMBER_MARGIN_BYTES);
    const char *at = padded;
    size_t count = number_read_run(&at, padded + size + NUMBER_MARGIN_BYTES, out, room, after_comma);
    *used = (size_t)(at - padded);
    return count;
}

Test(number, a_run_ends_behind_the_last_number_of_its_array) {
    float values[8];
    size_t used;
    bool after_comma;
    cr_assert(eq(sz, run_over("1, -2.5,\n3e1]", values, 8, &used, &after_comma), 3));
    cr_assert(values[0] == 1 && values[1] == -2.5F && values[2] == 30);
    cr_assert(eq(sz, used, 12));
    cr_assert(not(after_comma));
}

Test(number, a_run_stops_at_its_room_and_behind_the_comma) {
    float values[2];
    size_t used;
    bool after_comma;
    cr_assert(eq(sz, run_over("1,2,3]", values, 2, &used, &after_comma), 2));
    cr_assert(eq(sz, used, 4));
    cr_assert(after_comma);
}

Test(number, a_run_leaves_alone_what_is_not_an_everyday_number) {
    static const char *const texts[] = {"01,",   "1.,",    "-,",  "1x,",       "1e5e,", "NaN,",
                                        "1e39,", "1e-40,", "[1]", "16777217,", "1-2,",  "12345678901234567890123,"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        float values[4];
        size_t used;
        bool after_comma;
        cr_assert(run_over(texts[i], values, 4, &used, &after_comma) == 0, "%s", texts[i]);
        cr_assert(eq(sz, used, 0));
    }
}

Test(number, a_run_never_looks_past_the_end_of_its_text) {
    /* Every prefix is a block of its own: the address sanitizer sees a step too far. */
    static const char list[] = "-12345678.12345678901234567e-12,0.1234,-12345678.1234567890123456789012345678901234,1";
    for (size_t size = 0; size < sizeof list; size++) {
        char *block = malloc(size + (size == 0));
        memcpy(block, list, size);
        const char *at = block;
        float values[4];
        bool after_comma;
        number_read_run(&at, block + size, values, 4, &after_comma);
        cr_assert(at <= block + size);
        free(block);
    }
}

static bool same_double(double a, double b) {
    return a == b && signbit(a) == signbit(b);
}

Test(number, random_and_hard_texts_read_as_strtod_reads_them) {
    uint64_t state = 21;
    size_t quick_count = 0;
    for (int i = 0; i < 200000; i++) {
        char text[NUMBER_TEXTS_BYTES + 1 + NUMBER_MARGIN_BYTES];
        size_t size = number_texts_next(&state, text);
        double expected = strtod(text, NULL), value;
        cr_assert(same_double(number_parse_double(text, size), expected), "%s", text);
        text[size] = ',';
        memset(text + size + 1, ' ', NUMBER_MARGIN_BYTES);
        const char *at = text;
        bool after_comma;
        if (number_read_doubles(&at, text + size + 1 + NUMBER_MARGIN_BYTES, &value, 1, &after_comma) == 1) {
            cr_assert(same_double(value, expected), "%.*s", (int)size, text);
            cr_assert(after_comma);
            quick_count++;
        }
    }
    cr_assert(gt(sz, quick_count, 10000));
}

Test(number, known_doubles_are_read) {
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"0.1", 0.1},
        {"-0", -0.0},
        {"9007199254740993", 9007199254740992},
        {"9007199254740993.00000000000000000000000001", 9007199254740994},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"1e400", INFINITY},
        {"-1e400", -INFINITY},
        {"4.9406564584124654e-324", 0x1p-1074},
        {"2e-324", 0},
        {"1.7976931348623157e308", 0x1.FFFFFFFFFFFFFp1023},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert(same_double(number_parse_double(rows[i].text, strlen(rows[i].text)), rows[i].value), "%s",
                  rows[i].text);
}

Test(number, a_run_of_doubles_ends_as_one_of_floats) {
    static const struct {
        const char *text;
        size_t count, used;
        bool after_comma;
    } rows[] = {{"1, -2.5,\n3e1]", 3, 12, false},
                {"1,2,3,4,5]", 4, 8, true},
                {"0.1,NaN]", 1, 4, true},
                {"01,", 0, 0, true},
                {"1e23,1]", 0, 0, true},
                {"1,9007199254740993]", 1, 2, true},
                {"7 ]", 1, 1, false},
                {"1x,", 0, 0, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        double values[4];
        bool after_comma;
        snprintf(text, sizeof text, "%-80s", rows[i].text);
        const char *at = text;
        cr_assert(eq(sz, number_read_doubles(&at, text + 80, values, 4, &after_comma), rows[i].count), "%s", text);
        cr_assert(eq(sz, (size_t)(at - text), rows[i].used), "%s", text);
        cr_assert(eq(int, after_comma, rows[i].after_comma), "%s", text);
    }
}

Test(number, integers_are_read_in_a_run_that_stops_before_all_else) {
    static const struct {
        const char *text;
        size_t count;
        int64_t last;
        bool after_comma;
    } rows[] = {
        {"1,-2, 3 ]", 3, 3, false},    {"0,00,1]", 1, 0, true},
        {"7,1.0]", 1, 7, true},        {"7,1e3]", 1, 7, true},
        {"-0,255,256]", 2, 255, true}, {"5,-1]", 2, -1, false},
        {"5,-101,3]", 1, 5, true},     {"999999999999999999,1]", 0, 0, true},
        {"-,1]", 0, 0, true},          {"x", 0, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        int64_t out[8] = {0};
        bool after_comma;
        const struct number_range range = {-100, 255};
        snprintf(text, sizeof text, "%-80s", rows[i].text);
        const char *at = text;
        size_t count = number_read_integers(&at, text + strlen(text), &range, out, 8, &after_comma);
        cr_assert(eq(sz, count, rows[i].count), "%s", text);
        cr_assert(eq(int, after_comma, rows[i].after_comma), "%s", text);
        if (count > 0)
            cr_assert(eq(i64, out[count - 1], rows[i].last), "%s", text);
    }
}

Test(number, an_integer_of_eighteen_digits_is_exact_and_longer_ones_are_left_alone) {
    const struct number_range range = {INT64_MIN, INT64_MAX};
    char text[128];
    int64_t out[2];
    bool after_comma;
    snprintf(text, sizeof text, "%-80s", "-999999999999999999,9999999999999999999]");
    const char *at = text;
    cr_assert(eq(sz, number_read_integers(&at, text + 80, &range, out, 2, &after_comma), 1));
    cr_assert(eq(i64, out[0], -999999999999999999));
    cr_assert(at[0] == '9');
    at = text + 50; /* too near to the end */
    cr_assert(eq(sz, number_read_integers(&at, text + 80, &range, out, 2, &after_comma), 0));
}
