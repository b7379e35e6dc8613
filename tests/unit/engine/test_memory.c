#include "engine/memory.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static void limit(const char *group, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, group);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s%s/memory.max", root, group);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void setup(void) {
    snprintf(root, sizeof root, "/tmp/weir-memory-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void teardown(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(memory, .init = setup, .fini = teardown);

Test(memory, there_is_some) {
    cr_assert_gt(memory_available(), (size_t)1 << 24);
}

Test(memory, the_least_limit_of_a_group_and_those_above_counts) {
    limit("/a", "1073741824\n");
    limit("/a/b", "max\n");
    cr_assert_eq(memory_quota(root, "/a/b"), (size_t)1 << 30);
    limit("/a/b", "4096\n");
    cr_assert_eq(memory_quota(root, "/a/b"), 4096);
    cr_assert_eq(memory_quota(root, "/none"), 0);
}

static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/a/%s", root, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(memory, some_is_free) {
    cr_assert_gt(memory_free(), (size_t)1 << 20);
}

Test(memory, what_files_hold_in_a_group_counts_as_free) {
    limit("/a", "1000000\n");
    write_file("memory.current", "600000\n");
    cr_assert_eq(memory_group_free(root, "/a"), 400000);
    write_file("memory.stat", "anon 100000\nfile 500000\n");
    cr_assert_eq(memory_group_free(root, "/a"), 900000);
    write_file("memory.current", "2000000\n");
    cr_assert_eq(memory_group_free(root, "/a"), 0);
}

Test(memory, a_group_without_a_bound_has_no_end) {
    limit("/a", "max\n");
    write_file("memory.current", "600000\n");
    cr_assert_eq(memory_group_free(root, "/a"), SIZE_MAX);
    cr_assert_eq(memory_group_free(root, "/nowhere"), SIZE_MAX);
}
