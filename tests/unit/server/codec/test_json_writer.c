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

Test(json_writer, doubles_read_back_as_themselves) {
    static const double values[] = {0.1, 1.0 / 3, 1e300, -0x1p-1074, 123456789012345678.0, 0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[JSON_WRITER_NUMBER_BYTES] = {0};
        char *end = json_writer_double(text, values[i]);
        cr_assert(end == text + strlen(text));
        cr_assert(strtod(text, NULL) == values[i], "%s", text);
    }
    char text[JSON_WRITER_NUMBER_BYTES] = {0};
    json_writer_double(text, 0.1);
    cr_assert(eq(str, text, "0.1"));
}
