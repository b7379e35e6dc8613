#include "engine/cpus.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/fakes/temp_dir.h"

/* Writes cpu.max of the group at this path beneath the root. */
static void limit(const char *group, const char *text) {
    char name[64];
    mkdir(temp_dir_at(group), 0755);
    snprintf(name, sizeof name, "%s/cpu.max", group);
    temp_dir_write(name, text);
}

TestSuite(cpus, .init = temp_dir_make, .fini = temp_dir_remove);

Test(cpus, there_is_always_one) {
    cr_assert_geq(cpus_available(), 1);
}

Test(cpus, a_group_without_a_limit_sets_none) {
    limit("", "max 100000\n");
    limit("/a", "max 100000\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a"), 0);
    cr_assert_eq(cpus_quota(temp_dir, "/missing"), 0);
    cr_assert_eq(cpus_quota("/tmp/weir-no-such-folder", "/"), 0);
}

Test(cpus, a_quota_is_rounded_up_to_whole_processors) {
    limit("/a", "150000 100000\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a"), 2);
    limit("/a", "400000 100000\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a"), 4);
    limit("/a", "10000 100000\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a"), 1);
}

Test(cpus, the_groups_above_bound_it_too) {
    limit("/a", "200000 100000\n");
    limit("/a/b", "800000 100000\n");
    limit("/a/b/c", "max 100000\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a/b/c"), 2);
    limit("", "100000 100000\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a/b/c"), 1);
}

Test(cpus, text_that_is_no_limit_is_passed_over) {
    limit("/a", "nonsense\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a"), 0);
    limit("/a", "100000 0\n");
    cr_assert_eq(cpus_quota(temp_dir, "/a"), 0);
}
