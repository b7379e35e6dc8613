#include "engine/cgroup.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static void setup(void) {
    snprintf(root, sizeof root, "/tmp/weir-cgroup-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void teardown(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(cgroup, .init = setup, .fini = teardown);

static uint64_t read_number(FILE *file) {
    unsigned long long number;
    return fscanf(file, "%llu", &number) == 1 ? number : 0;
}

static void put(const char *path, const char *text) {
    char whole[256];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    FILE *file = fopen(whole, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(cgroup, every_group_on_the_way_up_is_asked) {
    char folder[128];
    snprintf(folder, sizeof folder, "%s/a", root);
    mkdir(folder, 0755);
    put("/some.max", "7");
    put("/a/some.max", "9");
    cr_assert_eq(cgroup_least(root, "/a", "some.max", read_number), 7);
    cr_assert_eq(cgroup_least(root, "/a/", "some.max", read_number), 7);
    put("/some.max", "max");
    cr_assert_eq(cgroup_least(root, "/a", "some.max", read_number), 9);
    cr_assert_eq(cgroup_least(root, "/a", "other.max", read_number), 0);
    cr_assert_eq(cgroup_least(root, "/", "some.max", read_number), 0);
}

Test(cgroup, our_own_group_is_an_absolute_path_if_there_is_one) {
    char group[CGROUP_PATH_BYTES];
    if (cgroup_own(group))
        cr_assert_eq(group[0], '/');
}
