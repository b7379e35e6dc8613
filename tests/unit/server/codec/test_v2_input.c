#include "server/codec/v2_input.h"

#include <criterion/criterion.h>
#include <string.h>

static bool count(const char *text, uint64_t *out) {
    struct json_reader reader;
    json_reader_init(&reader);
    reader.text_size = strlen(text);
    memcpy(reader.text, text, reader.text_size);
    return v2_input_count(&reader, out);
}

/* Whole requests are tests/unit/server/codec/test_codec_v2.c's. */
Test(v2_input, a_count_is_a_whole_number_of_64_bits) {
    uint64_t value;
    cr_assert(count("0", &value) && value == 0);
    cr_assert(count("18446744073709551615", &value) && value == UINT64_MAX);
    static const char *const others[] = {"18446744073709551616", "-1", "1.0", "1e3", ""};
    for (int i = 0; i < 5; i++)
        cr_assert_not(count(others[i], &value), "%s", others[i]);
}
