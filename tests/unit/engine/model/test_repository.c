#include "engine/model/repository.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static struct repository_listing listing;
static struct weir_error error;

/* Makes the file and the directories above it. */
static void make_file(const char *relative) {
    char path[512];
    snprintf(path, sizeof path, "%s", temp_dir_at(relative));
    for (char *p = path + strlen(temp_dir) + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0755);
            *p = '/';
        }
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void scan(const char *relative, const char *model_name) {
    enum weir_status status = repository_scan(temp_dir_at(relative), model_name, &listing, &error);
    cr_assert_eq(status, WEIR_OK, "%s", error.text);
}

/* One of the remarks must begin like this. */
static void assert_remark(const char *beginning) {
    for (size_t i = 0; i < listing.remark_count; i++)
        if (strncmp(listing.remarks[i], beginning, strlen(beginning)) == 0)
            return;
    cr_assert_fail("no remark begins with: %s", beginning);
}

static void assert_name(const char *relative, const char *name, uint64_t number) {
    scan(relative, NULL);
    cr_assert_str_eq(listing.name, name);
    cr_assert_eq(listing.version_count, 1);
    cr_assert_eq(listing.versions[0].number, number);
    repository_listing_release(&listing);
}

TestSuite(repository, .init = temp_dir_make, .fini = temp_dir_remove);

Test(repository, versions_are_ordered_as_numbers_newest_first) {
    make_file("demo/v9/model.onnx");
    make_file("demo/v10/model.onnx");
    make_file("demo/2/model.onnx");
    make_file("demo/00000123/model.onnx");
    make_file("demo/18446744073709551615/model.onnx");
    make_file("demo/v0/model.onnx");
    scan("demo", NULL);
    const uint64_t expected[] = {UINT64_MAX, 123, 10, 9, 2};
    cr_assert_str_eq(listing.name, "demo");
    cr_assert_eq(listing.version_count, 5);
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(listing.versions[i].number, expected[i]);
    cr_assert_str_eq(listing.versions[1].path, temp_dir_at("demo/00000123/model.onnx"));
    cr_assert_eq(listing.remark_count, 1);
    cr_assert_str_eq(listing.remarks[0], "v0: ignored, versions are numbered from 1");
    repository_listing_release(&listing);
}

Test(repository, other_entries_are_passed_over_with_one_remark_each) {
    static const char *const names[] = {".tmp-7", "-1", "1.5", "model", "99999999999999999999", "v", "vv1", "V3", "7 "};
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "demo/%s/model.onnx", names[i]);
        make_file(path);
    }
    make_file("demo/4/weights.bin");
    make_file("demo/5");
    make_file("demo/README.md");
    make_file("demo/6/model.onnx/x");
    make_file("demo/3/model.onnx");
    scan("demo", NULL);
    cr_assert_eq(listing.version_count, 1);
    cr_assert_eq(listing.remark_count, sizeof names / sizeof names[0] + 3,
                 "a plain file beside the versions is left alone");
    assert_remark(".tmp-7: ignored, its name is not a version number");
    assert_remark("99999999999999999999: ignored, its name is not a version number");
    assert_remark("4: ignored, it holds no model.onnx");
    assert_remark("5: ignored, it holds no model.onnx");
    assert_remark("6: ignored, its model.onnx is not a file");
    repository_listing_release(&listing);
}

Test(repository, of_several_names_for_one_number_the_shortest_counts) {
    make_file("demo/7/model.onnx");
    make_file("demo/v7/model.onnx");
    make_file("demo/007/model.onnx");
    scan("demo", NULL);
    cr_assert_eq(listing.version_count, 1);
    cr_assert_str_eq(listing.versions[0].path, temp_dir_at("demo/7/model.onnx"));
    assert_remark("007: ignored, version 7 is there already");
    assert_remark("v7: ignored, version 7 is there already");
    repository_listing_release(&listing);
}

Test(repository, an_empty_duplicate_does_not_hide_a_version) {
    make_file("demo/7/nothing");
    make_file("demo/v7/model.onnx");
    scan("demo", NULL);
    cr_assert_eq(listing.version_count, 1);
    cr_assert_str_eq(listing.versions[0].path, temp_dir_at("demo/v7/model.onnx"));
    repository_listing_release(&listing);
}

Test(repository, names_come_from_the_path_as_it_is_written) {
    make_file("demo/v3/model.onnx");
    make_file("digits/model.onnx");
    make_file("loose/iris.v2.onnx");
    assert_name("demo", "demo", 3);
    assert_name("demo/", "demo", 3);
    assert_name("demo/v3", "demo", 3);
    assert_name("demo/v3/", "demo", 3);
    assert_name("demo/v3/model.onnx", "demo", 3);
    assert_name("digits", "digits", 1);
    assert_name("digits/model.onnx", "digits", 1);
    assert_name("loose/iris.v2.onnx", "iris.v2", 1);
    assert_name("loose/.././demo//v3/../", "demo", 3);
    cr_assert_eq(symlink("demo", temp_dir_at("current")), 0);
    assert_name("current", "current", 3);
}

Test(repository, a_relative_path_is_named_by_where_it_stands) {
    make_file("demo/v3/model.onnx");
    cr_assert_eq(chdir(temp_dir_at("demo/v3")), 0);
    cr_assert_eq(repository_scan(".", NULL, &listing, &error), WEIR_OK);
    cr_assert_str_eq(listing.name, "demo");
    cr_assert_eq(listing.versions[0].number, 3);
    cr_assert_str_eq(listing.versions[0].path, "./model.onnx");
    repository_listing_release(&listing);
    cr_assert_eq(repository_scan("model.onnx", NULL, &listing, &error), WEIR_OK);
    cr_assert_str_eq(listing.name, "demo");
    cr_assert_str_eq(listing.versions[0].path, "./model.onnx");
    cr_assert_not(listing.is_loose);
    repository_listing_release(&listing);
    cr_assert_eq(chdir("/"), 0);
}

