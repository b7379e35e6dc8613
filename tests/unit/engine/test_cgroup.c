#include "engine/cgroup.h"

#include <criterion/criterion.h>
#include <sys/stat.h>

#include "tests/fakes/temp_dir.h"

TestSuite(cgroup, .init = temp_dir_make, .fini = temp_dir_remove);

static uint64_t read_number(FILE *file) {
    unsigned long long number;
    return fscanf(file, "%llu", &number) == 1 ? number : 0;
}

Test(cgroup, every_group_on_the_way_up_is_asked) {
    mkdir(temp_dir_at("a"), 0755);
    temp_dir_write("some.max", "7");
    temp_dir_write("a/some.max", "9");
    cr_assert_eq(cgroup_least(temp_dir, "/a", "some.max", read_number), 7);
    cr_assert_eq(cgroup_least(temp_dir, "/a/", "some.max", read_number), 7);
    temp_dir_write("some.max", "max");
    cr_assert_eq(cgroup_least(temp_dir, "/a", "some.max", read_number), 9);
    cr_assert_eq(cgroup_least(temp_dir, "/a", "other.max", read_number), 0);
    cr_assert_eq(cgroup_least(temp_dir, "/", "some.max", read_number), 0);
}

Test(cgroup, our_own_group_is_an_absolute_path_if_there_is_one) {
    char group[CGROUP_PATH_BYTES];
    if (cgroup_own(group))
        cr_assert_eq(group[0], '/');
}
