#include "engine/graph/plan_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static char path[128];
static struct weir_error err;
static unsigned char *bytes;
static size_t size;

static void make(void) {
    temp_dir_make();
    snprintf(path, sizeof path, "%s/model.onnx", temp_dir);
}

TestSuite(plan_file, .init = make, .fini = temp_dir_remove);

Test(plan_file, a_file_is_read_whole_into_memory_of_its_own) {
    FILE *file = fopen(path, "w");
    fputs("abc", file);
    fclose(file);
    cr_assert_eq(plan_file_read(path, &bytes, &size, &err), WEIR_OK);
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert(size == 3 && memcmp(bytes, "abc", 3) == 0);
    plan_file_release(bytes, size);
    plan_file_release(NULL, 0);
}

Test(plan_file, what_is_no_regular_file_is_refused_without_waiting) {
    cr_assert_eq(plan_file_read(path, &bytes, &size, &err), WEIR_IO);
    cr_assert_eq(plan_file_read(temp_dir, &bytes, &size, &err), WEIR_INVALID);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(plan_file_read(path, &bytes, &size, &err), WEIR_INVALID);
}

Test(plan_file, the_directory_beside_it_is_opened) {
    int directory = plan_file_open_directory(path);
    cr_assert_geq(directory, 0);
    close(directory);
    cr_assert_geq(directory = plan_file_open_directory("model.onnx"), 0);
    close(directory);
    cr_assert_eq(plan_file_open_directory("/nowhere/at/all/model.onnx"), -1);
}