Test(repository, a_file_is_loose_unless_it_is_the_model_of_a_version_directory) {
    static const struct {
        const char *path;
        bool is_loose;
    } rows[] = {{"demo", false},         {"demo/3", false},     {"demo/3/model.onnx", false},
                {"demo/3/x.onnx", true}, {"demo/x.onnx", true}, {"lone/model.onnx", true}};
    for (size_t i = 2; i < sizeof rows / sizeof rows[0]; i++)
        make_file(rows[i].path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scan(rows[i].path, NULL);
        cr_assert_eq(listing.is_loose, rows[i].is_loose, "%s", rows[i].path);
        repository_listing_release(&listing);
    }
}

Test(repository, a_given_name_wins_over_the_path) {
    make_file("a b/v3/model.onnx");
    make_file("a b/x y.onnx");
    scan("a b", "demo");
    cr_assert_str_eq(listing.name, "demo");
    repository_listing_release(&listing);
    scan("a b/v3", "demo");
    cr_assert_str_eq(listing.name, "demo");
    repository_listing_release(&listing);
    scan("a b/x y.onnx", "demo");
    cr_assert_str_eq(listing.name, "demo");
    repository_listing_release(&listing);
}

Test(repository, a_name_outside_the_alphabet_is_invalid_and_named) {
    make_file("a b/v3/model.onnx");
    make_file(".hidden/model.onnx");
    char longest[72];
    memset(longest, 'n', sizeof longest);
    longest[64] = 0;
    scan("a b", longest);
    repository_listing_release(&listing);
    longest[64] = 'n';
    longest[65] = 0;
    cr_assert_eq(repository_scan(temp_dir_at("a b"), longest, &listing, &error), WEIR_INVALID);
    cr_assert_eq(repository_scan(temp_dir_at("a b"), "", &listing, &error), WEIR_INVALID);
    cr_assert_eq(repository_scan(temp_dir_at("a b"), "a/b", &listing, &error), WEIR_INVALID);
    cr_assert_eq(repository_scan(temp_dir_at("a b"), NULL, &listing, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "\"a b\""));
    cr_assert_not_null(strstr(error.text, "model_name"));
    cr_assert_eq(repository_scan(temp_dir_at(".hidden"), NULL, &listing, &error), WEIR_INVALID);
    cr_assert_eq(repository_scan("/", NULL, &listing, &error), WEIR_INVALID);
}

Test(repository, a_directory_without_versions_is_no_error) {
    make_file("demo/README.md");
    scan("demo", NULL);
    cr_assert_str_eq(listing.name, "demo");
    cr_assert_eq(listing.version_count, 0);
    cr_assert_eq(listing.remark_count, 0);
    repository_listing_release(&listing);
}

Test(repository, a_path_that_is_not_there_is_not_found) {
    cr_assert_eq(repository_scan(temp_dir_at("nothing"), NULL, &listing, &error), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, temp_dir_at("nothing")));
    cr_assert_not_null(strstr(error.text, "No such file or directory"));
    make_file("file.onnx");
    cr_assert_eq(repository_scan(temp_dir_at("file.onnx/x"), NULL, &listing, &error), WEIR_NOT_FOUND);
}

Test(repository, a_path_of_another_kind_is_invalid) {
    make_file("model.pt");
    make_file(".onnx");
    cr_assert_eq(repository_scan(temp_dir_at("model.pt"), NULL, &listing, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "is not an .onnx file"));
    cr_assert_eq(repository_scan(temp_dir_at(".onnx"), NULL, &listing, &error), WEIR_INVALID);
    cr_assert_eq(mkfifo(temp_dir_at("pipe.onnx"), 0600), 0);
    cr_assert_eq(repository_scan(temp_dir_at("pipe.onnx"), NULL, &listing, &error), WEIR_INVALID);
}

Test(repository, links_are_followed_to_the_file_as_volumes_of_kubernetes_need) {
    make_file("volume/..2025_1/model.onnx");
    cr_assert_eq(symlink("..2025_1", temp_dir_at("volume/..data")), 0);
    cr_assert_eq(symlink("..data/model.onnx", temp_dir_at("volume/model.onnx")), 0);
    make_file("demo/1/model.onnx");
    cr_assert_eq(symlink("../volume", temp_dir_at("demo/21")), 0);
    cr_assert_eq(symlink("nowhere", temp_dir_at("demo/22")), 0);
    scan("demo", NULL);
    cr_assert_eq(listing.version_count, 2);
    cr_assert_eq(listing.versions[0].number, 21);
    assert_remark("22: ignored, it holds no model.onnx");
    repository_listing_release(&listing);
}

Test(repository, many_odd_entries_are_counted_in_the_last_remark) {
    char path[64];
    for (int i = 0; i < REPOSITORY_REMARKS_MAX + 10; i++) {
        snprintf(path, sizeof path, "demo/x%03d/model.onnx", i);
        make_file(path);
    }
    scan("demo", NULL);
    cr_assert_eq(listing.remark_count, REPOSITORY_REMARKS_MAX);
    cr_assert_str_eq(listing.remarks[REPOSITORY_REMARKS_MAX - 1], "11 more entries: ignored");
    repository_listing_release(&listing);
}

Test(repository, remarks_show_no_control_characters) {
    make_file("demo/a\x1B[31m\n/model.onnx");
    scan("demo", NULL);
    assert_remark("a?[31m?: ignored");
    repository_listing_release(&listing);
}
