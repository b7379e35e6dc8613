#include "engine/cpus.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

/* Writes cpu.max of the group at this path beneath the root. */
static void limit(const char *group, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, group);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s%s/cpu.max", root, group);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void setup(void) {
    snprintf(root, sizeof root, "/tmp/weir-cpus-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void teardown(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(cpus, .init = setup, .fini = teardown);

Test(cpus, there_is_always_one) {
    cr_assert_geq(cpus_available(), 1);
}

Test(cpus, a_group_without_a_limit_sets_none) {
    limit("", "max 100000\n");
    limit("/a", "max 100000\n");
    cr_assert_eq(cpus_quota(root, "/a"), 0);
    cr_assert_eq(cpus_quota(root, "/missing"), 0);
    cr_assert_eq(cpus_quota("/tmp/weir-no-such-folder", "/"), 0);
}

Test(cpus, a_quota_is_rounded_up_to_whole_processors) {
    limit("/a", "150000 100000\n");
    cr_assert_eq(cpus_quota(root, "/a"), 2);
    limit("/a", "400000 100000\n");
    cr_assert_eq(cpus_quota(root, "/a"), 4);
    limit("/a", "10000 100000\n");
    cr_assert_eq(cpus_quota(root, "/a"), 1);
}

Test(cpus, the_groups_above_bound_it_too) {
    limit("/a", "200000 100000\n");
    limit("/a/b", "800000 100000\n");
    limit("/a/b/c", "max 100000\n");
    cr_assert_eq(cpus_quota(root, "/a/b/c"), 2);
    limit("", "100000 100000\n");
    cr_assert_eq(cpus_quota(root, "/a/b/c"), 1);
}

Test(cpus, text_that_is_no_limit_is_passed_over) {
    limit("/a", "nonsense\n");
    cr_assert_eq(cpus_quota(root, "/a"), 0);
    limit("/a", "100000 0\n");
    cr_assert_eq(cpus_quota(root, "/a"), 0);
}
