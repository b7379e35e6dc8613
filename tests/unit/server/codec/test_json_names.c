#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/json_names.h"

static bool add(struct json_names *names, int level, const char *name) {
    return json_names_add(names, level, name, strlen(name));
}

Test(json_names, a_name_comes_once_in_an_object) {
    struct json_names names;
    json_names_init(&names);
    cr_assert(add(&names, 1, "a"));
    cr_assert(add(&names, 1, "ab"));
    cr_assert(add(&names, 1, ""));
    cr_assert(not(add(&names, 1, "a")));
    cr_assert(not(add(&names, 1, "")));
    cr_assert(add(&names, 1, "b"));
}

Test(json_names, an_inner_object_has_names_of_its_own) {
    struct json_names names;
    json_names_init(&names);
    cr_assert(add(&names, 1, "a"));
    cr_assert(add(&names, 2, "a"));
    cr_assert(not(add(&names, 2, "a")));
    json_names_leave(&names, 2);
    cr_assert(add(&names, 2, "a"));
    json_names_leave(&names, 2);
    cr_assert(not(add(&names, 1, "a")));
}

Test(json_names, a_name_may_hold_a_nul) {
    struct json_names names;
    json_names_init(&names);
    cr_assert(json_names_add(&names, 1, "a\0b", 3));
    cr_assert(json_names_add(&names, 1, "a\0c", 3));
    cr_assert(not(json_names_add(&names, 1, "a\0b", 3)));
}

Test(json_names, names_past_the_bound_are_taken_and_the_remembered_ones_still_known) {
    struct json_names names;
    json_names_init(&names);
    char name[16];
    for (int i = 0; i < JSON_NAMES_MAX + 10; i++) {
        snprintf(name, sizeof name, "%d", i);
        cr_assert(add(&names, 1, name));
    }
    cr_assert(not(add(&names, 1, "0")));
    cr_assert(not(add(&names, 1, "63")));
    cr_assert(add(&names, 1, "70"));
}

Test(json_names, long_names_fill_the_text_and_no_more) {
    struct json_names names;
    json_names_init(&names);
    char name[256];
    memset(name, 'n', sizeof name);
    for (int i = 0; i < 20; i++) {
        name[0] = (char)('a' + i);
        cr_assert(json_names_add(&names, 1, name, sizeof name));
    }
    name[0] = 'a';
    cr_assert(not(json_names_add(&names, 1, name, sizeof name)));
}
