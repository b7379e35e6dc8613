#include "config/nearest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const names[] = {"load", "unload", "sticky_header", "pause", "promote"};
enum { COUNT = sizeof names / sizeof names[0] };

static const char *near(const char *written) {
    int i = nearest_find(written, names, COUNT);
    return i < 0 ? "none" : names[i];
}

Test(nearest, a_slip_of_the_finger_finds_its_name) {
    cr_assert_str_eq(near("laod"), "load");
    cr_assert_str_eq(near("unlaod"), "unload");
    cr_assert_str_eq(near("Pase"), "pause");
    cr_assert_str_eq(near("sticky-heder"), "sticky_header");
}

Test(nearest, the_beginning_of_a_name_finds_it) {
    cr_assert_str_eq(near("prom"), "promote");
    cr_assert_str_eq(near("STICKY-"), "sticky_header");
}

Test(nearest, what_is_far_finds_nothing) {
    static char long_name[1000];
    memset(long_name, 'a', sizeof long_name - 1);
    cr_assert_str_eq(near("xyzzy"), "none");
    cr_assert_str_eq(near(""), "none");
    cr_assert_str_eq(near("p"), "none");
    cr_assert_str_eq(near(long_name), "none");
    cr_assert_eq(nearest_find("load", names, 0), -1);
}
