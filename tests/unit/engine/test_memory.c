#include "engine/memory.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/fakes/temp_dir.h"

static void limit(const char *group, const char *text) {
    char name[64];
    mkdir(temp_dir_at(group), 0755);
    snprintf(name, sizeof name, "%s/memory.max", group);
    temp_dir_write(name, text);
}

TestSuite(memory, .init = temp_dir_make, .fini = temp_dir_remove);

Test(memory, there_is_some) {
    cr_assert_gt(memory_available(), (size_t)1 << 24);
}

Test(memory, the_least_limit_of_a_group_and_those_above_counts) {
    limit("/a", "1073741824\n");
    limit("/a/b", "max\n");
    cr_assert_eq(memory_quota(temp_dir, "/a/b"), (size_t)1 << 30);
    limit("/a/b", "4096\n");
    cr_assert_eq(memory_quota(temp_dir, "/a/b"), 4096);
    cr_assert_eq(memory_quota(temp_dir, "/none"), 0);
}

Test(memory, some_is_free) {
    cr_assert_gt(memory_free(), (size_t)1 << 20);
}

Test(memory, what_files_hold_in_a_group_counts_as_free) {
    limit("/a", "1000000\n");
    temp_dir_write("a/memory.current", "600000\n");
    cr_assert_eq(memory_group_free(temp_dir, "/a"), 400000);
    temp_dir_write("a/memory.stat", "anon 100000\nfile 500000\n");
    cr_assert_eq(memory_group_free(temp_dir, "/a"), 900000);
    temp_dir_write("a/memory.current", "2000000\n");
    cr_assert_eq(memory_group_free(temp_dir, "/a"), 0);
}

Test(memory, a_group_without_a_bound_has_no_end) {
    limit("/a", "max\n");
    temp_dir_write("a/memory.current", "600000\n");
    cr_assert_eq(memory_group_free(temp_dir, "/a"), SIZE_MAX);
    cr_assert_eq(memory_group_free(temp_dir, "/nowhere"), SIZE_MAX);
}
