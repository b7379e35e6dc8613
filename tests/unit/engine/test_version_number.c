#include "engine/version_number.h"

#include <criterion/criterion.h>

Test(version_number, numbers_are_read_with_and_without_a_v) {
    static const struct {
        const char *text;
        uint64_t number;
    } rows[] = {
        {"7", 7}, {"v7", 7}, {"007", 7}, {"v010", 10}, {"0", 0}, {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t number = 99;
        cr_assert(version_number_read(rows[i].text, &number), "%s", rows[i].text);
        cr_assert_eq(number, rows[i].number, "%s", rows[i].text);
    }
}

Test(version_number, all_else_is_none) {
    static const char *const texts[] = {
        "",
        "v",
        "vv7",
        "V7",
        "7v",
        "-7",
        "+7",
        " 7",
        "7 ",
        "7.5",
        "1e3",
        "18446744073709551616",
        "v99999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t number = 99;
        cr_assert_not(version_number_read(texts[i], &number), "%s", texts[i]);
        cr_assert_eq(number, 99);
    }
}
