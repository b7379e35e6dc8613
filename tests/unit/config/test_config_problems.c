#include "config/config_problems.h"

#include <criterion/criterion.h>
#include <string.h>

Test(config_problems, a_problem_of_a_file_names_file_line_and_key) {
    struct config_problems problems = {.count = 0};
    const struct config_place place = {"weir.yaml", 3, "batchsize"};
    char text[512];
    config_problems_add(&problems, CONFIG_ERROR, &place, "unknown key, did you mean %s?", "batch_size");
    cr_assert_eq(problems.count, 1);
    cr_assert_eq(problems.errors, 1);
    cr_assert_str_eq(config_problems_text(&problems.items[0], text, sizeof text),
                     "weir.yaml:3: batchsize: unknown key, did you mean batch_size?");
}

Test(config_problems, what_is_not_known_is_left_out) {
    struct config_problems problems = {.count = 0};
    const struct config_place whole_file = {"weir.yaml", 0, NULL}, flag = {NULL, 0, "--port"};
    char text[512];
    config_problems_add(&problems, CONFIG_ERROR, &whole_file, "is too large");
    config_problems_add(&problems, CONFIG_NOTICE, &flag, "needs a value");
    cr_assert_str_eq(config_problems_text(&problems.items[0], text, sizeof text), "weir.yaml: is too large");
    cr_assert_str_eq(config_problems_text(&problems.items[1], text, sizeof text), "--port: needs a value");
    cr_assert_eq(problems.errors, 1);
}

Test(config_problems, control_characters_and_other_bytes_do_not_reach_the_terminal) {
    struct config_problems problems = {.count = 0};
    const struct config_place place = {NULL, 0, "a\x1B[31m\n"};
    config_problems_add(&problems, CONFIG_ERROR, &place, "b\x9B\r%s", "\xC3\xA4");
    cr_assert_str_eq(problems.items[0].key, "a?[31m?");
    cr_assert_str_eq(problems.items[0].text, "b????");
}

Test(config_problems, more_problems_than_fit_are_counted) {
    struct config_problems problems = {.count = 0};
    for (int i = 0; i < CONFIG_PROBLEMS_MAX + 7; i++) {
        const struct config_place place = {"weir.yaml", i + 1, "key"};
        config_problems_add(&problems, CONFIG_ERROR, &place, "number %d", i);
    }
    cr_assert_eq(problems.count, CONFIG_PROBLEMS_MAX);
    cr_assert_eq(problems.left_out, 7);
    cr_assert_eq(problems.errors, CONFIG_PROBLEMS_MAX + 7);
}

Test(config_problems, long_texts_are_cut) {
    struct config_problems problems = {.count = 0};
    char key[1000];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    const struct config_place place = {NULL, 0, key};
    config_problems_add(&problems, CONFIG_ERROR, &place, "%s", key);
    cr_assert_eq(strlen(problems.items[0].key), sizeof problems.items[0].key - 1);
    cr_assert_eq(strlen(problems.items[0].text), sizeof problems.items[0].text - 1);
}
