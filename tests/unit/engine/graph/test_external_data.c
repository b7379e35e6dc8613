#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

#include "engine/graph/external_data.h"

static int directory = -1;
static struct weir_error err;

/* model/w.bin and model/sub/deep.bin are inside, outside.bin is not. */
static void make_folder(void) {
    temp_dir_make();
    mkdir(temp_dir_at("model"), 0700);
    mkdir(temp_dir_at("model/sub"), 0700);
    temp_dir_write("outside.bin", "outside!");
    temp_dir_write("model/w.bin", "0123456789");
    temp_dir_write("model/sub/deep.bin", "abcdefgh");
    directory = open(temp_dir_at("model"), O_PATH | O_DIRECTORY);
    cr_assert(directory >= 0);
    cr_assert_eq(symlinkat("../outside.bin", directory, "link.bin"), 0);
    cr_assert_eq(symlinkat("w.bin", directory, "inner-link.bin"), 0);
    cr_assert_eq(symlinkat("..", directory, "up"), 0);
    cr_assert_eq(mkfifoat(directory, "pipe", 0600), 0);
}

static void remove_folder(void) {
    close(directory);
    temp_dir_remove();
}

TestSuite(external_data, .init = make_folder, .fini = remove_folder);

static enum weir_status get(const char *location, size_t location_size, uint64_t offset, uint64_t length, size_t size,
                            char *out) {
    struct external_data data = {"W", location, location_size, offset, length};
    int file = -1;
    enum weir_status status = external_data_open(directory, &data, size, &file, &err);
    if (status == WEIR_OK) {
        status = external_data_read(file, &data, out, size, &err);
        close(file);
    }
    return status;
}

Test(external_data, bytes_beneath_the_directory_are_read) {
    char out[16] = "";
    cr_assert_eq(get("w.bin", 5, 2, 5, 5, out), WEIR_OK);
    cr_assert_str_eq(out, "23456");
    memset(out, 0, sizeof out);
    cr_assert_eq(get("./sub/deep.bin", 14, 0, UINT64_MAX, 8, out), WEIR_OK);
    cr_assert_str_eq(out, "abcdefgh");
    cr_assert_eq(get("w.bin", 5, 10, UINT64_MAX, 0, out), WEIR_OK);
}

Test(external_data, a_location_that_is_no_file_beneath_is_refused_by_tensor_and_location) {
    static const char *const locations[] = {
        "../outside.bin", "/etc/passwd", "..",   "sub/../../outside.bin", "sub/..",      ".",           "sub", "sub/",
        "link.bin",       "up/w.bin",    "pipe", "inner-link.bin",        "missing.bin", "//etc/passwd"};
    char out[16] = "";
    for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++) {
        cr_assert_eq(get(locations[i], strlen(locations[i]), 0, UINT64_MAX, 8, out), WEIR_INVALID, "%s", locations[i]);
        cr_assert_not_null(strstr(err.text, "'W'"), "%s", err.text);
        cr_assert_not_null(strstr(err.text, locations[i]), "%s", err.text);
    }
    cr_assert_str_eq(out, "");
}

Test(external_data, an_empty_location_and_one_with_a_nul_are_refused) {
    char out[16];
    cr_assert_eq(get("", 0, 0, UINT64_MAX, 8, out), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "empty"));
    cr_assert_eq(get("w.bin\0x", 7, 0, UINT64_MAX, 10, out), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "NUL"));
    char longest[5000];
    memset(longest, 'a', sizeof longest);
    cr_assert_eq(get(longest, sizeof longest, 0, UINT64_MAX, 8, out), WEIR_INVALID);
}

Test(external_data, a_range_that_is_not_the_tensors_size_is_refused_before_reading) {
    char out[16];
    cr_assert_eq(get("w.bin", 5, 0, UINT64_MAX, 8, out), WEIR_INVALID);
    cr_assert_eq(get("w.bin", 5, 0, 8, 9, out), WEIR_INVALID);
    cr_assert_eq(get("w.bin", 5, 4, 8, 8, out), WEIR_INVALID);
    cr_assert_eq(get("w.bin", 5, UINT64_MAX - 3, 8, 8, out), WEIR_INVALID);
    cr_assert_eq(get("w.bin", 5, 11, UINT64_MAX, 8, out), WEIR_INVALID);
    cr_assert_eq(get("w.bin", 5, 2, UINT64_MAX - 1, SIZE_MAX, out), WEIR_INVALID);
}

Test(external_data, a_file_that_became_shorter_is_an_io_error) {
    char out[16];
    struct external_data data = {"W", "w.bin", 5, 0, UINT64_MAX};
    int file = -1;
    cr_assert_eq(external_data_open(directory, &data, 10, &file, &err), WEIR_OK);
    cr_assert_eq(truncate(temp_dir_at("model/w.bin"), 4), 0);
    cr_assert_eq(external_data_read(file, &data, out, 10, &err), WEIR_IO);
    close(file);
}

Test(external_data, without_a_directory_everything_is_refused) {
    struct external_data data = {"W", "w.bin", 5, 0, UINT64_MAX};
    int file;
    cr_assert_eq(external_data_open(-1, &data, 10, &file, &err), WEIR_INVALID);
}
