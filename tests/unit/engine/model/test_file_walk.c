#include "engine/model/file_walk.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static char seen[4096]; /* the visited paths, each with a space behind it */
static int stop_after = -1;
static struct weir_error error;

static enum weir_status note(void *context, const char *path, const struct stat *stat, struct weir_error *err) {
    cr_assert_eq(context, (void *)seen);
    cr_assert(S_ISREG(stat->st_mode));
    if (stop_after-- == 0)
        return weir_fail(err, WEIR_CANCELLED, "enough");
    size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%s ", path);
    return WEIR_OK;
}

static enum weir_status walk(void) {
    struct file_visitor visitor = {.context = seen, .visit = note};
    int directory = open(temp_dir, O_RDONLY | O_DIRECTORY);
    cr_assert_geq(directory, 0);
    seen[0] = 0;
    enum weir_status status = file_walk(directory, &visitor, &error);
    close(directory);
    return status;
}

/* Exactly these paths, in any order. */
static void assert_seen(int count, const char *const *paths) {
    int there = 0;
    cr_assert_eq(walk(), WEIR_OK, "%s", error.text);
    for (const char *p = seen; *p; p++)
        there += *p == ' ';
    cr_assert_eq(there, count, "%s", seen);
    for (int i = 0; i < count; i++) {
        char word[128];
        snprintf(word, sizeof word, "%s ", paths[i]);
        cr_assert_not_null(strstr(seen, word), "%s is not in %s", paths[i], seen);
    }
}
#define ASSERT_SEEN(...)                                                                                               \
    assert_seen(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

TestSuite(file_walk, .init = temp_dir_enter, .fini = temp_dir_remove);

Test(file_walk, files_beneath_are_visited_and_hidden_ones_passed_over) {
    shell("mkdir -p a/b .hidden; touch model.onnx a/one a/b/two .hidden/three ..data a/.four; mkfifo pipe");
    ASSERT_SEEN("model.onnx", "a/one", "a/b/two");
}

Test(file_walk, links_are_followed_to_files_and_directories) {
    shell("mkdir -p ..2024/samples; touch ..2024/model.onnx ..2024/samples/x; ln -s ..2024 ..data;"
          "ln -s ..data/model.onnx model.onnx; ln -s ..data/samples samples");
    ASSERT_SEEN("model.onnx", "samples/x");
}

Test(file_walk, a_link_to_a_directory_above_is_not_entered_again) {
    shell("mkdir -p a/b; touch a/b/one; ln -s . self; ln -s ../.. a/b/top; ln -s \"$PWD\" a/here");
    ASSERT_SEEN("a/b/one");
}

Test(file_walk, a_link_that_leads_nowhere_is_not_found) {
    shell("touch one; ln -s gone two");
    cr_assert_eq(walk(), WEIR_NOT_FOUND);
    cr_assert_eq(strncmp(error.text, "two: ", 5), 0, "%s", error.text);
}

Test(file_walk, a_link_to_itself_is_an_error) {
    shell("ln -s one one");
    cr_assert_eq(walk(), WEIR_IO, "%s", error.text);
}

Test(file_walk, depth_and_number_are_bounded) {
    shell("p=.; for i in 1 2 3 4 5 6 7 8 9 a b c d e f g; do p=$p/$i; done; mkdir -p $p; touch $p/x");
    cr_assert_eq(walk(), WEIR_OK, "%s", error.text);
    shell("mkdir 1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h");
    cr_assert_eq(walk(), WEIR_TOO_LARGE);
    shell("rm -r 1; mkdir many; cd many; seq 4095 | xargs touch");
    cr_assert_eq(walk(), WEIR_OK, "%s", error.text);
    shell("touch one");
    cr_assert_eq(walk(), WEIR_TOO_LARGE);
}

Test(file_walk, links_that_multiply_paths_end_at_the_bound) {
    shell("for d in a b c d e f g h; do mkdir $d; done; for d in a b c d e f g; do n=$(echo $d | tr a-g b-h);"
          "for i in 1 2 3 4; do ln -s ../$n $d/$i; done; done");
    cr_assert_eq(walk(), WEIR_TOO_LARGE);
}

Test(file_walk, the_visitor_can_end_it) {
    shell("touch one two three");
    stop_after = 1;
    cr_assert_eq(walk(), WEIR_CANCELLED);
    cr_assert_str_eq(error.text, "enough");
}

Test(file_walk, no_descriptor_stays_open) {
    shell("mkdir -p a/b; touch a/b/one; ln -s gone a/b/two");
    int before = dup(0);
    cr_assert_eq(walk(), WEIR_NOT_FOUND);
    close(before);
    int after = dup(0);
    cr_assert_eq(after, before);
    close(after);
}
