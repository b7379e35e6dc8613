#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/codec/json_writer.h"
#include "tests/conformance/number_rules.h"

Test(json_writer, known_values_have_their_shortest_text) {
    static const struct {
        float value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0F, "-0"},
        {1, "1"},
        {-1.5F, "-1.5"},
        {0.1F, "0.1"},
        {0.3F, "0.3"},
        {9e-7F, "9e-7"},
        {1e6F, "1000000"},
        {1e20F, "1e20"},
        {16777216, "16777216"},
        {123456.789F, "123456.79"},
        {999999984.0F, "1e9"},
        {123456792.0F, "123456790"},
        {0x1p-149F, "1e-45"},
        {-0x1p-149F, "-1e-45"},
        {0x1p-126F, "1.1754944e-38"},
        {0x1.FFFFFEp127F, "3.4028235e38"},
        {0.00012345F, "0.00012345"},
        {0.000012345F, "0.000012345"},
        {0.0000012345F, "1.2345e-6"},
        {100000000.0F, "100000000"},
        {0.5F, "0.5"},
        {100, "100"},
        {33554432.0F, "33554432"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[JSON_WRITER_FLOAT_BYTES + 1];
        *json_writer_float(text, rows[i].value) = 0;
        cr_expect(eq(str, text, (char *)rows[i].text));
    }
}

Test(json_writer, random_floats_read_back_as_the_same_bits) {
    uint64_t state = 7;
    for (int i = 0; i < 500000; i++) {
        float value = number_texts_from_bits((uint32_t)number_texts_random(&state));
        if (isfinite(value))
            cr_assert(number_rules_written(value), "%a", (double)value);
    }
}

Test(json_writer, floats_around_every_power_of_two_read_back_as_the_same_bits) {
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (int32_t near = -40; near <= 40; near++) {
            float value = number_texts_from_bits((exponent << 23) + (uint32_t)near);
            if (isfinite(value))
                cr_assert(number_rules_written(value), "%a", (double)value);
        }
}

Test(json_writer, no_text_with_fewer_digits_would_do) {
    uint64_t state = 8;
    for (int i = 0; i < 100000; i++) {
        float value = number_texts_from_bits((uint32_t)number_texts_random(&state) | 1);
        if (isfinite(value))
            cr_assert(number_rules_shortest(value), "%a", (double)value);
    }
}

Test(json_writer, integers_are_written_in_full) {
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        {0, "0"}, {-1, "-1"}, {10, "10"}, {INT64_MAX, "9223372036854775807"}, {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[JSON_WRITER_NUMBER_BYTES] = {0};
        char *end = json_writer_integer(text, rows[i].value);
        cr_assert(eq(str, text, (char *)rows[i].text));
        cr_assert(end == text + strlen(text));
    }
}

static const char *double_text(double value, char *text) {
    *json_writer_double(text, value) = 0;
    return text;
}

static double double_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Test(json_writer, known_doubles_have_their_shortest_text) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.1F, "0.10000000149011612"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {123456789012345678.0, "1.2345678901234568e17"},
        {12345678901234567.0, "12345678901234568"},
        {1e17, "1e17"},
        {1e16, "10000000000000000"},
        {0x1p53, "9007199254740992"},
        {0.00001, "0.00001"},
        {0.000001, "1e-6"},
        {5e-324, "5e-324"},
        {-0x1p-1074, "-5e-324"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {0x1.FFFFFFFFFFFFFp1023, "1.7976931348623157e308"},
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {0x1p-44, "5.684341886080802e-14"},
        {-1.2345678901234568e-300, "-1.2345678901234568e-300"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[JSON_WRITER_NUMBER_BYTES];
        cr_expect(eq(str, (char *)double_text(rows[i].value, text), (char *)rows[i].text));
    }
}

static void expect_read_back(double value) {
    char text[JSON_WRITER_NUMBER_BYTES];
    cr_assert(lt(sz, strlen(double_text(value, text)), JSON_WRITER_NUMBER_BYTES - 1));
    double back = strtod(text, NULL);
    cr_assert(back == value && signbit(back) == signbit(value), "%a is written as %s", value, text);
}

Test(json_writer, random_doubles_read_back_as_the_same_bits) {
    uint64_t state = 9;
    for (int i = 0; i < 200000; i++) {
        double value = double_from_bits(number_texts_random(&state));
        if (isfinite(value))
            expect_read_back(value);
        expect_read_back((double)number_texts_from_bits((uint32_t)number_texts_random(&state) & 0xFF7FFFFF));
        expect_read_back(double_from_bits(number_texts_random(&state) >> 12 >> number_texts_below(&state, 52)));
    }
}

Test(json_writer, doubles_around_every_power_of_two_read_back_as_the_same_bits) {
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (uint64_t near = 0; near <= 40; near++)
            expect_read_back(double_from_bits((exponent << 52) + (exponent > 0 ? near - 20 : near)));
}

/* The digits that count, and how many they are. */
static int digits_of(const char *text) {
    int digits = 0, zeros = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (*p == '0' && digits == 0))
            continue;
        zeros = *p == '0' ? zeros + 1 : 0;
        digits++;
    }
    return digits - zeros;
}

/* Not for powers of two, whose interval is lopsided. */
Test(json_writer, no_text_of_a_double_with_fewer_digits_would_do) {
    uint64_t state = 10;
    for (int i = 0; i < 100000; i++) {
        char text[JSON_WRITER_NUMBER_BYTES], other[64];
        uint64_t bits = number_texts_random(&state) | 1;
        double value = double_from_bits(i % 4 == 0 ? bits >> 12 | 1 : bits);
        if (!isfinite(value))
            continue;
        int digits = digits_of(double_text(value, text));
        snprintf(other, sizeof other, "%.*e", digits - 1, value);
        cr_assert(strtod(other, NULL) == strtod(text, NULL), "%s is nearer than %s", other, text);
        if (digits < 2)
            continue;
        snprintf(other, sizeof other, "%.*e", digits - 2, value);
        cr_assert(strtod(other, NULL) != value, "%s would do for %s", other, text);
    }
}
