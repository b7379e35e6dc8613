#include "engine/model/version_policy.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint64_t NUMBERS[] = {10, 9, 7, 3, 1};
enum { COUNT = sizeof NUMBERS / sizeof *NUMBERS };

static void expect(const char *text, const char *wanted) {
    struct version_policy policy;
    struct weir_error err = {0};
    cr_assert_eq(version_policy_read(text, &policy, &err), WEIR_OK, "%s", err.text);
    char got[COUNT + 1] = "";
    for (size_t i = 0; i < COUNT; i++)
        got[i] = version_policy_wants(&policy, NUMBERS, i) ? '+' : '-';
    cr_assert_str_eq(got, wanted, "%s: %s, wanted %s", text, got, wanted);
}

static void expect_error(const char *text, const char *words) {
    struct version_policy policy = {.latest = 42};
    struct weir_error err = {0};
    cr_assert_eq(version_policy_read(text, &policy, &err), WEIR_INVALID, "%s", text);
    cr_assert(strstr(err.text, words), "%s: %s", text, err.text);
    cr_assert_eq(policy.latest, 42, "an error leaves it alone");
}

Test(version_policy, latest_is_the_newest) {
    expect("latest", "+----");
    expect(" latest ", "+----");
    expect("latest:1", "+----");
}

Test(version_policy, latest_n_are_the_newest_n) {
    expect("latest:2", "++---");
    expect("latest: 3", "+++--");
    expect("latest:100", "+++++");
}

Test(version_policy, all_are_all) {
    expect("all", "+++++");
}

Test(version_policy, a_list_names_them_in_any_order) {
    expect("[1, 3, v7]", "--+++");
    expect("10,1", "+---+");
    expect(" [ v9 ] ", "-+---");
    expect("7", "--+--");
    expect("[4, 007]", "--+--");
}

Test(version_policy, what_is_wrong_is_named) {
    expect_error("", "expecting latest");
    expect_error("newest", "expecting latest");
    expect_error("latest:", "expecting latest");
    expect_error("latest:0", "would load nothing");
    expect_error("latest:-1", "expecting latest");
    expect_error("latest 2", "more than a policy");
    expect_error("allow", "more than a policy");
    expect_error("[1, 3", "] is missing");
    expect_error("1, 3]", "more than a policy");
    expect_error("[]", "expecting latest");
    expect_error("[1,,2]", "expecting latest");
    expect_error("99999999999999999999", "too large");
    expect_error("0", "numbered from 1");
    expect_error("[3, v0]", "numbered from 1");
}

Test(version_policy, a_list_has_at_most_64) {
    char text[1024] = "1";
    for (int i = 0; i < 64; i++)
        strcat(text, ",1");
    expect_error(text, "more than 64");
}
