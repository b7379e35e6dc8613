#include "server/observe/labels.h"

#include <criterion/criterion.h>
#include <string.h>

Test(labels, every_route_and_reason_has_a_text_of_its_own) {
    for (int i = 0; i < ROUTE_COUNT; i++) {
        cr_assert(route_text((enum route)i)[0]);
        for (int j = 0; j < i; j++)
            cr_assert_str_neq(route_text((enum route)i), route_text((enum route)j));
    }
    for (int i = 0; i < REASON_COUNT; i++) {
        cr_assert(reason_text((enum reason)i)[0]);
        for (int j = 0; j < i; j++)
            cr_assert_str_neq(reason_text((enum reason)i), reason_text((enum reason)j));
    }
}

Test(labels, texts_need_no_escaping) {
    for (int i = 0; i < ROUTE_COUNT; i++)
        cr_assert_null(strpbrk(route_text((enum route)i), "\"\\\n"));
    for (int i = 0; i < REASON_COUNT; i++)
        cr_assert_null(strpbrk(reason_text((enum reason)i), "\"\\\n"));
}

Test(labels, the_lists_are_in_order) {
    cr_assert_str_eq(route_text(ROUTE_PREDICT), "/predict");
    cr_assert_str_eq(route_text(ROUTE_OTHER), "other");
    cr_assert_str_eq(reason_text(REASON_OK), "ok");
    cr_assert_str_eq(reason_text(REASON_GONE), "gone");
}

Test(labels, a_value_outside_the_lists_falls_into_them) {
    cr_assert_str_eq(route_text((enum route)99), "other");
    cr_assert_str_eq(reason_text((enum reason)99), "internal");
}
